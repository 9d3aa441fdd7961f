/* Reads an XML file with the library expat into a tree of elements. Used by articulated_urdf.c. */
#ifndef SS_DISCRETIZE_ARTICULATED_XML_H
#define SS_DISCRETIZE_ARTICULATED_XML_H
#include "core/diagnostics.h"

typedef struct xml_element xml_element;
struct xml_element {
  const char   *name;
  document_mark mark; /* position in the file, for messages */
  int           n_attributes, n;
  const char  **attribute, **text; /* [n_attributes] names, values */
  xml_element **child;             /* [n] in the order of the file */
  xml_element  *parent;            /* NULL for the root */
};

/* Read a file. *root and all elements are owned by `doc`. Text between elements and comments are skipped. If the file cannot be read or is
 * not valid, an error is added to `d` and *root is NULL. node, path, key: the job entry that contains the file name. */
PetscErrorCode xml_read(const char *file, document *doc, const document_node *node, const char *path, const char *key, diagnostics *d,
                        xml_element **root);
/* Value of an attribute; first child with this name. NULL if there is none. */
const char        *xml_attribute(const xml_element *e, const char *name);
const xml_element *xml_child(const xml_element *e, const char *name);
#endif
