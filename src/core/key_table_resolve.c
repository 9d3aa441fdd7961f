/* The resolved job: what was written and what was left to defaults, in table order. */
#include "core/key_table_internal.h"
#include "core/key_text.h"
#include "core/memory.h"
#include "core/text.h"
#include <string.h>

static PetscErrorCode resolve_table(const key_table *table, document *owner, const document_node *node, int depth, document_node **out);

/* Absolute, with every dollar doubled, since the resolved job is expanded again when it is read. */
static PetscErrorCode resolve_path(document *owner, const document_node *node, document_node **out)
{
  const char *absolute, *problem;
  text_buffer text = {0};

  PetscFunctionBegin;
  PetscCall(document_copy(owner, node, out));
  if (node->kind != DOCUMENT_SCALAR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(key_text_path(owner, node->text, node->mark, &absolute, &problem));
  if (problem) PetscFunctionReturn(PETSC_SUCCESS);
  for (const char *c = absolute; *c; ++c) PetscCall(text_append(&text, *c == '$' ? "$$" : c, *c == '$' ? 2 : 1));
  (*out)->text = document_intern(owner, text.data);
  memory_free(&text.data);
  PetscCheck((*out)->text, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for a path");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode resolve_value(const key_spec *spec, document *owner, const document_node *node, int depth, document_node **out)
{
  PetscFunctionBegin;
  const bool is_list = spec->type == KEY_LIST || spec->type == KEY_NAMED;
  PetscCall(key_spec_expand(spec, owner, &node));
  if (spec->type == KEY_PATH) {
    PetscCall(resolve_path(owner, node, out));
  } else if (spec->type == KEY_TABLE) {
    PetscCall(resolve_table(spec->table, owner, node, depth + 1, out));
  } else if (is_list && (node->kind == DOCUMENT_MAPPING || node->kind == DOCUMENT_SEQUENCE)) {
    PetscCall(document_add_node(owner, node->kind, node->mark, NULL, out));
    for (int i = 0; i < node->n; ++i) {
      const bool     has_key = node->kind == DOCUMENT_MAPPING;
      document_node *child;
      PetscCall(resolve_table(spec->table, owner, node->value[i], depth + 1, &child));
      PetscCall(document_append(owner, *out, has_key ? node->key[i] : NULL, has_key ? node->key_mark[i] : node->mark, child));
    }
  } else {
    PetscCall(document_copy(owner, node, out));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode resolve_keys(const key_table *table, bool has_defaults, document *owner, const document_node *node, int depth,
                                   document_node *out)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    const document_node *value = document_find(node, k->name);
    document_node       *child;
    if (!value && k->fallback && has_defaults) {
      PetscCall(document_read_flow(owner, k->fallback, node->mark, &child));
      value = child;
    }
    if (!value) continue;
    PetscCall(resolve_value(k, owner, value, depth, &child));
    PetscCall(document_append(owner, out, k->name, value->mark, child));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode resolve_table(const key_table *table, document *owner, const document_node *node, int depth, document_node **out)
{
  PetscFunctionBegin;
  PetscCall(key_table_expand(table, owner, &node));
  if ((node->kind != DOCUMENT_MAPPING && node->kind != DOCUMENT_NULL) || depth >= KEY_MAX_DEPTH) {
    PetscCall(document_copy(owner, node, out)); /* wrong anyway: a reader has said so */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int variant = key_table_variant(table, node);
  PetscCall(document_add_node(owner, DOCUMENT_MAPPING, node->mark, NULL, out));
  if (variant >= 0) {
    const document_node *picked = document_find(node, table->variant_key);
    document_node       *child;
    PetscCall(document_copy(owner, picked, &child));
    PetscCall(document_append(owner, *out, table->variant_key, picked->mark, child));
  }
  PetscCall(resolve_keys(table, !table->is_one_of, owner, node, depth, *out));
  if (variant >= 0) PetscCall(resolve_keys(table->variants[variant].table, true, owner, node, depth, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_resolve(const key_table *table, document *owner, const document_node *mapping, document_node **out)
{
  PetscFunctionBegin;
  PetscCall(resolve_table(table, owner, mapping, 0, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- paths alone ---- */

static PetscErrorCode absolute_table(const key_table *table, document *owner, document_node *node, int depth);

static PetscErrorCode absolute_value(const key_spec *spec, document *owner, document_node *node, int depth)
{
  document_node *absolute;

  PetscFunctionBegin;
  if (spec->type == KEY_PATH) {
    PetscCall(resolve_path(owner, node, &absolute));
    node->text = absolute->text;
  } else if (spec->type == KEY_TABLE) {
    PetscCall(absolute_table(spec->table, owner, node, depth + 1));
  } else if (spec->type == KEY_NAMED || spec->type == KEY_LIST) {
    for (int i = 0; i < node->n; ++i) PetscCall(absolute_table(spec->table, owner, node->value[i], depth + 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode absolute_table(const key_table *table, document *owner, document_node *node, int depth)
{
  PetscFunctionBegin;
  if (node->kind != DOCUMENT_MAPPING || depth >= KEY_MAX_DEPTH) PetscFunctionReturn(PETSC_SUCCESS);
  const int variant = key_table_variant(table, node);
  for (int i = 0; i < node->n; ++i) {
    const key_spec *k = key_table_find(table, node->key[i]);
    if (!k && variant >= 0) k = key_table_find(table->variants[variant].table, node->key[i]);
    if (k) PetscCall(absolute_value(k, owner, node->value[i], depth));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_absolute_paths(const key_table *table, document *owner, document_node *mapping)
{
  PetscFunctionBegin;
  PetscCall(absolute_table(table, owner, mapping, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
