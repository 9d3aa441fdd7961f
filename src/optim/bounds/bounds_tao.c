/* Implementation: each TaoSolve copies the problem into a bounds_qp and calls the solver through bounds_solve_with. */
#include "optim/bounds/bounds_tao.h"
#include "core/memory.h"
#include "optim/bounds/active_set.h"
#include "optim/bounds/mprgp.h"
#include "optim/linear/petsc_private.h"

#define GRID "SSGridMatrix"

typedef struct {
  bounds_solve_function solver;
  bounds_options        o;
  bounds_result         result;
  double               *b, *diagonal, *lo, *hi; /* [n] data of one solve */
  Mat                   H;                      /* Hessian of the current solve */
  Vec                   in, out;
  PetscErrorCode        failed; /* error code of the first failed product */
} tao_box;

PetscErrorCode bounds_tao_set_grid(Mat hessian, grid_matrix *grid)
{
  PetscContainer c;
  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PetscObjectComm((PetscObject)hessian), &c));
  PetscCall(PetscContainerSetPointer(c, grid));
  PetscCall(PetscObjectCompose((PetscObject)hessian, GRID, (PetscObject)c));
  PetscCall(PetscContainerDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode multiply_hessian(tao_box *t, const double *x, double *y)
{
  PetscFunctionBegin;
  PetscCall(VecPlaceArray(t->in, x));
  PetscCall(VecPlaceArray(t->out, y));
  PetscCall(MatMult(t->H, t->in, t->out));
  PetscCall(VecResetArray(t->in));
  PetscCall(VecResetArray(t->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void apply(void *context, const double *restrict x, double *restrict y)
{
  tao_box *t = context;
  if (!t->failed) t->failed = multiply_hessian(t, x, y);
}

static void free_problem(tao_box *t) { memory_free(&t->b), memory_free(&t->diagonal), memory_free(&t->lo), memory_free(&t->hi); }

/* Read the problem: b = -g(0), bit-exact because the objective is quadratic (0 need not be feasible), the diagonal, and bounds
 * with IEEE infinities. */
static PetscErrorCode read_problem(Tao tao, tao_box *t, int64_t n)
{
  const double *g, *lo = NULL, *hi = NULL;
  double       *diagonal;
  PetscBool     has;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("bounds tao", ARRAY(t->b, n), ARRAY(t->diagonal, n), ARRAY(t->lo, n), ARRAY(t->hi, n)));
  PetscCall(VecSet(tao->stepdirection, 0.0));
  PetscCall(TaoComputeGradient(tao, tao->stepdirection, tao->gradient));
  PetscCall(TaoComputeHessian(tao, tao->solution, tao->hessian, tao->hessian_pre));
  PetscCall(VecGetArrayRead(tao->gradient, &g));
  for (int64_t i = 0; i < n; ++i) t->b[i] = -g[i];
  PetscCall(VecRestoreArrayRead(tao->gradient, &g));
  PetscCall(MatHasOperation(tao->hessian, MATOP_GET_DIAGONAL, &has));
  if (has) PetscCall(MatGetDiagonal(tao->hessian, tao->stepdirection));
  else PetscCall(VecSet(tao->stepdirection, 1.0));
  PetscCall(VecGetArray(tao->stepdirection, &diagonal));
  for (int64_t i = 0; i < n; ++i) t->diagonal[i] = diagonal[i];
  PetscCall(VecRestoreArray(tao->stepdirection, &diagonal));
  if (tao->XL) PetscCall(VecGetArrayRead(tao->XL, &lo));
  if (tao->XU) PetscCall(VecGetArrayRead(tao->XU, &hi));
  for (int64_t i = 0; i < n; ++i) {
    t->lo[i] = lo && lo[i] > PETSC_NINFINITY ? lo[i] : -INFINITY;
    t->hi[i] = hi && hi[i] < PETSC_INFINITY ? hi[i] : INFINITY;
  }
  if (tao->XL) PetscCall(VecRestoreArrayRead(tao->XL, &lo));
  if (tao->XU) PetscCall(VecRestoreArrayRead(tao->XU, &hi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static TaoConvergedReason reason_of(const bounds_result *r, double absolute)
{
  switch (r->status) {
  case BOUNDS_OK: return r->target > absolute ? TAO_CONVERGED_GRTOL : TAO_CONVERGED_GATOL;
  case BOUNDS_ITERATIONS: return TAO_DIVERGED_MAXITS;
  case BOUNDS_STALLED: return TAO_DIVERGED_LS_FAILURE;
  case BOUNDS_UNBOUNDED: return TAO_DIVERGED_USER;
  case BOUNDS_NOT_FINITE: return TAO_DIVERGED_NAN;
  }
  return TAO_DIVERGED_USER;
}

static PetscErrorCode run_solver(Tao tao, tao_box *t, int64_t n)
{
  PetscContainer c = NULL;
  double        *x, f, alpha_bar = t->result.alpha_bar;
  void          *grid = NULL;
  PetscFunctionBegin;
  PetscCall(read_problem(tao, t, n));
  PetscCall(PetscObjectQuery((PetscObject)tao->hessian, GRID, (PetscObject *)&c));
  if (c) PetscCall(PetscContainerGetPointer(c, &grid));
  t->o.tolerance      = tao->grtol;
  t->o.absolute       = tao->gatol;
  t->o.max_iterations = tao->max_it == 10000 ? 0 : tao->max_it; /* Tao's default means: default of the method */
  t->result           = (bounds_result){.alpha_bar = alpha_bar};
  const bounds_qp q   = {.n = n, .apply = apply, .context = t, .diagonal = t->diagonal, .b = t->b, .lo = t->lo, .hi = t->hi, .grid = grid};
  PetscCall(VecGetArray(tao->solution, &x));
  PetscErrorCode code = bounds_solve_with(NULL, t->solver, false, &q, &t->o, x, &t->result);
  PetscCall(VecRestoreArray(tao->solution, &x));
  PetscCall(code);
  PetscCall(t->failed);
  PetscCall(TaoComputeObjectiveAndGradient(tao, tao->solution, &f, tao->gradient));
  tao->niter       = (PetscInt)t->result.iterations;
  tao->ksp_tot_its = (PetscInt)t->result.iterations;
  tao->reason      = reason_of(&t->result, tao->gatol);
  PetscCall(TaoLogConvergenceHistory(tao, f, t->result.residual, 0.0, tao->ksp_tot_its));
  PetscCall(TaoMonitor(tao, tao->niter, f, t->result.residual, 0.0, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSolve_Box(Tao tao)
{
  tao_box    *t = tao->data;
  PetscInt    n;
  PetscMPIInt size;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)tao), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)tao), PETSC_ERR_SUP, "Tao type %s runs on one process only",
             ((PetscObject)tao)->type_name);
  PetscCheck(tao->hessian, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Tao type %s needs a Hessian: call TaoSetHessian",
             ((PetscObject)tao)->type_name);
  PetscCall(TaoComputeVariableBounds(tao));
  PetscCall(VecGetLocalSize(tao->solution, &n));
  t->H = tao->hessian, t->failed = 0;
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &t->in));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &t->out));
  const PetscErrorCode code = run_solver(tao, t, n);
  free_problem(t);
  PetscCall(VecDestroy(&t->in));
  PetscCall(VecDestroy(&t->out));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSetUp_Box(Tao tao)
{
  PetscFunctionBegin;
  if (!tao->gradient) PetscCall(VecDuplicate(tao->solution, &tao->gradient));
  if (!tao->stepdirection) PetscCall(VecDuplicate(tao->solution, &tao->stepdirection));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSetFromOptions_Box(Tao tao, PetscOptionItems *PetscOptionsObject)
{
  static const char *const kinds[] = {
#define X(symbol, name, help) name,
      BOUNDS_PRECONDITIONER_TABLE(X)
#undef X
  };
  tao_box *t    = tao->data;
  PetscInt kind = t->o.preconditioner;
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Quadratic programs with bounds");
  PetscCall(
      PetscOptionsEList("-tao_mprgp_preconditioner", "within the face", NULL, kinds, BOUNDS_N_PRECONDITIONERS, kinds[kind], &kind, NULL));
  t->o.preconditioner = (int)kind;
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoView_Box(Tao tao, PetscViewer viewer)
{
  const tao_box *t = tao->data;
  PetscBool      is_ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_ascii));
  if (is_ascii)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%lld unknowns at bounds, %lld products\n", (long long)t->result.n_bound,
                                     (long long)t->result.products));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoDestroy_Box(Tao tao)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(tao->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_tao_type(Tao tao, bounds_solve_function solver)
{
  tao_box *t;
  PetscFunctionBegin;
  PetscCall(PetscNew(&t));
  t->solver                = solver;
  t->o                     = (bounds_options){.preconditioner = BOUNDS_PRECONDITIONER_MULTIGRID, .trials = 1};
  tao->data                = t;
  tao->ops->setup          = TaoSetUp_Box;
  tao->ops->solve          = TaoSolve_Box;
  tao->ops->view           = TaoView_Box;
  tao->ops->setfromoptions = TaoSetFromOptions_Box;
  tao->ops->destroy        = TaoDestroy_Box;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoCreate_MPRGP(Tao tao) { return create_tao_type(tao, bounds_solve_mprgp); }
static PetscErrorCode TaoCreate_MPRGPOriginal(Tao tao) { return create_tao_type(tao, bounds_solve_mprgp_original); }
static PetscErrorCode TaoCreate_ActiveSet(Tao tao) { return create_tao_type(tao, bounds_solve_active_set); }

PetscErrorCode bounds_tao_result(Tao tao, bounds_result *out)
{
  PetscFunctionBegin;
  PetscCheck(tao->ops->solve == TaoSolve_Box, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "expected a Tao of type mprgp, mprgporiginal or activeset, not %s", ((PetscObject)tao)->type_name);
  *out = ((tao_box *)tao->data)->result;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bounds_tao_register(void)
{
  PetscFunctionBegin;
  PetscCall(TaoInitializePackage()); /* otherwise PETSc would register its own types over a non-empty list */
  PetscCall(TaoRegister(TAOMPRGP, TaoCreate_MPRGP));
  PetscCall(TaoRegister(TAOMPRGPORIGINAL, TaoCreate_MPRGPOriginal));
  PetscCall(TaoRegister(TAOACTIVESET, TaoCreate_ActiveSet));
  PetscFunctionReturn(PETSC_SUCCESS);
}
