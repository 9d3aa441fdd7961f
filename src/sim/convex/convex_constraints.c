/* Rows over the global vector are collected once per step; laws are linearised at every evaluation of the residual. */
#include "sim/convex/convex_constraints.h"
#include "core/memory.h"

void convex_constraints_take_over(scene *s)
{
  for (int i = 0; i < s->n_systems; ++i) s->systems[i]->constraints_apart = true;
}

void convex_constraints_destroy(convex_constraints *c)
{
  sparse_rows_destroy(&c->full);
  MEMORY_FREE(&c->law, &c->known);
  c->n = 0;
}

/* Constraints of system i; n = 0 if it has none. */
static body_constraints of_system(const step_layout *l, int i)
{
  const body      *b   = l->scene->systems[i];
  body_constraints own = {0};
  if (b->ops->constraints) b->ops->constraints(b, &own);
  return own;
}

/* Copy the laws and the rows in the global vector. */
static PetscErrorCode gather(const step_layout *l, int64_t n_full, int64_t n_entries, convex_constraints *c)
{
  int32_t       *row = NULL, *col = NULL;
  double        *value = NULL;
  int64_t        n = 0, first = 0;
  PetscErrorCode code = MEMORY_ALLOC("rows of constraints", ARRAY(row, n_entries), ARRAY(col, n_entries), ARRAY(value, n_entries));
  for (int i = 0; i < l->scene->n_systems && !code; ++i) {
    const body_constraints own = of_system(l, i);
    for (int64_t k = 0; k < 3 * own.n; ++k)
      for (int64_t e = own.start[k]; e < own.start[k + 1]; ++e, ++n) {
        row[n]   = (int32_t)(3 * first + k);
        col[n]   = (int32_t)(3 * l->scene->systems[i]->first_block + own.dof[e]);
        value[n] = own.value[e];
      }
    for (int64_t k = 0; k < own.n; ++k) c->law[first + k] = own.law[k];
    first += own.n;
  }
  if (!code) code = sparse_rows_from_triplets("rows of constraints", 3 * c->n, n_full, n, row, col, value, &c->full);
  MEMORY_FREE(&row, &col, &value);
  return code;
}

PetscErrorCode convex_constraints_create(const step_layout *l, const step_unknowns *u, convex_constraints *c)
{
  int64_t n_entries = 0;
  PetscFunctionBegin;
  for (int i = 0; i < l->scene->n_systems; ++i) {
    const body_constraints own = of_system(l, i);
    if (own.n > 0) n_entries += own.start[3 * own.n];
    c->n += own.n;
  }
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("constraints", ARRAY(c->law, c->n), ARRAY(c->known, 3 * c->n)));
  PetscCall(gather(l, u->n_full, n_entries, c));
  if (!u->is_all) sparse_rows_apply(&c->full, u->known, c->known);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void convex_constraints_linearise(const step_layout *l, const double *u, double *r, convex_constraints *c)
{
  int64_t at = 0;
  for (int i = 0; i < l->scene->n_systems && c->n > 0; ++i) {
    const body_constraints own = of_system(l, i);
    for (int64_t k = 0; k < own.n; ++k, ++at) {
      double before[3], now[3];
      constraint_law(&c->law[at], u + 3 * at, before, NULL);
      constraint_law(&own.law[k], u + 3 * at, now, NULL);
      for (int e = 0; e < 3; ++e) r[3 * at + e] += now[e] - before[e];
      c->law[at] = own.law[k];
    }
  }
}

PetscErrorCode convex_constraints_append(const convex_constraints *c, const step_unknowns *u, sparse_rows *J)
{
  sparse_rows product = {0}, both, *const own = u->is_all ? NULL : &product;
  PetscFunctionBegin;
  if (c->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (own) PetscCall(sparse_rows_product(&c->full, &u->P, own));
  const PetscErrorCode code = sparse_rows_stacked(J, own ? own : &c->full, &both);
  if (own) sparse_rows_destroy(own);
  PetscCall(code);
  sparse_rows_destroy(J);
  *J = both;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void convex_constraints_stiffen(const convex_constraints *c, const sparse_rows *J, int64_t n_contacts, double *diagonal)
{
  for (int64_t k = 0; k < c->n; ++k) {
    const int64_t row = 3 * (n_contacts + k);
    for (int64_t e = J->start[row]; e < J->start[row + 1] && c->law[k].is_drive; ++e)
      diagonal[J->col[e]] += J->value[e] * J->value[e] / c->law[k].R[0];
  }
}

void convex_constraints_subtract(const convex_constraints *c, const double *r, double *g)
{
  for (int64_t k = 0; k < 3 * c->n; ++k)
    for (int64_t e = c->full.start[k]; e < c->full.start[k + 1]; ++e) g[c->full.col[e]] -= c->full.value[e] * r[k];
}
