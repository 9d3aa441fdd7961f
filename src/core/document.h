/* Tree of a parsed YAML document, independent of libyaml. io/yaml builds it, key tables (core/key_table.h) read it.
 *
 * A node is null, a scalar text, a sequence or a mapping. All nodes and texts are owned by the document and are freed with it. Every node stores its
 * position, so that later error messages can name file:line:column. */
#ifndef SS_CORE_DOCUMENT_H
#define SS_CORE_DOCUMENT_H
#include "core/error.h"

typedef struct {
  const char *file;         /* owned by the document; "--set" for overrides */
  int         line, column; /* from 1; 0 if there is none */
} document_mark;

typedef enum { DOCUMENT_NULL, DOCUMENT_SCALAR, DOCUMENT_SEQUENCE, DOCUMENT_MAPPING } document_kind;

typedef struct document_node document_node;
struct document_node {
  document_kind   kind;
  document_mark   mark;
  const char     *text;      /* scalar: its text; else NULL */
  bool            is_quoted; /* scalar written in quotes: "3" is a string, 3 may be a number */
  int             n;         /* children */
  document_node **value;     /* [n] children, in order of appearance */
  const char    **key;       /* [n] mapping only */
  document_mark  *key_mark;  /* [n] mapping only: position of each key */
};

typedef struct document document;
PetscErrorCode          document_create(document **out);
void                    document_destroy(document **doc);
document_node          *document_root(const document *doc);
void                    document_set_root(document *doc, document_node *root);
/* Builders, all storage owned by the document; texts are copied. */
PetscErrorCode document_add_node(document *doc, document_kind kind, document_mark mark, const char *text, document_node **out);
PetscErrorCode document_append(document *doc, document_node *parent, const char *key, document_mark key_mark, document_node *child);
const char    *document_intern(document *doc, const char *text); /* NULL if memory is out */
/* Zeroed storage, aligned to 16 bytes, freed with the document: for structs read from it. */
PetscErrorCode document_alloc(document *doc, size_t bytes, void *out);
/* Copy `node` and everything below it into `doc`. Marks and texts are not copied and remain owned by the original's document. */
PetscErrorCode document_copy(document *doc, const document_node *node, document_node **out);
/* Read one line of flow-style YAML, the language of defaults in key tables: 0.5, [0, 0, -9.81], {a: 1}, "text".
 * Fails with PETSC_ERR_ARG_WRONG on anything else: defaults are part of the program, so a wrong one is a programming error. */
PetscErrorCode document_read_flow(document *doc, const char *text, document_mark mark, document_node **out);
/* The child under `key`, or NULL. */
const document_node *document_find(const document_node *mapping, const char *key);
/* Remove child i from a mapping or a sequence; its storage remains owned by the document. */
void document_remove(document_node *parent, int i);
/* Replace the value at `dotted.path[2].to.key` by `value` (already parsed), for the option --set. Missing mappings along the path are created; an
 * index one past the end appends. A path that cannot be followed fails with PETSC_ERR_USER_INPUT and the reason. */
PetscErrorCode document_override(document *doc, const char *path, document_node *value);
/* Write as YAML in block style; reading it back gives an equal tree. Used to store the resolved job. */
PetscErrorCode document_write(const document_node *node, char **text); /* memory_free(text) */
/* Write on one line, in flow style, as --set accepts a value. */
PetscErrorCode document_write_flow(const document_node *node, char **text);
#endif
