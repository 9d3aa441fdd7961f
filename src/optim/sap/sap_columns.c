#include "optim/sap/sap_columns.h"
#include "core/memory.h"

void sap_columns_destroy(sap_columns *t)
{
  memory_free(&t->start), memory_free(&t->column), memory_free(&t->value);
  t->n = 0;
}

/* The three rows of a term side by side; a column may be missing in some of them. */
static int64_t merge_rows(const sparse_rows *J, int64_t a, int32_t *column, double *value)
{
  int64_t            at[3], n = 0;
  for (int i = 0; i < 3; ++i) at[i] = J->start[3 * a + i];
  for (;;) {
    int32_t next = INT32_MAX;
    for (int i = 0; i < 3; ++i)
      if (at[i] < J->start[3 * a + i + 1] && J->col[at[i]] < next) next = J->col[at[i]];
    if (next == INT32_MAX) return n;
    for (int i = 0; i < 3; ++i) {
      const bool is_there = at[i] < J->start[3 * a + i + 1] && J->col[at[i]] == next;
      if (value) value[3 * n + i] = is_there ? J->value[at[i]] : 0.0;
      at[i] += is_there;
    }
    if (column) column[n] = next;
    ++n;
  }
}

static PetscErrorCode fill(const sparse_rows *J, sap_columns *t)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("columns of terms", t->n + 1, sizeof *t->start, &t->start));
  for (int64_t a = 0; a < t->n; ++a) t->start[a + 1] = t->start[a] + merge_rows(J, a, NULL, NULL);
  PetscCall(memory_alloc("columns of terms", t->start[t->n], sizeof *t->column, &t->column));
  PetscCall(memory_alloc("columns of terms", 3 * t->start[t->n], sizeof *t->value, &t->value));
  for (int64_t a = 0; a < t->n; ++a) merge_rows(J, a, t->column + t->start[a], t->value + 3 * t->start[a]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_columns_create(const sparse_rows *J, int64_t n, sap_columns *out)
{
  PetscFunctionBegin;
  *out                      = (sap_columns){.n = n};
  const PetscErrorCode code = fill(J, out);
  if (code) sap_columns_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
