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
 *   KEY_ENUM    int (index in choices)     KEY_TREE    const document_node * (unread; pass-through, or with
 *                                                      `table` entries like it, which their reader may abbreviate)
 *   KEY_STRINGS key_list of const char *   KEY_PATH    const char * (relative to the folder of the file it stands in,
 *                                                      made absolute; $VAR, ${VAR} and ~/ expanded, $$ is a dollar)
 *
 * A table with `variant_key` picks the struct by the text of that key: {kind: mpm, ...}; see key_item.variant. Keys of
 * the table itself are common to all variants, and their offsets count in the variant's struct: begin it with the common
 * one. A KEY_TABLE whose table has variants fills a `key_item` instead of a pointer (value NULL when absent).
 * A table with is_one_of demands exactly one of its keys: {sphere: {...}} or {box: {...}}; the others are absent.
 *
 * Absent: NULL pointers, empty lists, NaN for KEY_REAL and all of KEY_REALS, KEY_INT_ABSENT, -1 for KEY_ENUM, false.   */
#ifndef SS_CORE_KEY_TABLE_H
#define SS_CORE_KEY_TABLE_H
#include "core/diagnostics.h"
#include <stddef.h>

typedef enum {
  KEY_BOOL, KEY_INT, KEY_REAL, KEY_STRING, KEY_ENUM, KEY_REALS, KEY_TABLE, KEY_NAMED, KEY_LIST, KEY_TREE, KEY_STRINGS, KEY_PATH
} key_type;

typedef struct key_table key_table;
#define KEY_INT_ABSENT INT64_MIN

/* One key. Designated initialisers; leave out what does not apply. */
typedef struct {
  const char        *name;
  key_type           type;
  size_t             offset;    /* offsetof(T, member) */
  const char        *unit;      /* SI text such as "m/s"; NULL or "" for none. A non-SI key has it in its name */
  const char        *fallback;  /* default, as YAML text ("0.5", "[0, 0, -9.81]", "quadratic"); NULL: required, unless: */
  bool               is_optional; /* may be absent without default: NULL pointer, empty list, NaN for KEY_REAL(S) */
  bool               is_input;    /* KEY_PATH: must name a file that can be read, checked with the job */
  double             min, max;  /* inclusive range for numbers; both 0: no limit. Use -INFINITY/INFINITY for one-sided.
                                   KEY_LIST, KEY_NAMED, KEY_STRINGS: range of the number of entries */
  bool               is_open;   /* the bounds themselves are excluded, e.g. min = 0 means > 0 */
  const char *const *choices;   /* KEY_ENUM: NULL-terminated; KEY_STRINGS: if given, entries must be among them */
  const char *const *choice_help; /* KEY_ENUM: a line for each choice, for the manual; NULL: help says it all */
  int                count;     /* KEY_REALS; KEY_STRINGS, KEY_LIST: if not 0, exactly so many */
  const key_table   *table;     /* KEY_TABLE, KEY_NAMED, KEY_LIST; KEY_TREE: for manual and schema alone */
  const char        *help;      /* one line, no full stop at the end */
  bool               may_change; /* with all below it: between the starts of one run, see key_table_compare */
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
  const char        *shorthand; /* key that a bare value stands for: `x` is read as {shorthand: x}, and as a list of one where a list of
                                   this table is expected; not with variants or is_one_of. NULL: none */
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

/* Our own mistakes in a table and everything below it (defaults that do not parse or are out of range, names twice,
 * missing choices or tables, offsets outside the struct): one complaint each. For the tests. */
PetscErrorCode key_table_validate(const key_table *root, diagnostics *d);
/* Read `mapping` by `table`: complaints go to `d` (unknown keys with the nearest known one, duplicates are found by the
 * YAML reader, missing required keys, wrong types, ranges, not finite); *out is always filled as far as possible with
 * defaults for what was wrong (pointers to required tables are never NULL, except inside is_one_of). A NULL `mapping`
 * (nothing could be parsed) gives the defaults without complaint. `owner` owns all storage: the struct lives as long as
 * that document. A table with variants gives the struct of the variant; key_table_variant tells which. */
PetscErrorCode key_table_read(const key_table *table, document *owner, const document_node *mapping, const char *path,
                              diagnostics *d, const void **out);
/* The variant that the mapping picks by its variant_key, or -1. */
int key_table_variant(const key_table *table, const document_node *mapping);
/* The resolved job: the tree with every default written out, in table order, as a new tree owned by `owner`. Paths
 * are written absolute, so that the text means the same from another folder. */
PetscErrorCode key_table_resolve(const key_table *table, document *owner, const document_node *mapping, document_node **out);
/* The way back of reading: what a struct of this table says, as a tree owned by `owner`, in table order. What is absent is left out,
 * numbers that are not finite among it; reals get the fewest digits that read back to the same bits. `table` itself has no
 * variants; those below it may. */
PetscErrorCode key_table_write(const key_table *table, document *owner, const void *value, document_node **out);
/* What `after` says otherwise than `before`, both resolved by this table: one call a key, in table order. Entries that came or went count as
 * one key; a list's entries are told apart by their place, names by their name, in any order. */
typedef struct {
  const char   *path;           /* "bodies.bed.spacing" */
  const char   *before, *after; /* in one line, cut at 200 bytes; NULL: not there */
  document_mark mark;           /* of `after` */
  bool          may_change;     /* the key's, or that of one above it */
} key_difference;
typedef PetscErrorCode (*key_difference_visit)(const key_difference *d, void *context);
PetscErrorCode key_table_compare(const key_table *table, const document_node *before, const document_node *after, key_difference_visit visit,
                                 void *context);
/* Make every path below `mapping` absolute where it stands, and leave all else as it is: then the text means the same from another
 * folder. Texts are owned by `owner`. */
PetscErrorCode key_table_absolute_paths(const key_table *table, document *owner, document_node *mapping);

/* ---- queries on declarations, for modules that derive texts from tables (key_table_manual.c) ---- */

enum { KEY_MAX_DEPTH = 64, KEY_MAX_NAMES = 256, KEY_WORDS = 800 };

const key_spec *key_table_find(const key_table *table, const char *name); /* NULL: not a key of the table itself */
int             key_table_n_variants(const key_table *table);
/* Up to KEY_MAX_NAMES names of the table's keys, its variant_key and the keys of `variant` (-1: of all). */
int key_table_names(const key_table *table, int variant, const char **names);

/* Bounds as they act: "both 0" and min > max mean none; open and both 0 means > 0. */
typedef struct {
  double min, max;
  bool   is_open;
} key_range;
key_range key_spec_range(const key_spec *spec);
bool      key_range_has(key_range range, double x);
void      key_range_words(key_range range, char *out, size_t size); /* "> 0", ">= 0 and <= 1", "" for none */

/* *node as it is meant where a table, or a list of it, is expected: shorthand written out, in new nodes owned by `owner`. */
PetscErrorCode key_table_expand(const key_table *table, document *owner, const document_node **node);
PetscErrorCode key_spec_expand(const key_spec *spec, document *owner, const document_node **node);

const char *key_spec_unit(const key_spec *spec); /* "" for none */
/* "a number in m/s", "one of a, b or c", "a list of 3 numbers in m": follows "expected". */
void key_spec_words(const key_spec *spec, char *out, size_t size);
/* "a, b or c" */
void key_words_join(char *out, size_t size, int n, const char *const *names, const char *last);
/* "number", "3 numbers", "one of `a`, `b`" with `quote` around each choice: what a manual calls the type. */
void key_spec_type_words(const key_spec *spec, const char *quote, char *out, size_t size);
/* Every table below the root, itself first, in the order a reader meets them; at most KEY_MAX_NAMES, each once. Variants'
 * tables follow the table they belong to. */
int  key_table_collect(const key_table *root, const key_table **tables);
bool key_spec_is_number(const key_spec *spec);
#endif
