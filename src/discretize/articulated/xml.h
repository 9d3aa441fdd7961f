/* A file in XML as a tree of elements, each with its place: what a URDF is read from. By expat. */
#ifndef SS_DISCRETIZE_ARTICULATED_XML_H
#define SS_DISCRETIZE_ARTICULATED_XML_H
#include "core/diagnostics.h"

typedef struct xml_element xml_element;
struct xml_element {
  const char   *name;
  document_mark mark;
  int           n_attributes, n;
  const char  **attribute, **text; /* [n_attributes] names, values */
  xml_element **child;             /* [n] in order */
  xml_element  *parent;            /* NULL: the root */
};

/* Everything lives as long as `doc`. What is wrong with the file, or that it cannot be read, goes to `d`, then *root is NULL;
 * `node`, `path`, `key`: what named the file. Text between elements is not kept; comments may stand anywhere. */
PetscErrorCode xml_read(const char *file, document *doc, const document_node *node, const char *path, const char *key,
                        diagnostics *d, xml_element **root);
/* NULL if there is none. */
const char        *xml_attribute(const xml_element *e, const char *name);
const xml_element *xml_child(const xml_element *e, const char *name); /* the first */
#endif
