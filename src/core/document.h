/* A parsed document as a tree: what a YAML reader hands to key tables. Knows nothing of libyaml.
 *
 * Nodes live in the document and die with it. Every node remembers its place, so that every later complaint can name
 * file:line:column.                                                                                                */
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
  bool            is_quoted; /* scalar was written in quotes: "3" is a string, 3 may be a number */
  int             n;         /* children */
  document_node **value;     /* [n] children, in order of appearance */
  const char    **key;       /* [n] mapping only */
  document_mark  *key_mark;  /* [n] mapping only: where each key stands */
};

typedef struct document document;
PetscErrorCode       document_create(document **out);
void                 document_destroy(document **doc);
document_node       *document_root(const document *doc);
void                 document_set_root(document *doc, document_node *root);
/* Builders, all storage owned by the document; texts are copied. */
PetscErrorCode document_add_node(document *doc, document_kind kind, document_mark mark, const char *text, document_node **out);
PetscErrorCode document_append(document *doc, document_node *parent, const char *key, document_mark key_mark, document_node *child);
const char    *document_intern(document *doc, const char *text); /* NULL if memory is out */
/* Zeroed storage, aligned to 16 bytes, that dies with the document: for whatever is read out of it. */
PetscErrorCode document_alloc(document *doc, size_t bytes, void *out);
/* A copy of `node` and everything below, owned by `doc` (marks and texts stay those of the original's owner). */
PetscErrorCode document_copy(document *doc, const document_node *node, document_node **out);
/* Read one line of flow-style YAML, the language of defaults in key tables: 0.5, [0, 0, -9.81], {a: 1}, "text".
 * Fails with PETSC_ERR_ARG_WRONG on anything else: defaults are ours, so a bad one is our bug. */
PetscErrorCode document_read_flow(document *doc, const char *text, document_mark mark, document_node **out);
/* The child under `key`, or NULL. */
const document_node *document_find(const document_node *mapping, const char *key);
/* Take child i out of a mapping or a sequence; what was in it stays the document's. */
void document_remove(document_node *parent, int i);
/* Override `dotted.path[2].to.key` by `value` (already parsed), creating mappings on the way: --set. An index may be
 * one past the end: that appends. A path that cannot be walked fails with PETSC_ERR_USER_INPUT and says why. */
PetscErrorCode document_override(document *doc, const char *path, document_node *value);
/* Write as YAML (block style), so that reading it back gives an equal tree. Used to embed the resolved job. */
PetscErrorCode document_write(const document_node *node, char **text); /* memory_free(text) */
/* The same on one line, in flow style: what --set takes as a value. */
PetscErrorCode document_write_flow(const document_node *node, char **text);
#endif
