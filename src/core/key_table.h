/* Key tables: each module declares its job keys once; parsing, defaults, validation, manual, JSON Schema and the echo of
 * the resolved job are all read from that table.
 *
 * A table describes a C struct. Reading a mapping with it allocates the struct (zeroed, in the reader's arena) and fills
 * each member at its offset. Member type per key type:
 *
 *   KEY_BOOL    bool                       KEY_REALS   double[count]
 *   KEY_INT     int64_t                    KEY_TABLE   const T *   (NULL when absent and optional)
 *   KEY_REAL    double                     KEY_NAMED   key_list    mapping name -> T
 *   KEY_STRING  const char *               KEY_LIST    key_list    sequence of T
 *   KEY_ENUM    int (index in choices)     KEY_TREE    const document_node * (unread; for pass-through blocks)
 *   KEY_STRINGS key_list of const char *   KEY_PATH    const char * (relative to the job file's folder, made absolute
 *                                                      or relative to cwd so that it opens; $VAR and ~ expanded)
 *
 * A table with `variant_key` picks the struct by the text of that key: {kind: mpm, ...}; see key_item.variant.
 * A table with is_one_of demands exactly one of its keys: {sphere: {...}} or {box: {...}}.                             */
#ifndef SS_CORE_KEY_TABLE_H
#define SS_CORE_KEY_TABLE_H
#include "core/diagnostics.h"
#include <stddef.h>

typedef enum {
  KEY_BOOL, KEY_INT, KEY_REAL, KEY_STRING, KEY_ENUM, KEY_REALS, KEY_TABLE, KEY_NAMED, KEY_LIST, KEY_TREE, KEY_STRINGS, KEY_PATH
} key_type;

typedef struct key_table key_table;

/* One key. Designated initialisers; leave out what does not apply. */
typedef struct {
  const char        *name;
  key_type           type;
  size_t             offset;    /* offsetof(T, member) */
  const char        *unit;      /* SI text such as "m/s"; NULL or "" for none. A non-SI key has it in its name */
  const char        *fallback;  /* default, as YAML text ("0.5", "[0, 0, -9.81]", "quadratic"); NULL: required, unless: */
  bool               is_optional; /* may be absent without default: NULL pointer, empty list, NaN for KEY_REAL(S) */
  double             min, max;  /* inclusive range for numbers; both 0: no limit. Use -INFINITY/INFINITY for one-sided */
  bool               is_open;   /* the bounds themselves are excluded, e.g. min = 0 means > 0 */
  const char *const *choices;   /* KEY_ENUM: NULL-terminated */
  int                count;     /* KEY_REALS */
  const key_table   *table;     /* KEY_TABLE, KEY_NAMED, KEY_LIST */
  const char        *help;      /* one line, no full stop at the end */
} key_spec;

typedef struct {
  const char      *name;  /* the value of variant_key that picks it */
  const key_table *table; /* its struct; must not contain variant_key itself */
} key_variant;

struct key_table {
  const char        *name;  /* of the section in the manual, e.g. "bodies.mpm" */
  const char        *help;  /* one paragraph for the manual */
  size_t             size;  /* sizeof(T) */
  const key_spec    *keys;  /* ends with name == NULL; NULL for pure variant tables */
  const char        *variant_key; /* e.g. "kind"; NULL: none */
  const key_variant *variants;    /* ends with name == NULL */
  bool               is_one_of;
};

/* Entries of KEY_NAMED and KEY_LIST. KEY_STRINGS uses `value` as const char *. */
typedef struct {
  const char          *name;    /* KEY_NAMED: its key; else NULL */
  const void          *value;   /* struct of the table or of the variant */
  int                  variant; /* index into variants, or 0 */
  const document_node *node;    /* where it stands, for later complaints */
} key_item;
typedef struct {
  int       n;
  key_item *item;
} key_list;

/* Read `mapping` by `table`: complaints go to `d` (unknown keys with the nearest known one, duplicates are found by the
 * YAML reader, missing required keys, wrong types, ranges, not finite); *out is always filled as far as possible with
 * defaults for what was wrong. `arena_doc` owns all storage: the struct lives as long as the document. */
PetscErrorCode key_table_read(const key_table *table, document *owner, const document_node *mapping, const char *path,
                              diagnostics *d, const void **out);
/* The resolved job: the tree with every default written out, in table order, as a new tree owned by `owner`. */
PetscErrorCode key_table_resolve(const key_table *table, document *owner, const document_node *mapping, document_node **out);
/* Manual and schema, from the same tables. memory_free(*text). */
PetscErrorCode key_table_manual_markdown(const key_table *root, char **text);
PetscErrorCode key_table_json_schema(const key_table *root, char **text);
PetscErrorCode key_table_man_page(const key_table *root, char **text); /* troff section body, to be embedded in stickslip.1/-job.5 */
#endif
