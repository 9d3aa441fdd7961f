/* What differs between two jobs, key by key: numbers by value, whatever they were written like; everything else by its text. */
#include "core/key_table_internal.h"
#include "core/key_text.h"
#include "core/memory.h"
#include "core/text.h"
#include <string.h>

enum { PATH = 1024, VALUE = 200 }; /* longer ones are cut when shown, not when compared */

typedef struct {
  key_difference_visit visit;
  void                *context;
  char                 path[PATH];
  int                  depth;
} comparison;

static PetscErrorCode compare_tables(comparison *c, const key_table *table, const document_node *before, const document_node *after,
                                     bool may_change);

/* --- values -------------------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
  double x, y;
  if (strcmp(a, b) == 0) return true;
  return key_text_real(a, &x) == KEY_TEXT_OK && key_text_real(b, &y) == KEY_TEXT_OK && x == y;
}

static bool same(const document_node *a, const document_node *b)
{
  if (a->kind != b->kind || a->n != b->n) return false;
  if (a->kind == DOCUMENT_SCALAR) return same_text(a->text, b->text);
  for (int i = 0; i < a->n; ++i) {
    const document_node *other = a->kind == DOCUMENT_MAPPING ? document_find(b, a->key[i]) : b->value[i];
    if (!other || !same(a->value[i], other)) return false;
  }
  return true;
}

/* In one line, as it might stand in a job. */
static PetscErrorCode append_value(text_buffer *b, const document_node *node)
{
  PetscFunctionBegin;
  const bool is_mapping = node->kind == DOCUMENT_MAPPING;
  if (node->kind == DOCUMENT_NULL) PetscCall(text_append(b, "~", 1));
  if (node->kind == DOCUMENT_SCALAR) PetscCall(text_printf(b, "%s", *node->text ? node->text : "\"\""));
  if (!is_mapping && node->kind != DOCUMENT_SEQUENCE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(text_append(b, is_mapping ? "{" : "[", 1));
  for (int i = 0; i < node->n && b->n < VALUE; ++i) {
    if (i) PetscCall(text_append(b, ", ", 2));
    if (is_mapping) PetscCall(text_printf(b, "%s: ", node->key[i]));
    PetscCall(append_value(b, node->value[i]));
  }
  PetscCall(text_append(b, is_mapping ? "}" : "]", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode value_text(const document_node *node, text_buffer *b)
{
  PetscFunctionBegin;
  if (!node) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(append_value(b, node));
  if (b->n > VALUE) strcpy(b->data + VALUE - 3, "...");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- where we are -------------------------------------------------------------------------------------------------- */

static PetscErrorCode tell(comparison *c, const document_node *before, const document_node *after, bool may_change)
{
  PetscFunctionBegin;
  text_buffer was = {0}, is = {0};
  PetscCall(value_text(before, &was));
  PetscCall(value_text(after, &is));
  const key_difference d = {c->path, was.data, is.data, after ? after->mark : (document_mark){0}, may_change};
  PetscCall(c->visit(&d, c->context));
  memory_free(&was.data);
  memory_free(&is.data);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The path so far and `name`; returns the length to cut it back to. */
static size_t enter(comparison *c, const char *name, int index)
{
  const size_t n = strlen(c->path);
  if (name) (void)snprintf(c->path + n, PATH - n, "%s%s", n ? "." : "", name);
  else (void)snprintf(c->path + n, PATH - n, "[%d]", index);
  return n;
}

/* --- keys ---------------------------------------------------------------------------------------------------------- */

static bool is_absent(const document_node *node) { return !node || node->kind == DOCUMENT_NULL; }

/* Entries of a list by their place, of names by their name. */
static PetscErrorCode compare_entries(comparison *c, const key_spec *k, const document_node *before, const document_node *after,
                                      bool may_change)
{
  PetscFunctionBegin;
  const bool has_names = after->kind == DOCUMENT_MAPPING;
  for (int i = 0; i < after->n; ++i) {
    const document_node *was = has_names ? document_find(before, after->key[i]) : i < before->n ? before->value[i] : NULL;
    const size_t         n   = enter(c, has_names ? after->key[i] : NULL, i);
    if (was) PetscCall(compare_tables(c, k->table, was, after->value[i], may_change));
    else PetscCall(tell(c, NULL, after->value[i], may_change));
    c->path[n] = '\0';
  }
  for (int i = has_names ? 0 : after->n; i < before->n; ++i) {
    if (has_names && document_find(after, before->key[i])) continue;
    const size_t n = enter(c, has_names ? before->key[i] : NULL, i);
    PetscCall(tell(c, before->value[i], NULL, may_change));
    c->path[n] = '\0';
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compare_key(comparison *c, const key_spec *k, const document_node *before, const document_node *after, bool may_change)
{
  PetscFunctionBegin;
  const bool   is_list = k->type == KEY_LIST || k->type == KEY_NAMED;
  const size_t n       = enter(c, k->name, 0);
  if (is_absent(before) && is_absent(after)) { /* nothing either way */
  } else if (is_absent(before) || is_absent(after) || before->kind != after->kind) {
    PetscCall(tell(c, is_absent(before) ? NULL : before, is_absent(after) ? NULL : after, may_change));
  } else if (k->type == KEY_TABLE) {
    PetscCall(compare_tables(c, k->table, before, after, may_change));
  } else if (is_list && before->kind != DOCUMENT_SCALAR) {
    PetscCall(compare_entries(c, k, before, after, may_change));
  } else if (!same(before, after)) {
    PetscCall(tell(c, before, after, may_change));
  }
  c->path[n] = '\0';
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compare_keys(comparison *c, const key_table *table, const document_node *before, const document_node *after,
                                   bool may_change)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k)
    PetscCall(compare_key(c, k, document_find(before, k->name), document_find(after, k->name), may_change || k->may_change));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compare_tables(comparison *c, const key_table *table, const document_node *before, const document_node *after,
                                     bool may_change)
{
  PetscFunctionBegin;
  const int variant = key_table_variant(table, after);
  if (before->kind != DOCUMENT_MAPPING || after->kind != DOCUMENT_MAPPING || c->depth >= KEY_MAX_DEPTH || variant != key_table_variant(table, before)) {
    if (!same(before, after)) PetscCall(tell(c, before, after, may_change));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ++c->depth;
  PetscCall(compare_keys(c, table, before, after, may_change));
  if (variant >= 0) PetscCall(compare_keys(c, table->variants[variant].table, before, after, may_change));
  --c->depth;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_compare(const key_table *table, const document_node *before, const document_node *after, key_difference_visit visit,
                                 void *context)
{
  PetscFunctionBegin;
  comparison c = {.visit = visit, .context = context};
  PetscCall(compare_tables(&c, table, before, after, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}
