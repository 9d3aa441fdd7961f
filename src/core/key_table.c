/* What every reader of a key table asks it: names, ranges, variants, words for types. */
#include "core/key_table_internal.h"
#include <math.h>
#include <string.h>

const key_spec *key_table_find(const key_table *table, const char *name)
{
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (!strcmp(k->name, name)) return k;
  return NULL;
}

int key_table_n_variants(const key_table *table)
{
  int n = 0;
  if (table->variant_key)
    while (table->variants[n].name) ++n;
  return n;
}

int key_table_variant(const key_table *table, const document_node *mapping)
{
  const document_node *value = table->variant_key ? document_find(mapping, table->variant_key) : NULL;
  if (value && value->kind == DOCUMENT_SCALAR)
    for (int i = 0; table->variants[i].name; ++i)
      if (!strcmp(table->variants[i].name, value->text)) return i;
  return -1;
}

int key_table_names(const key_table *table, int variant, const char **names)
{
  int n = 0;
  if (table->variant_key) names[n++] = table->variant_key;
  for (const key_spec *k = table->keys; k && k->name && n < KEY_MAX_NAMES; ++k) names[n++] = k->name;
  for (int v = 0; v < key_table_n_variants(table); ++v)
    if (variant < 0 || v == variant)
      for (const key_spec *k = table->variants[v].table->keys; k && k->name && n < KEY_MAX_NAMES; ++k) names[n++] = k->name;
  return n;
}

key_range key_spec_range(const key_spec *spec)
{
  key_range r = {spec->min, spec->max, spec->is_open};
  if (r.min == 0.0 && r.max == 0.0) r.min = r.is_open ? 0.0 : -INFINITY, r.max = INFINITY;
  if (r.min > r.max) r.max = INFINITY;
  return r;
}

bool key_range_has(key_range r, double x) { return r.is_open ? x > r.min && x < r.max : x >= r.min && x <= r.max; }

void key_range_words(key_range r, char *out, size_t size)
{
  const char *equal = r.is_open ? "" : "=";
  if (r.min == r.max) (void)snprintf(out, size, "%.9g", r.min);
  else if (isfinite(r.min) && isfinite(r.max)) (void)snprintf(out, size, ">%s %.9g and <%s %.9g", equal, r.min, equal, r.max);
  else if (isfinite(r.min)) (void)snprintf(out, size, ">%s %.9g", equal, r.min);
  else if (isfinite(r.max)) (void)snprintf(out, size, "<%s %.9g", equal, r.max);
  else out[0] = 0;
}

const char *key_spec_unit(const key_spec *spec)
{
  return !spec->unit || !strcmp(spec->unit, "1") || !strcmp(spec->unit, "-") ? "" : spec->unit;
}

void key_words_join(char *out, size_t size, int n, const char *const *names, const char *last)
{
  size_t used = 0;
  out[0]      = 0;
  for (int i = 0; i < n; ++i) {
    const char *between = i == 0 ? "" : i == n - 1 ? last : ", ";
    const int   more    = snprintf(out + used, size - used, "%s%s", between, names[i]);
    if (more < 0 || (size_t)more >= size - used) return;
    used += (size_t)more;
  }
}

bool key_spec_is_number(const key_spec *spec) { return spec->type == KEY_REAL || spec->type == KEY_REALS || spec->type == KEY_INT; }

void key_spec_words(const key_spec *spec, char *out, size_t size)
{
  const char *unit = key_spec_unit(spec), *in = *unit ? " in " : "";
  char        names[KEY_WORDS - 50];
  int         n = 0;
  switch (spec->type) {
  case KEY_BOOL: (void)snprintf(out, size, "true or false"); return;
  case KEY_INT: (void)snprintf(out, size, "a whole number%s%s", in, unit); return;
  case KEY_REAL: (void)snprintf(out, size, "a number%s%s", in, unit); return;
  case KEY_REALS: (void)snprintf(out, size, "a list of %d numbers%s%s", spec->count, in, unit); return;
  case KEY_STRING: (void)snprintf(out, size, "a text"); return;
  case KEY_PATH: (void)snprintf(out, size, "the path of a file"); return;
  case KEY_TABLE: (void)snprintf(out, size, "a mapping of keys to values"); return;
  case KEY_NAMED: (void)snprintf(out, size, "a mapping of names to entries"); return;
  case KEY_TREE: (void)snprintf(out, size, "a mapping"); return;
  case KEY_LIST: (void)snprintf(out, size, spec->count ? "a list of %d entries" : "a list", spec->count); return;
  case KEY_STRINGS: (void)snprintf(out, size, spec->count ? "a list of %d texts" : "a list of texts", spec->count); return;
  case KEY_ENUM:
    while (spec->choices[n]) ++n;
    key_words_join(names, sizeof names, n, spec->choices, " or ");
    (void)snprintf(out, size, n > 1 ? "one of %s" : "%s", names);
    return;
  }
  (void)snprintf(out, size, "something else");
}

void key_spec_type_words(const key_spec *spec, const char *quote, char *out, size_t size)
{
  switch (spec->type) {
  case KEY_BOOL: (void)snprintf(out, size, "%strue%s or %sfalse%s", quote, quote, quote, quote); return;
  case KEY_INT: (void)snprintf(out, size, "whole number"); return;
  case KEY_REAL: (void)snprintf(out, size, "number"); return;
  case KEY_REALS: (void)snprintf(out, size, "%d numbers", spec->count); return;
  case KEY_STRING: (void)snprintf(out, size, "text"); return;
  case KEY_PATH: (void)snprintf(out, size, "path of a file"); return;
  case KEY_TABLE: (void)snprintf(out, size, "mapping"); return;
  case KEY_NAMED: (void)snprintf(out, size, "names with a mapping each"); return;
  case KEY_TREE: (void)snprintf(out, size, spec->table ? "names with an entry each" : "mapping, passed on"); return;
  case KEY_LIST:
    if (spec->count) (void)snprintf(out, size, "list of %d mappings", spec->count);
    else (void)snprintf(out, size, "list of mappings");
    return;
  case KEY_STRINGS:
  case KEY_ENUM: break;
  }
  size_t n = 0;
  if (spec->choice_help) {
    (void)snprintf(out, size, "one of those below");
    return;
  }
  if (spec->type == KEY_ENUM) n = (size_t)snprintf(out, size, "one of ");
  else if (spec->count) n = (size_t)snprintf(out, size, "list of %d texts%s", spec->count, spec->choices ? " out of " : "");
  else n = (size_t)snprintf(out, size, "list of texts%s", spec->choices ? " out of " : "");
  for (int i = 0; spec->choices && spec->choices[i] && n < size; ++i)
    n += (size_t)snprintf(out + n, size - n, "%s%s%s%s", i ? ", " : "", quote, spec->choices[i], quote);
}

static void collect(const key_table *table, const key_table **tables, int *n)
{
  for (int i = 0; i < *n; ++i)
    if (tables[i] == table) return;
  if (*n == KEY_MAX_NAMES) return;
  tables[(*n)++] = table;
  for (int v = 0; v < key_table_n_variants(table); ++v) collect(table->variants[v].table, tables, n);
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (k->table) collect(k->table, tables, n);
}

int key_table_collect(const key_table *root, const key_table **tables)
{
  int n = 0;
  collect(root, tables, &n);
  return n;
}

/* ---- shorthand ---- */

PetscErrorCode key_table_expand(const key_table *table, document *owner, const document_node **node)
{
  document_node *whole, *value;

  PetscFunctionBegin;
  if (!table->shorthand || !*node || (*node)->kind != DOCUMENT_SCALAR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(document_copy(owner, *node, &value));
  PetscCall(document_add_node(owner, DOCUMENT_MAPPING, (*node)->mark, NULL, &whole));
  PetscCall(document_append(owner, whole, table->shorthand, (*node)->mark, value));
  *node = whole;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_spec_expand(const key_spec *spec, document *owner, const document_node **node)
{
  document_node *whole;
  const bool     is_one = (*node)->kind == DOCUMENT_SCALAR || (*node)->kind == DOCUMENT_MAPPING;

  PetscFunctionBegin;
  if (spec->type != KEY_LIST || !spec->table->shorthand || !is_one) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *entry = *node;
  document_node       *copy;
  PetscCall(key_table_expand(spec->table, owner, &entry));
  PetscCall(document_copy(owner, entry, &copy));
  PetscCall(document_add_node(owner, DOCUMENT_SEQUENCE, (*node)->mark, NULL, &whole));
  PetscCall(document_append(owner, whole, NULL, (*node)->mark, copy));
  *node = whole;
  PetscFunctionReturn(PETSC_SUCCESS);
}
