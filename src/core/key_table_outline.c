/* Key tables for shell completion: which keys a table has and where they lead, and nothing else. */
#include "core/key_table_internal.h"
#include "core/memory.h"
#include "core/text.h"
#include <string.h>

static int table_number(const key_table *table, int n, const key_table *const *tables)
{
  for (int i = 0; i < n; ++i)
    if (tables[i] == table) return i;
  return -1;
}

static PetscErrorCode choices(text_buffer *b, const char *const *names)
{
  PetscFunctionBegin;
  for (const char *const *name = names; name && *name; ++name) PetscCall(text_printf(b, "%s%s", name == names ? "" : ",", *name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode entry(text_buffer *b, const key_spec *k, int table)
{
  static const char *const booleans[] = {"true", "false", NULL};

  PetscFunctionBegin;
  switch (k->type) {
  case KEY_TABLE: PetscCall(text_printf(b, "%s.%d", k->name, table)); break;
  case KEY_NAMED: PetscCall(text_printf(b, "%s@%d", k->name, table)); break;
  case KEY_LIST:  PetscCall(text_printf(b, "%s#%d", k->name, table)); break;
  case KEY_TREE:  PetscCall(text_printf(b, "%s.", k->name)); break;
  default:
    PetscCall(text_printf(b, "%s=", k->name));
    if (k->type == KEY_BOOL || k->type == KEY_ENUM) PetscCall(choices(b, k->type == KEY_BOOL ? booleans : k->choices));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is `word` one of the words from `start` on? Keys that several variants share are listed once. */
static bool has_word(const text_buffer *b, int64_t start, const char *word, size_t length)
{
  for (const char *at = b->data + start; (at = strstr(at, word)); at += length)
    if (at[-1] == ' ' && (at[length] == ' ' || !at[length])) return true;
  return false;
}

static PetscErrorCode keys(text_buffer *b, int64_t start, const key_table *table, int n, const key_table *const *tables)
{
  text_buffer word = {0};

  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    word.n = 0;
    PetscCall(entry(&word, k, table_number(k->table, n, tables)));
    if (!has_word(b, start, word.data, (size_t)word.n)) PetscCall(text_printf(b, " %s", word.data));
  }
  memory_free(&word.data);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_outline(const key_table *root, char **text)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = key_table_collect(root, tables);
  text_buffer      b = {0};

  PetscFunctionBegin;
  for (int i = 0; i < n; ++i) {
    const key_table *table = tables[i];
    PetscCall(text_printf(&b, "%d", i));
    const int64_t start = b.n;
    if (table->variant_key) PetscCall(text_printf(&b, " %s=", table->variant_key));
    for (int v = 0; v < key_table_n_variants(table); ++v) PetscCall(text_printf(&b, "%s%s", v ? "," : "", table->variants[v].name));
    PetscCall(keys(&b, start, table, n, tables));
    for (int v = 0; v < key_table_n_variants(table); ++v) PetscCall(keys(&b, start, table->variants[v].table, n, tables));
    PetscCall(text_append(&b, "\n", 1));
  }
  *text = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}
