/* Key tables: each module declares its job keys once. Parsing, defaults, validation, manual, JSON Schema and the resolved job are derived from the
 * table.
 *
 * A table describes a C struct. Reading a mapping allocates the struct (zeroed, owned by the document) and fills each member at its offset. Member
 * type per key type:
 *
 *   KEY_BOOL    bool                       KEY_REALS   double[count]
 *   KEY_INT     int64_t                    KEY_TABLE   const T *   (NULL when absent and optional)
 *   KEY_REAL    double                     KEY_NAMED   key_list    mapping name -> T
 *   KEY_STRING  const char *               KEY_LIST    key_list    sequence of T
 *   KEY_ENUM    int (index in choices)     KEY_TREE    const document_node * (not interpreted: the module reads the node;
 *                                                      `table` describes its entries, in manual and schema only)
 *   KEY_STRINGS key_list of const char *   KEY_PATH    const char * (relative to the folder of the job file,
 *                                                      made absolute; $VAR, ${VAR} and ~/ expanded, $$ is a dollar)
 *   KEY_PART    no member: the keys of `table` fill members of the same struct T (offset 0); for the blocks `expert:`, which have their own manual page
 *
 * Variants: in a table with `variant_key`, the text of that key selects the struct, for example {kind: mpm, ...}; see key_item.variant. Keys of the table
 * itself are common to all variants. Their offsets refer to the variant's struct, which must therefore begin with the common struct. A KEY_TABLE whose
 * table has variants fills a `key_item` instead of a pointer (value NULL if the key is absent).
 * A table with is_one_of requires exactly one of its keys, for example {sphere: {...}} or {box: {...}}.
 *
 * Value of a member whose key is absent: NULL, an empty list, NaN for KEY_REAL and every entry of KEY_REALS, KEY_INT_ABSENT, -1 for KEY_ENUM, false. */
#ifndef SS_CORE_KEY_TABLE_H
#define SS_CORE_KEY_TABLE_H
#include "core/diagnostics.h"
#include <stddef.h>

/* clang-format off */
typedef enum {
  KEY_BOOL, KEY_INT, KEY_REAL, KEY_STRING, KEY_ENUM, KEY_REALS, KEY_TABLE, KEY_NAMED, KEY_LIST, KEY_TREE, KEY_STRINGS, KEY_PATH, KEY_PART
} key_type;
/* clang-format on */

typedef struct key_table key_table;
#define KEY_INT_ABSENT INT64_MIN

/* Condition for a key K to have an effect: the values of another key.
 *   key     dotted path of the other key, relative to the mapping that contains K; with a leading ^ relative to the parent of that mapping;
 *           with a leading / relative to the root. * is every entry of a mapping. NULL: no condition
 *   values  separated by spaces; the other key must have one of them or, after a leading !, none of them. "none": the key is not given.
 *           "*": the other key must be written in the job, with any value */
typedef struct {
  const char *key, *values;
} key_condition;

/* One key, written with designated initialisers; members that do not apply are omitted. */
typedef struct {
  const char        *name;
  key_type           type;
  size_t             offset;      /* offsetof(T, member) */
  const char        *unit;        /* SI unit such as "m/s"; NULL or "": none. A unit that is not SI is part of the name: angle_deg */
  const char        *fallback;    /* default, as YAML text ("0.5", "[0, 0, -9.81]", "quadratic"); NULL: required, unless is_optional */
  bool               is_optional; /* may be absent without default, see "absent" above */
  bool               is_input;    /* KEY_PATH: must name a readable file; key_table_read checks it */
  const char        *word;        /* KEY_REAL: a word accepted in place of the number, stored as -INFINITY; NULL: none */
  double             min, max;    /* inclusive range for numbers; both 0: no limit; -INFINITY or INFINITY: no limit on this side.
                                   KEY_LIST, KEY_NAMED, KEY_STRINGS: range of the number of entries */
  bool               is_open;     /* the bounds themselves are excluded, e.g. min = 0 means > 0 */
  const char *const *choices;     /* KEY_ENUM: NULL-terminated; KEY_STRINGS: if given, entries must be among them */
  const char *const *choice_help; /* KEY_ENUM: one line per choice, for the manual; NULL: none */
  int                count;       /* KEY_REALS: length; KEY_STRINGS, KEY_LIST: required length, 0: any */
  const key_table   *table;       /* KEY_TABLE, KEY_NAMED, KEY_LIST; KEY_TREE: only for manual and schema */
  const char        *help;        /* one line, no full stop at the end */
  bool               may_change;  /* this key and all below it may differ when a run is resumed, see key_table_compare */
  key_condition      only_if;     /* if not met, the key has no effect, see key_table_check_conditions */
} key_spec;

typedef struct {
  const char      *name;  /* the value of variant_key that selects this variant */
  const key_table *table; /* keys and struct of the variant; must not contain variant_key */
} key_variant;

/* An earlier name of a key or of one of its values, for the error message.
 *   old     path without indices: "contact.pairs.touch"; * is any name: "bodies.*.start.held"; with a value: "solver.hybrid.holds=all".
 *           NULL: end of the list
 *   now     new path or value; NULL: the key or value was removed
 *   reason  for a removed key: the fixed behaviour that replaces it */
typedef struct {
  const char *old, *now, *reason;
} key_rename;

/* A name that users often write in place of a key, for the error message "unknown key; write NOW".
 *   given  name of the key ("mu"), at any place; or its path as in key_rename ("bodies.*.mass")
 *   key    the slip applies only in a mapping that has this key; NULL: in any mapping
 *   now    text of the message; NULL: the name `key` */
typedef struct {
  const char *given, *key, *now;
} key_slip;

struct key_table {
  const char        *name;        /* title of the section in the manual, e.g. "bodies.mpm" */
  const char        *help;        /* one paragraph for the manual */
  size_t             size;        /* sizeof(T) */
  const key_spec    *keys;        /* ends with name == NULL; NULL for pure variant tables */
  const char        *variant_key; /* e.g. "kind"; NULL: none */
  const key_variant *variants;    /* ends with name == NULL */
  bool               is_one_of;
  const char *shorthand; /* key for a value that is no mapping: `x` is read as {shorthand: x}, and where a list of this table is expected,
                                   as a list of this one entry; not with variants or is_one_of. NULL: none */
  const key_rename *renames; /* read only from the table passed to key_table_read. NULL: none */
  const key_slip   *slips;   /* the same; ends with given == NULL */
};

/* Entries of KEY_NAMED and KEY_LIST. KEY_STRINGS uses `value` as const char *. */
typedef struct {
  const char          *name;    /* KEY_NAMED: name of the entry; else NULL */
  const void          *value;   /* struct of the table or of the variant */
  int                  variant; /* index into variants; 0 without variants */
  const document_node *node;    /* node of the entry, for the position in later error messages */
} key_item;
typedef struct {
  int       n;
  key_item *item;
} key_list;

/* Check a table and all tables below it for programming errors: defaults that do not parse or are out of range, duplicate names, missing choices or
 * tables, offsets outside the struct. Each error adds an entry to `d`. For tests. */
PetscErrorCode key_table_validate(const key_table *root, diagnostics *d);
/* Read `mapping` into the struct of `table`. Errors are added to `d`: unknown keys (with the most similar known key), missing required keys, wrong types,
 * values out of range or not finite; the YAML reader reports duplicate keys. *out is always filled: defaults replace wrong values, and pointers to
 * required tables are never NULL, except inside is_one_of. mapping NULL (the file could not be parsed): all defaults, without error. `owner` owns all
 * storage. `path` is the key path of `mapping` in messages. For a table with variants, *out is the struct of the variant given by key_table_variant. */
PetscErrorCode key_table_read(const key_table *table, document *owner, const document_node *mapping, const char *path, diagnostics *d,
                              const void **out);
/* Index of the variant selected by the mapping's variant_key, or -1. */
int key_table_variant(const key_table *table, const document_node *mapping);
/* Create the resolved job: a tree owned by `owner` that contains every key, with its value in `mapping` or its default, in table order. Paths are
 * absolute, so that the text is valid in any folder. */
PetscErrorCode key_table_resolve(const key_table *table, document *owner, const document_node *mapping, document_node **out);
/* Evaluate the conditions only_if of all keys. `resolved`: the result of key_table_resolve for `given`. A key of `given` without effect adds an entry to
 * `d` (d NULL: no entries). Keys without effect are removed from `resolved`, so that reading it later adds no such entries. */
void key_table_check_conditions(const key_table *table, const document_node *given, document_node *resolved, diagnostics *d);
/* Whether the key condition->key of `mapping`, a node of the tree `root`, has one of condition->values. The path must not begin with ^. *value: text of
 * the key's value; NULL if the key is absent; "given" if the value is no scalar. For a path with *, *value is that of the last entry. */
bool key_condition_is_met(const key_condition *condition, const document_node *root, const document_node *mapping, const char **value);
/* The inverse of key_table_read: the values of a struct as a tree owned by `owner`, in table order. Absent values and numbers that are not finite are
 * omitted; reals have the fewest digits that read back to the same bits. `table` itself must not have variants; tables below it may. */
PetscErrorCode key_table_write(const key_table *table, document *owner, const void *value, document_node **out);
/* Differences between two jobs resolved with this table: `visit` is called once for each key with a different value, in table order. An added or removed
 * entry counts as one key. Entries of a list are matched by index, named entries by name in any order. */
typedef struct {
  const char   *path;           /* "bodies.bed.spacing" */
  const char   *before, *after; /* values on one line, truncated at 200 bytes; NULL: absent */
  document_mark mark;           /* position of `after` */
  bool          may_change;     /* may_change is set for the key or for an ancestor */
} key_difference;
typedef PetscErrorCode (*key_difference_visit)(const key_difference *d, void *context);
PetscErrorCode key_table_compare(const key_table *table, const document_node *before, const document_node *after,
                                 key_difference_visit visit, void *context);
/* Make every path below `mapping` absolute, in place, so that the text is valid in any folder. Everything else is unchanged. Texts are owned by `owner`. */
PetscErrorCode key_table_absolute_paths(const key_table *table, document *owner, document_node *mapping);

/* ---- queries on declarations, for modules that derive texts from tables (key_table_manual.c) ---- */

enum { KEY_MAX_DEPTH = 64, KEY_MAX_NAMES = 256, KEY_WORDS = 800 };

const key_spec *key_table_find(const key_table *table, const char *name); /* NULL: not a key of the table itself */
int             key_table_n_variants(const key_table *table);
/* Names of the variant_key, of the table's keys and of the keys of `variant` (-1: of all variants): names [KEY_MAX_NAMES]. Returns their number. */
int key_table_names(const key_table *table, int variant, const char **names);

/* Effective bounds of a number, +-INFINITY without bound. In a key_spec, min = max = 0 gives no bounds (with is_open: > 0), min > max no upper bound. */
typedef struct {
  double min, max;
  bool   is_open;
} key_range;
key_range key_spec_range(const key_spec *spec);
bool      key_range_has(key_range range, double x);
void      key_range_words(key_range range, char *out, size_t size); /* "> 0", ">= 0 and <= 1", "" for none */

/* If *node is a shorthand of a table, or of a list of tables, replace *node by the full form; `owner` owns the new nodes. */
PetscErrorCode key_table_expand(const key_table *table, document *owner, const document_node **node);
PetscErrorCode key_spec_expand(const key_spec *spec, document *owner, const document_node **node);

const char *key_spec_unit(const key_spec *spec); /* "" for none */
/* Text that follows "expected" in messages: "a number in m/s", "one of a, b or c", "a list of 3 numbers in m". */
void key_spec_words(const key_spec *spec, char *out, size_t size);
/* Text of a condition in the manual: "; only with transfer: pic_flip"; "" without a condition. */
void key_condition_words(const key_condition *condition, char *out, size_t size);
/* Enumeration of n names: "a, b or c" with `last` = " or ". */
void key_words_join(char *out, size_t size, int n, const char *const *names, const char *last);
/* Type of the key in a manual: "number", "3 numbers", "one of `a`, `b`" with `quote` around each choice. */
void key_spec_type_words(const key_spec *spec, const char *quote, char *out, size_t size);
/* All tables below the root, the root first, in the order of the keys, each once: tables [KEY_MAX_NAMES]. The tables of variants follow the table that
 * lists them. Returns the number of tables. */
int key_table_collect(const key_table *root, const key_table **tables);
/* As key_table_collect, without tables that occur only below keys of type KEY_PART. */
int  key_table_collect_main(const key_table *root, const key_table **tables);
bool key_spec_is_number(const key_spec *spec);
#endif
