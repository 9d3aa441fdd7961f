/* Implementation: sparsity pattern, assembly, and the choice of the factorisation. */
#include "optim/sap/sap_hessian.h"
#include "core/memory.h"
#include "core/sort.h"
#include "core/team.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { PARALLEL_ROWS = 192 };
static const double SERVED = 8.0; /* typical number of Newton iterations that reuse a row of W */

void sap_hessian_destroy(sap_hessian *h)
{
  sparse_rows_destroy(&h->H);
  mass_factor_destroy(&h->factor);
  multifrontal_dual_destroy(&h->dual);
  sap_cg_destroy(&h->cg);
  MEMORY_FREE(&h->mark, &h->work);
}

/* Number of distinct columns of row i; written unordered to `col` unless NULL. mark [n]: last row that contained a column, plus 1. */
static int64_t row_pattern(const sap_system *s, int64_t i, int32_t *mark, int32_t *col)
{
  int64_t n = 0;
  for (int64_t k = s->S.start[i]; k < s->S.start[i + 1]; ++k) {
    mark[s->S.col[k]] = (int32_t)i + 1;
    if (col) col[n] = s->S.col[k];
    ++n;
  }
  for (int64_t k = s->touch_start[i]; k < s->touch_start[i + 1]; ++k) {
    const int64_t a = s->term[s->touch[k]];
    for (int64_t e = s->J.start[a]; e < s->J.start[a + 1]; ++e) {
      if (mark[s->J.column[e]] == i + 1) continue;
      mark[s->J.column[e]] = (int32_t)i + 1;
      if (col) col[n] = s->J.column[e];
      ++n;
    }
  }
  return n;
}

static PetscErrorCode build_pattern(const sap_system *s, int32_t *mark, sparse_rows *H)
{
  PetscFunctionBegin;
  *H = (sparse_rows){.n_rows = s->n, .n_cols = s->n};
  PetscCall(memory_alloc("Newton matrix", s->n + 1, sizeof *H->start, &H->start));
  for (int64_t i = 0; i < s->n; ++i) H->start[i + 1] = H->start[i] + row_pattern(s, i, mark, NULL);
  for (int64_t i = 0; i < s->n; ++i) mark[i] = 0;
  PetscCall(MEMORY_ALLOC("Newton matrix", ARRAY(H->col, H->start[s->n]), ARRAY(H->value, H->start[s->n])));
  for (int64_t i = 0; i < s->n; ++i) {
    row_pattern(s, i, mark, H->col + H->start[i]);
    qsort(H->col + H->start[i], (size_t)(H->start[i + 1] - H->start[i]), sizeof *H->col, sort_compare_int32);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_hessian_create(const sap_system *s, sap_hessian *out)
{
  PetscFunctionBegin;
  *out                    = (sap_hessian){.s = s};
  PetscErrorCode     code = MEMORY_ALLOC("sap hessian", ARRAY(out->mark, team_threads() * s->n), ARRAY(out->work, s->n));
  const sap_problem *p    = s->problem;
  if (!code && p->operator) code = sap_cg_create(p->operator, p->columns, p->solver, &out->cg);
  else if (!code && !p->front) code = build_pattern(s, out->mark, &out->H);
  if (code) sap_hessian_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void assemble_row(const sap_hessian *h, const double *restrict G, int64_t i, int32_t *restrict mark)
{
  const sap_system *s     = h->s;
  double *const     value = h->H.value + h->H.start[i];
  const int64_t     n     = h->H.start[i + 1] - h->H.start[i];
  for (int64_t k = 0; k < n; ++k) mark[h->H.col[h->H.start[i] + k]] = (int32_t)k, value[k] = 0.0;
  for (int64_t k = s->S.start[i]; k < s->S.start[i + 1]; ++k) value[mark[s->S.col[k]]] += s->S.value[k];
  for (int64_t k = s->touch_start[i]; k < s->touch_start[i + 1]; ++k) {
    const int64_t       a = s->term[s->touch[k]];
    const double *const J = s->J.value + 3 * s->touch[k], *const g = G + 9 * a;
    if (g[0] == 0.0 && g[4] == 0.0 && g[8] == 0.0) continue; /* no stiffness: an inactive term */
    const double left[3] = {J[0] * g[0] + J[1] * g[3] + J[2] * g[6], J[0] * g[1] + J[1] * g[4] + J[2] * g[7],
                            J[0] * g[2] + J[1] * g[5] + J[2] * g[8]};
    for (int64_t e = s->J.start[a]; e < s->J.start[a + 1]; ++e)
      value[mark[s->J.column[e]]] += left[0] * s->J.value[3 * e] + left[1] * s->J.value[3 * e + 1] + left[2] * s->J.value[3 * e + 2];
  }
}

/* Multifrontal factor: factor the late unknowns again, or use Woodbury's identity on the active terms, whichever is less work. The
 * cost of missing rows of W is divided by the number of iterations that will reuse them. */
static PetscErrorCode factor_fronts(sap_hessian *h, const double *G, bool *is_definite)
{
  const sap_problem *p = h->s->problem;
  double             now, missing;
  PetscFunctionBegin;
  if (!h->dual) PetscCall(multifrontal_dual_create(p->front, p->columns, &h->dual));
  multifrontal_dual_work(h->dual, G, &now, &missing);
  h->is_dual = now + missing / SERVED < multifrontal_factor_work_late(p->front);
  if (h->is_dual) PetscCall(multifrontal_dual_set(h->dual, G, is_definite));
  if (h->is_dual && *is_definite) PetscFunctionReturn(PETSC_SUCCESS);
  h->is_dual = false;
  PetscCall(multifrontal_factor_add(p->front, p->A, p->columns, G, is_definite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_hessian_factor(sap_hessian *h, const double *G, bool *is_definite)
{
  const int64_t      n = h->s->n;
  const sap_problem *p = h->s->problem;
  PetscFunctionBegin;
  h->G = G;
  if (h->cg) {
    PetscCall(sap_cg_set(h->cg, G, is_definite));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->front) {
    PetscCall(factor_fronts(h, G, is_definite));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#pragma omp parallel for schedule(static) if (n >= PARALLEL_ROWS)
  for (int64_t i = 0; i < n; ++i) assemble_row(h, G, i, h->mark + (int64_t)omp_get_thread_num() * n);
  *is_definite = true;
  if (h->factor) {
    PetscCall(mass_factor_refactor(h->factor, &h->H, is_definite));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const PetscErrorCode code = mass_factor_create_pattern(&h->H, &h->factor);
  if (code == PETSC_ERR_MAT_CH_ZRPVT) { /* not positive definite: reported to the caller, no error */
    error_clear();
    *is_definite = false;
  } else PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = S b + J^T G b of the late unknowns, for PC types and KSP types that need products. */
static PetscErrorCode multiply_hessian(void *context, const double *x, double *y)
{
  const sap_hessian *h = context;
  const sap_system  *s = h->s;
  memset(h->work, 0, (size_t)s->n * sizeof *h->work);
  for (int64_t a = 0; a < s->J.n; ++a) {
    double u[3] = {0.0, 0.0, 0.0};
    for (int64_t e = s->J.start[a]; e < s->J.start[a + 1]; ++e)
      for (int i = 0; i < 3; ++i) u[i] += s->J.value[3 * e + i] * x[s->J.column[e]];
    const double *const G = h->G + 9 * a;
    for (int64_t e = s->J.start[a]; e < s->J.start[a + 1]; ++e)
      for (int i = 0; i < 3; ++i)
        h->work[s->J.column[e]] += s->J.value[3 * e + i] * (G[3 * i] * u[0] + G[3 * i + 1] * u[1] + G[3 * i + 2] * u[2]);
  }
  sap_system_product(s, x, y);
  for (int64_t i = 0; i < s->n; ++i) y[i] += h->work[i];
  return PETSC_SUCCESS;
}

static PetscErrorCode divide_by_factor(void *context, const double *b, double *x)
{
  const sap_hessian *h = context;
  const sap_system  *s = h->s;
  if (s->problem->front) {
    for (int64_t i = 0; i < s->n; ++i) s->wide[s->own[i]] = b[i];
    if (h->is_dual) multifrontal_dual_solve(h->dual, s->wide);
    else multifrontal_solve_late(s->problem->front, s->wide);
    for (int64_t i = 0; i < s->n; ++i) x[i] = s->wide[s->own[i]];
    return PETSC_SUCCESS;
  }
  const int32_t *dof = mass_factor_dof(h->factor);
  for (int64_t at = 0; at < s->n; ++at) h->work[at] = b[dof[at]];
  mass_factor_solve_places(h->factor, h->work);
  for (int64_t at = 0; at < s->n; ++at) x[dof[at]] = h->work[at];
  return PETSC_SUCCESS;
}

PetscErrorCode sap_hessian_solve(sap_hessian *h, const double *b, double *x)
{
  const sap_problem  *p      = h->s->problem;
  const linear_system system = {.ksp          = KSPPREONLY,
                                .pc           = p->front ? PCMULTIFRONTAL : PCMASSFACTOR,
                                .n            = h->s->n,
                                .context      = h,
                                .product      = p->front ? multiply_hessian : NULL,
                                .precondition = divide_by_factor,
                                .A            = p->front ? NULL : &h->H};
  PetscFunctionBegin;
  if (p->solver) {
    PetscCall(linear_solver_set(p->solver, &system));
    PetscCall(linear_solver_solve(p->solver, b, x, NULL));
  } else PetscCall(divide_by_factor(h, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
