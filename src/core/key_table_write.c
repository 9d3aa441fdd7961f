/* Structs into documents: the way back of key_table_read.c. */
#include "core/key_table_internal.h"
#include "core/key_text.h"
#include "core/memory.h"
#include "core/text.h"
#include <math.h>
#include <string.h>

static const document_mark nowhere = {"", 0, 0};

static PetscErrorCode write_table(const key_table *table, int variant, document *doc, const void *value, int depth, document_node **out);

static PetscErrorCode write_real(document *doc, double x, document_node **out)
{
  char text[KEY_TEXT_REAL];

  PetscFunctionBegin;
  key_text_of_real(x, text);
  PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, text, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_int(document *doc, int64_t i, document_node **out)
{
  char text[32];

  PetscFunctionBegin;
  snprintf(text, sizeof text, "%lld", (long long)i);
  PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, text, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_reals(document *doc, int n, const double *x, document_node **out)
{
  PetscFunctionBegin;
  PetscCall(document_add_node(doc, DOCUMENT_SEQUENCE, nowhere, NULL, out));
  for (int i = 0; i < n; ++i) {
    document_node *entry;
    PetscCall(write_real(doc, x[i], &entry));
    PetscCall(document_append(doc, *out, NULL, nowhere, entry));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its dollars doubled: reading expands them. */
static PetscErrorCode write_path(document *doc, const char *path, document_node **out)
{
  text_buffer b = {0};

  PetscFunctionBegin;
  for (const char *c = path; *c; ++c) PetscCall(text_append(&b, *c == '$' ? "$$" : c, *c == '$' ? 2 : 1));
  PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, b.data ? b.data : "", out));
  memory_free(&b.data);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_list(const key_spec *spec, document *doc, const key_list *list, int depth, document_node **out)
{
  PetscFunctionBegin;
  PetscCall(document_add_node(doc, spec->type == KEY_NAMED ? DOCUMENT_MAPPING : DOCUMENT_SEQUENCE, nowhere, NULL, out));
  for (int i = 0; i < list->n; ++i) {
    const key_item *item = &list->item[i];
    document_node  *entry;
    if (spec->type == KEY_STRINGS) PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, item->value, &entry));
    else PetscCall(write_table(spec->table, item->variant, doc, item->value, depth + 1, &entry));
    PetscCall(document_append(doc, *out, item->name, nowhere, entry));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *out NULL: absent. */
static PetscErrorCode write_member(const key_spec *spec, bool may_be_absent, document *doc, const void *member, int depth, document_node **out)
{
  PetscFunctionBegin;
  *out = NULL;
  switch (spec->type) {
  case KEY_BOOL: PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, *(const bool *)member ? "true" : "false", out)); break;
  case KEY_INT:
    if (*(const int64_t *)member != KEY_INT_ABSENT) PetscCall(write_int(doc, *(const int64_t *)member, out));
    break;
  case KEY_REAL:
    if (isfinite(*(const double *)member)) PetscCall(write_real(doc, *(const double *)member, out));
    break;
  case KEY_REALS:
    if (isfinite(*(const double *)member)) PetscCall(write_reals(doc, spec->count, member, out));
    break;
  case KEY_ENUM:
    if (*(const int *)member >= 0) PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, spec->choices[*(const int *)member], out));
    break;
  case KEY_STRING:
    if (*(const char *const *)member) PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, *(const char *const *)member, out));
    break;
  case KEY_PATH:
    if (*(const char *const *)member) PetscCall(write_path(doc, *(const char *const *)member, out));
    break;
  case KEY_TREE:
    if (*(const document_node *const *)member) PetscCall(document_copy(doc, *(const document_node *const *)member, out));
    break;
  case KEY_TABLE:
    if (spec->table->variant_key) {
      const key_item *item = member;
      if (item->value) PetscCall(write_table(spec->table, item->variant, doc, item->value, depth + 1, out));
    } else if (*(const void *const *)member) {
      PetscCall(write_table(spec->table, -1, doc, *(const void *const *)member, depth + 1, out));
    }
    break;
  case KEY_NAMED:
  case KEY_LIST:
  case KEY_STRINGS:
    /* an empty list says nothing where absent means the same */
    if (((const key_list *)member)->n > 0 || !may_be_absent) PetscCall(write_list(spec, doc, member, depth, out));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_keys(const key_table *table, document *doc, const char *base, int depth, document_node *out)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    document_node *child;
    PetscCall(write_member(k, k->is_optional || table->is_one_of, doc, base + k->offset, depth, &child));
    if (child) PetscCall(document_append(doc, out, k->name, nowhere, child));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_table(const key_table *table, int variant, document *doc, const void *value, int depth, document_node **out)
{
  PetscFunctionBegin;
  PetscCheck(depth < KEY_MAX_DEPTH, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "table %s: nested too deeply to be written", table->name);
  PetscCall(document_add_node(doc, DOCUMENT_MAPPING, nowhere, NULL, out));
  if (table->variant_key) {
    document_node *picked;
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, table->variants[variant].name, &picked));
    PetscCall(document_append(doc, *out, table->variant_key, nowhere, picked));
  }
  PetscCall(write_keys(table, doc, value, depth, *out));
  if (table->variant_key) PetscCall(write_keys(table->variants[variant].table, doc, value, depth, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_write(const key_table *table, document *owner, const void *value, document_node **out)
{
  PetscFunctionBegin;
  SS_ASSERT(!table->variant_key);
  PetscCall(write_table(table, -1, owner, value, 0, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
