/* Tree of a parsed YAML document, independent of libyaml. io/yaml builds it, key tables (core/key_table.h) read it.
 *
 * A node is null, a scalar text, a sequence or a mapping. All nodes and texts are owned by the document and are freed with it. Every node stores its
 * position, so that later error messages can name file:line:column. */
#ifndef SS_CORE_DOCUMENT_H
#define SS_CORE_DOCUMENT_H
#include "core/error.h"

typedef struct {
  const char *file;         /* owned by the document; "--set" for overrides */
  int         line, column; /* counted from 1; 0: no position */
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
  int             n_index;   /* size of the hash table of the keys of a large mapping; 0: none */
  int32_t        *index;     /* [n_index] child + 1; 0: empty */
};

typedef struct document document;
PetscErrorCode          document_create(document **out);
void                    document_destroy(document **doc);
document_node          *document_root(const document *doc);
void                    document_set_root(document *doc, document_node *root);
/* Functions that build the tree. The document owns all storage; texts are copied. text: only for a scalar, else NULL. key: only for a mapping. */
PetscErrorCode document_add_node(document *doc, document_kind kind, document_mark mark, const char *text, document_node **out);
PetscErrorCode document_append(document *doc, document_node *parent, const char *key, document_mark key_mark, document_node *child);
const char    *document_intern(document *doc, const char *text); /* a copy of `text`; NULL if memory is exhausted */
/* Zeroed storage, aligned to 16 bytes and freed with the document. Key tables store the structs that they read there. */
PetscErrorCode document_alloc(document *doc, size_t bytes, void *out);
/* Copy `node` and its descendants, with texts and keys, into `doc`. The file names in marks are not copied: the original document must outlive `doc`. */
PetscErrorCode document_copy(document *doc, const document_node *node, document_node **out);
/* Read one line of flow-style YAML, as key tables write defaults: 0.5, [0, 0, -9.81], {a: 1}, "text". Any other text is PETSC_ERR_ARG_WRONG, a
 * programming error, because defaults are part of the program. */
PetscErrorCode document_read_flow(document *doc, const char *text, document_mark mark, document_node **out);
/* The child under `key`, or NULL. */
const document_node *document_find(const document_node *mapping, const char *key);
/* Remove child i from a mapping or a sequence; its storage remains owned by the document. */
void document_remove(document_node *parent, int i);
/* Replace the value at `dotted.path[2].to.key` by the node `value`, for the option --set. Missing mappings along the path are created. An index equal
 * to the length of a list, or [] without index, appends an entry. PETSC_ERR_USER_INPUT with the reason if the path does not match the tree. */
PetscErrorCode document_override(document *doc, const char *path, document_node *value);
/* Write a node as YAML in block style; reading this text gives an equal tree. Used to store the resolved job. */
PetscErrorCode document_write(const document_node *node, char **text); /* memory_free(text) */
/* Write a node as one line of YAML in flow style, the form that --set reads. memory_free(text). */
PetscErrorCode document_write_flow(const document_node *node, char **text);
#endif
