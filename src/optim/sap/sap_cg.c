/* Implementation: preconditioner, products and norm; the KSP type. */
#include "optim/sap/sap_cg.h"
#include "core/memory.h"
#include "core/team.h"
#include "optim/linear/petsc_private.h"
#include <math.h>
#include <string.h>

enum { SAP_CG_PARALLEL = 4096, RESTART = 50 /* of GMRES */ };
static const double SAP_CG_ROUNDING = 1e-15; /* relative to |D b|: smaller residuals are not attainable */

struct sap_cg {
  const sap_operator       *o;
  const multifrontal_terms *t;
  int64_t                   n, n_touched;
  double                   *inverse;     /* [n] 1/diag(A), or weight */
  double                   *block;       /* [(n + 2)/3][9] inverses of diagonal blocks */
  int32_t                  *touched;     /* [n_touched] */
  sparse_rows               part;        /* A among them */
  int32_t                  *part_column; /* columns of terms, as numbers of them */
  multifrontal_terms        part_terms;
  multifrontal_tree        *tree;
  multifrontal_factor      *factor;
  const double             *G;
  double                   *own;                 /* [n_touched] */
  double                   *r, *z, *p, *Ap, *Hp; /* [n] */
  double                   *u;                   /* [t->n][3] */
  double                   *Ax;                  /* [n] result of the current solve */
  linear_solver            *solver, *own_solver; /* own_solver: if the caller has given none */
  int64_t                  *touch_start, *touch; /* entries of terms by touched unknown */
  int32_t                  *term;
};

void sap_cg_destroy(sap_cg **c)
{
  if (!*c) return;
  linear_solver_destroy(&(*c)->own_solver);
  multifrontal_factor_destroy(&(*c)->factor);
  multifrontal_tree_destroy(&(*c)->tree);
  sparse_rows_destroy(&(*c)->part);
  MEMORY_FREE(&(*c)->inverse, &(*c)->block, &(*c)->touched, &(*c)->part_column, &(*c)->own, &(*c)->r, &(*c)->z, &(*c)->p, &(*c)->Ap,
              &(*c)->Hp, &(*c)->u, &(*c)->touch_start, &(*c)->touch, &(*c)->term, c);
}

/* ---- preconditioner ---- */

/* Replace a symmetric positive definite 3 x 3 block by its inverse, or by that of its diagonal if rounding makes it singular. */
static void invert_block(double B[9])
{
  const double c[3] = {B[4] * B[8] - B[5] * B[7], B[5] * B[6] - B[3] * B[8], B[3] * B[7] - B[4] * B[6]},
               det  = B[0] * c[0] + B[1] * c[1] + B[2] * c[2];
  if (!(det > 1e-12 * B[0] * B[4] * B[8])) {
    const double d[3] = {1.0 / B[0], 1.0 / B[4], 1.0 / B[8]};
    memset(B, 0, 9 * sizeof *B);
    B[0] = d[0], B[4] = d[1], B[8] = d[2];
    return;
  }
  const double adjoint[9] = {c[0], B[2] * B[7] - B[1] * B[8], B[1] * B[5] - B[2] * B[4],
                             c[1], B[0] * B[8] - B[2] * B[6], B[2] * B[3] - B[0] * B[5],
                             c[2], B[1] * B[6] - B[0] * B[7], B[0] * B[4] - B[1] * B[3]};
  for (int k = 0; k < 9; ++k) B[k] = adjoint[k] / det;
}

static void read_blocks(sap_cg *c, const sparse_rows *A)
{
#pragma omp parallel for schedule(static) if (c->n >= SAP_CG_PARALLEL)
  for (int64_t b = 0; b < (c->n + 2) / 3; ++b) {
    double *const B = c->block + 9 * b;
    for (int i = 0; i < 3; ++i) B[4 * i] = 1.0;
    for (int64_t i = 3 * b; i < c->n && i < 3 * b + 3; ++i)
      for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) {
        if (A->col[k] / 3 == b) B[3 * (i - 3 * b) + A->col[k] - 3 * b] = A->value[k];
        if (A->col[k] == i) c->inverse[i] = 1.0 / A->value[k];
      }
  }
}

static PetscErrorCode make_blocks(sap_cg *c)
{
  const int64_t n_blocks = (c->n + 2) / 3;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("sap cg", ARRAY(c->inverse, c->n), ARRAY(c->block, 9 * n_blocks)));
  if (c->o->A) read_blocks(c, c->o->A);
  else PetscCall(c->o->blocks(c->o->context, c->block, c->inverse));
#pragma omp parallel for schedule(static) if (c->n >= SAP_CG_PARALLEL)
  for (int64_t b = 0; b < n_blocks; ++b) invert_block(c->block + 9 * b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number the touched unknowns (those that terms act on) and extract A and the terms in this numbering. number [n]: -1 elsewhere. */
static PetscErrorCode find_touched(sap_cg *c, int32_t *number)
{
  const sparse_rows        *A         = c->o->A;
  const multifrontal_terms *t         = c->t;
  const int64_t             n_entries = t->start[t->n];
  PetscFunctionBegin;
  for (int64_t i = 0; i < c->n; ++i) number[i] = -1;
  for (int64_t e = 0; e < n_entries; ++e) number[t->column[e]] = 0;
  for (int64_t i = 0; i < c->n; ++i)
    if (number[i] == 0) number[i] = (int32_t)c->n_touched++;
  PetscCall(
      MEMORY_ALLOC("touched unknowns", ARRAY(c->touched, c->n_touched), ARRAY(c->own, c->n_touched), ARRAY(c->part_column, n_entries)));
  for (int64_t e = 0; e < n_entries; ++e) c->part_column[e] = number[t->column[e]];
  c->part_terms = (multifrontal_terms){t->n, t->start, c->part_column, t->value};
  c->part       = (sparse_rows){.n_rows = c->n_touched, .n_cols = c->n_touched};
  PetscCall(memory_alloc("touched unknowns", c->n_touched + 1, sizeof(int64_t), &c->part.start));
  for (int64_t i = 0; i < c->n; ++i) {
    if (number[i] < 0) continue;
    int64_t n = 0;
    for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) n += number[A->col[k]] >= 0;
    c->touched[number[i]] = (int32_t)i, c->part.start[number[i] + 1] = c->part.start[number[i]] + n;
  }
  PetscCall(
      MEMORY_ALLOC("touched unknowns", ARRAY(c->part.col, c->part.start[c->n_touched]), ARRAY(c->part.value, c->part.start[c->n_touched])));
  for (int64_t q = 0, at = 0; q < c->n_touched; ++q)
    for (int64_t k = A->start[c->touched[q]]; k < A->start[c->touched[q] + 1]; ++k)
      if (number[A->col[k]] >= 0) c->part.col[at] = number[A->col[k]], c->part.value[at++] = A->value[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* List the entries of terms by unknown, so that sums have a fixed order. */
static PetscErrorCode list_touches(sap_cg *c)
{
  const multifrontal_terms *t = &c->part_terms;
  const int64_t             n = t->start[t->n];
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("terms of unknowns", ARRAY(c->touch_start, c->n_touched + 2), ARRAY(c->touch, n), ARRAY(c->term, n),
                         ARRAY(c->u, 3 * t->n)));
  for (int64_t e = 0; e < n; ++e) ++c->touch_start[t->column[e] + 2];
  for (int64_t i = 0; i < c->n_touched; ++i) c->touch_start[i + 2] += c->touch_start[i + 1];
  for (int64_t a = 0; a < t->n; ++a)
    for (int64_t e = t->start[a]; e < t->start[a + 1]; ++e) c->touch[c->touch_start[t->column[e] + 1]++] = e, c->term[e] = (int32_t)a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_cg_create(const sap_operator *o, const multifrontal_terms *t, linear_solver *solver, sap_cg **out)
{
  sap_cg  *c;
  int32_t *number = NULL;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("conjugate gradients", 1, sizeof *c, &c));
  c->o = o, c->t = t, c->n = o->A ? o->A->n_rows : o->n;
  double       **vectors[] = {&c->r, &c->z, &c->p, &c->Ap, &c->Hp};
  PetscErrorCode code      = make_blocks(c);
  if (!code) code = sap_cg_register();
  if (!code && !solver) code = linear_solver_create(PETSC_COMM_SELF, "sap_", &c->own_solver);
  c->solver = solver ? solver : c->own_solver;
  for (int k = 0; k < 5 && !code; ++k) code = memory_alloc("conjugate gradients", c->n, sizeof(double), vectors[k]);
  if (!code && t && t->n > 0) {
    code = memory_alloc("touched unknowns", c->n, sizeof *number, &number);
    if (!code) code = find_touched(c, number);
    if (!code) code = list_touches(c);
    if (!code) code = multifrontal_tree_create(&c->part, &c->part_terms, 1.0, &c->tree);
    if (!code) code = multifrontal_factor_create(c->tree, &c->factor);
  }
  memory_free(&number);
  if (code) sap_cg_destroy(&c);
  PetscCall(code);
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_cg_set(sap_cg *c, const double *G, bool *is_definite)
{
  PetscFunctionBegin;
  c->G         = G;
  *is_definite = true;
  if (c->factor) PetscCall(multifrontal_factor_add(c->factor, &c->part, &c->part_terms, G, is_definite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- iterations ---- */

/* z = an approximation of H^-1 r. */
static void sap_cg_precondition(sap_cg *c, const double *restrict r, double *restrict z)
{
#pragma omp parallel for schedule(static) if (c->n >= SAP_CG_PARALLEL)
  for (int64_t b = 0; b < (c->n + 2) / 3; ++b) {
    const double *const B = c->block + 9 * b;
    for (int64_t i = 3 * b; i < c->n && i < 3 * b + 3; ++i) {
      double sum = 0.0;
      for (int64_t j = 3 * b; j < c->n && j < 3 * b + 3; ++j) sum += B[3 * (i - 3 * b) + j - 3 * b] * r[j];
      z[i] = sum;
    }
  }
  if (!c->G || !c->factor) return;
  for (int64_t q = 0; q < c->n_touched; ++q) c->own[q] = r[c->touched[q]];
  multifrontal_solve_late(c->factor, c->own);
  for (int64_t q = 0; q < c->n_touched; ++q) z[c->touched[q]] = c->own[q];
}

/* Hp = Ap + J^T G J p. */
static void sap_cg_add_terms(sap_cg *c, const double *p, const double *Ap, double *Hp)
{
  const multifrontal_terms *t = c->t;
  memcpy(Hp, Ap, (size_t)c->n * sizeof *Hp);
  if (!c->G || !c->factor) return;
#pragma omp parallel for schedule(static) if (t->start[t->n] >= SAP_CG_PARALLEL)
  for (int64_t a = 0; a < t->n; ++a) {
    const double *const g    = c->G + 9 * a;
    double              u[3] = {0.0, 0.0, 0.0};
    for (int64_t e = t->start[a]; e < t->start[a + 1]; ++e)
      for (int i = 0; i < 3; ++i) u[i] += t->value[3 * e + i] * p[t->column[e]];
    for (int i = 0; i < 3; ++i) c->u[3 * a + i] = g[3 * i] * u[0] + g[3 * i + 1] * u[1] + g[3 * i + 2] * u[2];
  }
#pragma omp parallel for schedule(static) if (t->start[t->n] >= SAP_CG_PARALLEL)
  for (int64_t q = 0; q < c->n_touched; ++q) {
    double sum = 0.0;
    for (int64_t k = c->touch_start[q]; k < c->touch_start[q + 1]; ++k) {
      const double *const J = t->value + 3 * c->touch[k], *const u = c->u + 3 * (int64_t)c->term[c->touch[k]];
      sum += J[0] * u[0] + J[1] * u[1] + J[2] * u[2];
    }
    Hp[c->touched[q]] += sum;
  }
}

/* |D r|; scaled [n]: work. */
static double sap_cg_norm(const sap_cg *c, const double *r, double *scaled)
{
#pragma omp parallel for schedule(static) if (c->n >= SAP_CG_PARALLEL)
  for (int64_t i = 0; i < c->n; ++i) scaled[i] = r[i] * r[i] * c->inverse[i];
  return sqrt(team_sum(c->n, scaled));
}

double sap_cg_size(sap_cg *c, const double *x) { return sap_cg_norm(c, x, c->z); }

/* ---- the KSP type "weightedcg": conjugate gradients that stop by |D r| and also accumulate A x ---- */

static PetscErrorCode KSPSetUp_WeightedCG(KSP ksp) { return linear_solver_require_pc(ksp, PCSAPBLOCKS); }

static PetscErrorCode iterate_weighted_cg(KSP ksp, sap_cg *c, const double *b, double *x, double *Ax)
{
  const int64_t n = c->n;
  double        rz, last = 1.0;
  PetscFunctionBegin;
  memset(x, 0, (size_t)n * sizeof *x), memset(Ax, 0, (size_t)n * sizeof *Ax);
  memcpy(c->r, b, (size_t)n * sizeof *b);
  for (ksp->its = 0;; ++ksp->its) {
    ksp->rnorm = sap_cg_norm(c, c->r, c->z);
    PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, ksp->rnorm));
    PetscCall((*ksp->converged)(ksp, ksp->its, ksp->rnorm, &ksp->reason, ksp->cnvP));
    if (!ksp->reason && ksp->its >= ksp->max_it) ksp->reason = KSP_DIVERGED_ITS;
    if (ksp->reason) break;
    sap_cg_precondition(c, c->r, c->z);
    rz                = team_dot(n, c->r, c->z);
    const double beta = ksp->its > 0 ? rz / last : 0.0;
#pragma omp parallel for schedule(static) if (n >= SAP_CG_PARALLEL)
    for (int64_t i = 0; i < n; ++i) c->p[i] = c->z[i] + beta * c->p[i];
    PetscCall(c->o->product(c->o->context, c->p, c->Ap));
    sap_cg_add_terms(c, c->p, c->Ap, c->Hp);
    const double curve = team_dot(n, c->p, c->Hp), a = rz / curve;
    if (!(curve > 0.0) || !isfinite(a)) {
      ksp->reason = KSP_DIVERGED_INDEFINITE_MAT;
      break;
    }
#pragma omp parallel for schedule(static) if (n >= SAP_CG_PARALLEL)
    for (int64_t i = 0; i < n; ++i) x[i] += a * c->p[i], Ax[i] += a * c->Ap[i], c->r[i] -= a * c->Hp[i];
    last = rz;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_WeightedCG(KSP ksp)
{
  Mat           A;
  sap_cg       *c;
  const double *b;
  double       *x;
  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(linear_solver_context(A, &c));
  PetscCall(VecGetArrayRead(ksp->vec_rhs, &b));
  PetscCall(VecGetArrayWrite(ksp->vec_sol, &x));
  PetscCall(iterate_weighted_cg(ksp, c, b, x, c->Ax));
  PetscCall(VecRestoreArrayWrite(ksp->vec_sol, &x));
  PetscCall(VecRestoreArrayRead(ksp->vec_rhs, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_WeightedCG(KSP ksp) { return linear_solver_set_ksp(ksp, KSPSetUp_WeightedCG, KSPSolve_WeightedCG); }

PetscErrorCode sap_cg_register(void) { return KSPRegister(KSPWEIGHTEDCG, KSPCreate_WeightedCG); }

/* ---- solves ---- */

static PetscErrorCode multiply_hessian(void *context, const double *x, double *y)
{
  sap_cg *c = context;
  PetscFunctionBegin;
  PetscCall(c->o->product(c->o->context, x, c->Ap));
  sap_cg_add_terms(c, x, c->Ap, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_blocks(void *context, const double *r, double *z)
{
  sap_cg_precondition(context, r, z);
  return PETSC_SUCCESS;
}

static PetscErrorCode solve_by_type(const char *type, sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x,
                                    double *Ax, int64_t *iterations)
{
  const linear_system l = {.ksp          = type,
                           .pc           = PCSAPBLOCKS,
                           .n            = c->n,
                           .context      = c,
                           .product      = multiply_hessian,
                           .precondition = apply_blocks,
                           .restart      = RESTART,
                           .weight       = c->inverse,
                           .weighted     = KSPWEIGHTEDCG};
  bool                is_weighted;
  PetscFunctionBegin;
  PetscCall(linear_solver_set(c->solver, &l));
  PetscCall(linear_solver_set_tolerance(c->solver, SAP_CG_ROUNDING, tolerance, most_iterations));
  PetscCall(linear_solver_is(c->solver, KSPWEIGHTEDCG, &is_weighted));
  c->Ax = Ax;
  PetscCall(linear_solver_solve(c->solver, b, x, iterations));
  if (!is_weighted) PetscCall(c->o->product(c->o->context, x, Ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_cg_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                            int64_t *iterations)
{
  return solve_by_type(KSPWEIGHTEDCG, c, b, tolerance, most_iterations, x, Ax, iterations);
}

PetscErrorCode sap_gmres_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                               int64_t *iterations)
{
  return solve_by_type(KSPGMRES, c, b, tolerance, most_iterations, x, Ax, iterations);
}
