/* Implementation: callbacks that evaluate a bounds_qp for PETSc's Tao and SNES. */
#include "optim/bounds/bounds_petsc.h"
#include "core/memory.h"
#include "optim/bounds/bounds_tao.h"
#include <petscsnes.h>

enum { DENSE = 500, ITERATIONS = 5000 };
#define PREFIX "pressure_"

typedef struct {
  const bounds_qp      *q;
  const bounds_options *o;
  bounds_result        *r;
  double               *work;
  Mat                   shell, A; /* the operator; the assembled matrix or NULL */
  Vec                   x, g, lo, hi;
} petsc_qp;

static PetscErrorCode mult_shell(Mat M, Vec x, Vec y)
{
  petsc_qp     *s;
  const double *a;
  double       *b;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(M, &s));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArray(y, &b));
  s->q->apply(s->q->context, a, b);
  ++s->r->products;
  PetscCall(VecRestoreArray(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode diagonal_shell(Mat M, Vec d)
{
  petsc_qp *s;
  double   *a;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(M, &s));
  PetscCall(VecGetArray(d, &a));
  for (int64_t i = 0; i < s->q->n; ++i) a[i] = s->q->diagonal[i];
  PetscCall(VecRestoreArray(d, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is the grid matrix all of A? Compares one product of each with a rough vector. */
static PetscErrorCode is_grid_complete(const bounds_qp *q, bool *is)
{
  double *x = NULL, *y = NULL, *z = NULL, apart = 0.0, size = 0.0;
  PetscFunctionBegin;
  *is = false;
  if (!q->grid || q->grid->n != q->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = MEMORY_ALLOC("probe", ARRAY(x, q->n), ARRAY(y, q->n), ARRAY(z, q->n));
  if (!code) {
    for (int64_t i = 0; i < q->n; ++i) x[i] = sin(1.0 + 1.7 * (double)i);
    q->apply(q->context, x, y);
    grid_matrix_apply(q->grid, x, z);
    for (int64_t i = 0; i < q->n; ++i)
      apart = fmax(apart, fabs(y[i] - z[i]) / q->diagonal[i]), size = fmax(size, fabs(y[i]) / q->diagonal[i]);
    *is = apart <= 1e-10 * size;
  }
  MEMORY_FREE(&x, &y, &z);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode assemble_from_grid(const grid_matrix *a, Mat *out)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, (PetscInt)a->n, (PetscInt)a->n, 7, NULL, out));
  for (PetscInt i = 0; i < a->n; ++i) {
    PetscCall(MatSetValue(*out, i, i, a->diagonal[i], ADD_VALUES));
    for (int k = 0; k < 6; ++k)
      if (a->neighbor[i][k] >= 0) PetscCall(MatSetValue(*out, i, a->neighbor[i][k], a->off[i][k], ADD_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode assemble_from_products(petsc_qp *s, Mat *out)
{
  const int64_t n = s->q->n;
  double       *x = NULL, *y = s->work;
  PetscFunctionBegin;
  PetscCall(memory_alloc("unit vector", n, sizeof *x, &x));
  PetscErrorCode code = MatCreateSeqAIJ(PETSC_COMM_SELF, (PetscInt)n, (PetscInt)n, (PetscInt)n, NULL, out);
  for (int64_t j = 0; j < n && !code; ++j) {
    x[j] = 1.0;
    s->q->apply(s->q->context, x, y);
    ++s->r->products;
    x[j] = 0.0;
    for (int64_t i = 0; i < n && !code; ++i)
      if (y[i] != 0.0 || i == j) code = MatSetValue(*out, (PetscInt)i, (PetscInt)j, y[i], INSERT_VALUES);
  }
  memory_free(&x);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode open_qp(petsc_qp *s, double *x)
{
  const bounds_qp *q = s->q;
  bool             is_all;
  double          *lo, *hi;
  PetscInt         n;
  PetscFunctionBegin;
  PetscCall(PetscIntCast(q->n, &n));
  PetscCall(memory_alloc("gradient", q->n, sizeof *s->work, &s->work));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, s, &s->shell));
  PetscCall(MatShellSetOperation(s->shell, MATOP_MULT, (void (*)(void))mult_shell));
  PetscCall(MatShellSetOperation(s->shell, MATOP_MULT_TRANSPOSE, (void (*)(void))mult_shell));
  PetscCall(MatShellSetOperation(s->shell, MATOP_GET_DIAGONAL, (void (*)(void))diagonal_shell));
  if (q->grid) PetscCall(bounds_tao_set_grid(s->shell, q->grid));
  PetscCall(is_grid_complete(q, &is_all));
  if (is_all) PetscCall(assemble_from_grid(q->grid, &s->A));
  else if (q->n <= DENSE) PetscCall(assemble_from_products(s, &s->A));
  if (s->A) {
    PetscCall(MatAssemblyBegin(s->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(s->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(s->A, MAT_SPD, PETSC_TRUE));
  }
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, x, &s->x));
  PetscCall(VecDuplicate(s->x, &s->g));
  PetscCall(VecDuplicate(s->x, &s->lo));
  PetscCall(VecDuplicate(s->x, &s->hi));
  PetscCall(VecGetArray(s->lo, &lo));
  PetscCall(VecGetArray(s->hi, &hi));
  for (int64_t i = 0; i < q->n; ++i) {
    lo[i] = q->lo && isfinite(q->lo[i]) ? q->lo[i] : PETSC_NINFINITY;
    hi[i] = q->hi && isfinite(q->hi[i]) ? q->hi[i] : PETSC_INFINITY;
  }
  PetscCall(VecRestoreArray(s->lo, &lo));
  PetscCall(VecRestoreArray(s->hi, &hi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode close_qp(petsc_qp *s, double *x)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < s->q->n; ++i) x[i] = bounds_clamp(x[i], s->q->lo ? s->q->lo[i] : -INFINITY, s->q->hi ? s->q->hi[i] : INFINITY);
  memory_free(&s->work);
  PetscCall(MatDestroy(&s->shell));
  PetscCall(MatDestroy(&s->A));
  PetscCall(VecDestroy(&s->x));
  PetscCall(VecDestroy(&s->g));
  PetscCall(VecDestroy(&s->lo));
  PetscCall(VecDestroy(&s->hi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g = A x - b; *f (may be NULL) the objective. */
static PetscErrorCode evaluate_gradient(petsc_qp *s, Vec x, Vec g, double *f)
{
  const double *a;
  double       *to;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArray(g, &to));
  bounds_gradient(s->q, a, to, s->r);
  if (f) *f = 0.5 * (team_dot(s->q->n, a, to) - team_dot(s->q->n, a, s->q->b));
  PetscCall(VecRestoreArray(g, &to));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |nu|_D of x with gradient g. */
static PetscErrorCode evaluate_residual(const petsc_qp *s, Vec x, Vec g, double *out)
{
  const bounds_qp *q = s->q;
  const double    *a, *b;
  double           sum = 0.0;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(g, &b));
  for (int64_t i = 0; i < q->n; ++i) {
    const bool   at_lo = q->lo && a[i] <= q->lo[i], at_hi = q->hi && a[i] >= q->hi[i];
    const double nu = at_lo && at_hi ? 0.0 : at_lo ? fmin(b[i], 0.0) : at_hi ? fmax(b[i], 0.0) : b[i];
    sum += nu * nu / q->diagonal[i];
  }
  PetscCall(VecRestoreArrayRead(g, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  *out = sqrt(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode tao_gradient(Tao tao, Vec x, PetscReal *f, Vec g, void *context)
{
  (void)tao;
  return evaluate_gradient(context, x, g, f);
}

static PetscErrorCode tao_hessian(Tao tao, Vec x, Mat H, Mat P, void *context)
{
  (void)tao, (void)x, (void)H, (void)P, (void)context;
  return PETSC_SUCCESS;
}

/* The gradient of some Tao types is projected already; its norm is the same. */
static PetscErrorCode tao_converged(Tao tao, void *context)
{
  petsc_qp *s = context;
  Vec       x, g;
  double    norm;
  PetscInt  iterations, max;
  PetscFunctionBegin;
  PetscCall(TaoGetSolution(tao, &x));
  PetscCall(TaoGetGradient(tao, &g, NULL, NULL));
  PetscCall(evaluate_residual(s, x, g ? g : s->g, &norm));
  PetscCall(TaoGetIterationNumber(tao, &iterations));
  PetscCall(TaoGetMaximumIterations(tao, &max));
  TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
  if (PetscIsInfOrNanReal(norm)) reason = TAO_DIVERGED_NAN;
  else if (norm <= s->r->target) reason = TAO_CONVERGED_USER;
  else if (iterations >= max) reason = TAO_DIVERGED_MAXITS;
  PetscCall(TaoSetConvergedReason(tao, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up_tao(petsc_qp *s, Tao tao, PetscBool *is_ours)
{
  const PetscInt max = s->o->max_iterations > 0 ? (PetscInt)s->o->max_iterations : ITERATIONS;
  PetscFunctionBegin;
  PetscCall(TaoSetOptionsPrefix(tao, PREFIX));
  PetscCall(TaoSetType(tao, TAOBNLS));
  PetscCall(TaoSetTolerances(tao, s->r->target, 0.0, 0.0));
  PetscCall(TaoSetMaximumIterations(tao, max));
  PetscCall(TaoSetMaximumFunctionEvaluations(tao, 4 * max));
  PetscCall(TaoSetSolution(tao, s->x));
  PetscCall(TaoSetVariableBounds(tao, s->lo, s->hi));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, tao_gradient, s));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)tao, is_ours, TAOMPRGP, TAOMPRGPORIGINAL, TAOACTIVESET, ""));
  const Mat H = *is_ours || !s->A ? s->shell : s->A;
  PetscCall(TaoSetHessian(tao, H, H, tao_hessian, s));
  if (!*is_ours) PetscCall(TaoSetConvergenceTest(tao, tao_converged, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_tao(petsc_qp *s, Tao tao)
{
  TaoConvergedReason reason;
  PetscBool          is_ours = PETSC_FALSE;
  PetscInt           outer, inner;
  PetscFunctionBegin;
  PetscCall(set_up_tao(s, tao, &is_ours));
  PetscCall(TaoSolve(tao));
  PetscCall(TaoGetConvergedReason(tao, &reason));
  PetscCall(TaoGetIterationNumber(tao, &outer));
  PetscCall(TaoGetLinearSolveIterations(tao, &inner));
  if (is_ours) {
    const double target = s->r->target;
    PetscCall(bounds_tao_result(tao, s->r));
    s->r->target = target;
  } else s->r->iterations = inner > 0 ? inner : outer, s->r->outer = outer;
  if (reason == TAO_DIVERGED_NAN) s->r->status = BOUNDS_NOT_FINITE;
  else if (reason == TAO_DIVERGED_MAXITS || reason == TAO_DIVERGED_MAXFCN) s->r->status = BOUNDS_ITERATIONS;
  else if (reason < 0) s->r->status = BOUNDS_STALLED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bounds_solve_tao(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  petsc_qp s   = {.q = q, .o = o, .r = r};
  Tao      tao = NULL;
  PetscFunctionBegin;
  PetscCall(bounds_tao_register());
  PetscErrorCode code = open_qp(&s, x);
  if (!code) code = TaoCreate(PETSC_COMM_SELF, &tao);
  if (!code) code = run_tao(&s, tao);
  PetscCall(TaoDestroy(&tao));
  PetscCall(close_qp(&s, x));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode snes_function(SNES snes, Vec x, Vec g, void *context)
{
  (void)snes;
  return evaluate_gradient(context, x, g, NULL);
}

static PetscErrorCode snes_jacobian(SNES snes, Vec x, Mat J, Mat P, void *context)
{
  (void)snes, (void)x, (void)J, (void)P, (void)context;
  return PETSC_SUCCESS;
}

static PetscErrorCode snes_converged(SNES snes, PetscInt iteration, PetscReal xnorm, PetscReal snorm, PetscReal fnorm,
                                     SNESConvergedReason *reason, void *context)
{
  petsc_qp *s = context;
  Vec       x, g;
  double    norm;
  (void)iteration, (void)xnorm, (void)snorm, (void)fnorm;
  PetscFunctionBegin;
  PetscCall(SNESGetSolution(snes, &x));
  PetscCall(SNESGetFunction(snes, &g, NULL, NULL));
  PetscCall(evaluate_residual(s, x, g, &norm));
  *reason = PetscIsInfOrNanReal(norm) ? SNES_DIVERGED_FNORM_NAN
            : norm <= s->r->target    ? SNES_CONVERGED_FNORM_ABS
                                      : SNES_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up_snes(petsc_qp *s, SNES snes)
{
  KSP            ksp;
  PC             pc;
  const PetscInt max = s->o->max_iterations > 0 ? (PetscInt)s->o->max_iterations : ITERATIONS;
  PetscFunctionBegin;
  PetscCheck(s->A, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "method snesvi needs an assembled matrix, which is available up to %d unknowns or if the grid matrix is complete "
             "(no floating bodies); use tao, mprgp or active_set",
             DENSE);
  PetscCall(SNESSetOptionsPrefix(snes, PREFIX));
  PetscCall(SNESSetType(snes, SNESVINEWTONRSLS));
  PetscCall(SNESSetFunction(snes, s->g, snes_function, s));
  PetscCall(SNESSetJacobian(snes, s->A, s->A, snes_jacobian, s));
  PetscCall(SNESVISetVariableBounds(snes, s->lo, s->hi));
  PetscCall(SNESSetTolerances(snes, 0.0, 0.0, 0.0, max, 4 * max));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 0.1, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCICC));
  PetscCall(SNESSetConvergenceTest(snes, snes_converged, s, NULL));
  PetscCall(SNESSetFromOptions(snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_snes(petsc_qp *s, SNES snes)
{
  SNESConvergedReason reason;
  PetscInt            outer, inner;
  PetscFunctionBegin;
  PetscCall(set_up_snes(s, snes));
  PetscCall(SNESSolve(snes, NULL, s->x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &outer));
  PetscCall(SNESGetLinearSolveIterations(snes, &inner));
  s->r->iterations = inner, s->r->outer = outer;
  if (reason == SNES_DIVERGED_MAX_IT || reason == SNES_DIVERGED_FUNCTION_COUNT) s->r->status = BOUNDS_ITERATIONS;
  else if (reason == SNES_DIVERGED_FNORM_NAN) s->r->status = BOUNDS_NOT_FINITE;
  else if (reason < 0) s->r->status = BOUNDS_STALLED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bounds_solve_snesvi(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  petsc_qp s    = {.q = q, .o = o, .r = r};
  SNES     snes = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = open_qp(&s, x);
  if (!code) code = SNESCreate(PETSC_COMM_SELF, &snes);
  if (!code) code = run_snes(&s, snes);
  PetscCall(SNESDestroy(&snes));
  PetscCall(close_qp(&s, x));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void apply_unit(void *context, const double *restrict x, double *restrict y)
{
  (void)context;
  for (int i = 0; i < 2; ++i) y[i] = x[i];
}

PetscErrorCode bounds_petsc_probe(bool is_snes)
{
  const double         one[2] = {1.0, 1.0}, zero[2] = {0.0, 0.0};
  const bounds_qp      q    = {.n = 2, .apply = apply_unit, .diagonal = one, .b = one, .lo = zero};
  const bounds_options o    = {.method = 0};
  bounds_result        r    = {.target = 1.0};
  petsc_qp             s    = {.q = &q, .o = &o, .r = &r};
  double               x[2] = {0.0, 0.0};
  PetscBool            is_ours;
  Tao                  tao  = NULL;
  SNES                 snes = NULL;
  PetscFunctionBegin;
  PetscCall(bounds_tao_register());
  PetscErrorCode code = open_qp(&s, x);
  if (!code) code = is_snes ? SNESCreate(PETSC_COMM_SELF, &snes) : TaoCreate(PETSC_COMM_SELF, &tao);
  if (!code) code = is_snes ? set_up_snes(&s, snes) : set_up_tao(&s, tao, &is_ours);
  if (!code) code = is_snes ? SNESSetUp(snes) : TaoSetUp(tao);
  PetscCall(SNESDestroy(&snes));
  PetscCall(TaoDestroy(&tao));
  PetscCall(close_qp(&s, x));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
