/* What the readers of key tables share; not for use outside key_table*.c. */
#ifndef SS_CORE_KEY_TABLE_INTERNAL_H
#define SS_CORE_KEY_TABLE_INTERNAL_H
#include "core/key_table.h"

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
