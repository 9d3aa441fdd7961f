/* Reads an XML file, with expat, into a tree of elements with their positions in the file. Used for URDF files. */
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
  xml_element  *parent;            /* The elements live as long as `doc`. An unreadable or invalid file is reported to `d`; then
                                      *root is NULL. `node`, `path`, `key`: the entry that named the file. Text between elements
                                      is not kept; comments are allowed everywhere. */
};

/* NULL if absent. */
PetscErrorCode xml_read(const char *file, document *doc, const document_node *node, const char *path, const char *key, diagnostics *d,
                        xml_element **root);
/* the first one */
const char        *xml_attribute(const xml_element *e, const char *name);
const xml_element *xml_child(const xml_element *e, const char *name); /* the first */
#endif
