#include "core/field_snapshot.h"
#include <string.h>
#include "core/memory.h"

struct field_snapshot {
  char    *bytes;
  int64_t  capacity, used;
  int64_t *n_rows; /* per group */
  int      n_groups;
};

PetscErrorCode field_snapshot_create(field_snapshot **out) { return memory_alloc("snapshot", 1, sizeof(field_snapshot), out); }

void field_snapshot_destroy(field_snapshot **s)
{
  if (!*s) return;
  memory_free(&(*s)->bytes);
  memory_free(&(*s)->n_rows);
  memory_free(s);
}

/* Bytes of one component of a field, gaps of the stride included: interleaved fields are copied once, as a whole. */
static size_t field_bytes(const field *f, int64_t n_rows)
{
  return (size_t)n_rows * field_type_size(f->type) * (size_t)(f->stride > 1 ? f->stride : 1);
}
static int field_copies(const field *f) { return f->stride > 1 ? 1 : f->n_components; }

static int64_t state_bytes(const field_table *table)
{
  int64_t sum = 0;
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    const field_group *g = field_table_group(table, i);
    for (int k = 0; k < g->n_fields; ++k)
      if (g->fields[k].flags & FIELD_CHECKPOINT) sum += field_copies(&g->fields[k]) * (int64_t)field_bytes(&g->fields[k], *g->n_rows);
  }
  return sum;
}

PetscErrorCode field_snapshot_take(field_snapshot *s, const field_table *table)
{
  PetscFunctionBegin;
  const int64_t need = state_bytes(table);
  s->n_groups        = field_table_n_groups(table);
  PetscCall(memory_resize("snapshot", s->n_groups, sizeof(int64_t), &s->n_rows));
  if (need > s->capacity) {
    PetscCall(memory_resize("snapshot", need, 1, &s->bytes));
    s->capacity = need;
  }
  char *to = s->bytes;
  for (int i = 0; i < s->n_groups; ++i) {
    const field_group *g = field_table_group(table, i);
    s->n_rows[i]         = *g->n_rows;
    for (int k = 0; k < g->n_fields; ++k) {
      const field *f = &g->fields[k];
      if (!(f->flags & FIELD_CHECKPOINT)) continue;
      for (int c = 0; c < field_copies(f); ++c) {
        const size_t bytes = field_bytes(f, *g->n_rows);
        if (bytes) memcpy(to, *f->component[c], bytes);
        to += bytes;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_snapshot_restore(const field_snapshot *s, field_table *table)
{
  PetscFunctionBegin;
  const char *from = s->bytes;
  for (int i = 0; i < s->n_groups; ++i) {
    field_group *g = field_table_group(table, i);
    if (*g->n_rows != s->n_rows[i] && g->resize) PetscCall(g->resize(g->context, s->n_rows[i]));
    for (int k = 0; k < g->n_fields; ++k) {
      const field *f = &g->fields[k];
      if (!(f->flags & FIELD_CHECKPOINT)) continue;
      for (int c = 0; c < field_copies(f); ++c) {
        const size_t bytes = field_bytes(f, s->n_rows[i]);
        if (bytes) memcpy(*f->component[c], from, bytes);
        from += bytes;
      }
    }
    if (g->restored) PetscCall(g->restored(g->context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
