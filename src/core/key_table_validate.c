/* Mistakes of our own in key tables, found by the tests of whoever declares one. */
#include "core/key_table_internal.h"
#include <string.h>

typedef struct {
  diagnostics     *d;
  int              n;
  const key_table *seen[KEY_MAX_NAMES]; /* tables may refer to themselves */
} check;

static void check_table(check *c, const key_table *table);

static const size_t SIZE_OF[] = {
  [KEY_BOOL] = sizeof(bool), [KEY_INT] = sizeof(int64_t), [KEY_REAL] = sizeof(double), [KEY_STRING] = sizeof(char *),
  [KEY_ENUM] = sizeof(int), [KEY_REALS] = sizeof(double), [KEY_TABLE] = sizeof(void *), [KEY_NAMED] = sizeof(key_list),
  [KEY_LIST] = sizeof(key_list), [KEY_TREE] = sizeof(void *), [KEY_STRINGS] = sizeof(key_list), [KEY_PATH] = sizeof(char *),
};

static void check_key(check *c, const key_table *table, const key_spec *k, size_t size)
{
  const document_mark none = {0};
  const bool          has_table = k->type == KEY_TABLE || k->type == KEY_NAMED || k->type == KEY_LIST || (k->type == KEY_TREE && k->table);
  size_t              bytes = k->type == KEY_REALS ? SIZE_OF[k->type] * (size_t)k->count : SIZE_OF[k->type];
  if (k->type == KEY_TABLE && k->table && k->table->variant_key) bytes = sizeof(key_item);
#define SAY(text) diagnostics_add(c->d, none, k->name, "key of table %s: " text, table->name)
  if (has_table != (k->table != NULL)) SAY("has a table and should not, or the other way round");
  if (k->type == KEY_ENUM && !k->choices) SAY("has no choices");
  if (k->type == KEY_REALS && k->count <= 0) SAY("has no count");
  if (k->offset + bytes > size) SAY("lies outside the struct");
  if (!k->help || !*k->help) SAY("has no help");
  else if (k->help[strlen(k->help) - 1] == '.' || strchr(k->help, '\n')) SAY("help is one line without a full stop");
  for (int i = 0; k->choices && k->choice_help && k->choices[i]; ++i)
    if (!k->choice_help[i]) SAY("has choices without help");
  if (k->fallback && k->is_optional) SAY("is optional and has a default");
  for (const key_spec *other = table->keys; other != k; ++other)
    if (!strcmp(other->name, k->name)) SAY("is declared twice");
#undef SAY
  if (k->table) check_table(c, k->table);
}

/* Defaults are right if reading an empty mapping complains about nothing but missing keys. */
static PetscErrorCode check_defaults(const key_table *table, diagnostics *d)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name && !table->is_one_of; ++k) {
    key_spec       alone[2] = {*k, {0}};
    key_table      one      = {.name = table->name, .keys = alone};
    document      *doc;
    document_node *empty;
    const void    *unused;
    if (!k->fallback || k->type == KEY_PATH) continue; /* paths depend on the environment */
    alone[0].offset = 0;
    one.size        = k->type == KEY_REALS ? sizeof(double) * (size_t)k->count : sizeof(key_item);
    PetscCall(document_create(&doc));
    PetscCall(document_add_node(doc, DOCUMENT_MAPPING, (document_mark){0}, NULL, &empty));
    const PetscErrorCode code = key_table_read(&one, doc, empty, table->name, d, &unused);
    document_destroy(&doc);
    if (code) diagnostics_add(d, (document_mark){0}, k->name, "key of table %s: its default does not parse", table->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void check_table(check *c, const key_table *table)
{
  const document_mark none = {0};
  for (int i = 0; i < c->n; ++i)
    if (c->seen[i] == table) return;
  if (c->n == KEY_MAX_NAMES) return;
  c->seen[c->n++] = table;
  if (!table->name || !*table->name) diagnostics_add(c->d, none, NULL, "a table has no name");
  if (!table->help || !*table->help) diagnostics_add(c->d, none, table->name, "the table has no help");
  for (int i = 0; i + 1 < c->n; ++i)
    if (table->name && c->seen[i]->name && !strcmp(c->seen[i]->name, table->name))
      diagnostics_add(c->d, none, table->name, "two tables have this name");
  for (const key_spec *k = table->keys; k && k->name; ++k) check_key(c, table, k, table->size);
  if (check_defaults(table, c->d)) diagnostics_add(c->d, none, table->name, "the defaults cannot be read");
  if (table->shorthand && (!key_table_find(table, table->shorthand) || table->variant_key || table->is_one_of))
    diagnostics_add(c->d, none, table->name, "its shorthand is no key of a plain table");
  for (int v = 0; v < key_table_n_variants(table); ++v) {
    const key_table *extra = table->variants[v].table;
    if (extra->variant_key || extra->is_one_of) diagnostics_add(c->d, none, extra->name, "a variant's table must be plain");
    if (key_table_find(extra, table->variant_key)) diagnostics_add(c->d, none, extra->name, "has the variant key itself");
    for (const key_spec *k = table->keys; k && k->name; ++k)
      if (key_table_find(extra, k->name)) diagnostics_add(c->d, none, extra->name, "%s is common to all variants", k->name);
    check_table(c, extra);
  }
}

PetscErrorCode key_table_validate(const key_table *root, diagnostics *d)
{
  check c = {.d = d};

  PetscFunctionBegin;
  check_table(&c, root);
  PetscFunctionReturn(PETSC_SUCCESS);
}
