/* The Mat is a shell whose context is the linear_solver. The PC types of LINEAR_PC_TABLE call `precondition` of its system. */
#include "optim/linear/linear_solver.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/stop.h"
#include "optim/linear/petsc_private.h"
#include "optim/linear/vec_threaded.h"
#include <math.h>
#include <string.h>

static const double DIRECT = 1e-12; /* default tolerance of Krylov methods in the place of a factorisation */
enum { MOST = 1000 };
#define SS_LINEAR_SOLVER "SSLinearSolver_C" /* composed on our matrices */

struct linear_solver {
  char          prefix[64];
  MPI_Comm      comm;
  linear_system system;
  KSP           ksp;
  Mat           A, P; /* P: entries for a PC of PETSc, or NULL */
  Vec           b, x;
  double       *root, *scaled;           /* [n] D, and D x or x / D, if the system is scaled */
  bool          is_scaled, is_symmetric; /* scaled; on both sides */
  bool          has_options;             /* the options database has some for this prefix */
  PetscBool     has_type, has_pc, has_relative, has_absolute, has_most, has_norm;
};

/* ---- interruption ---- */

/* The convergence test selected by PETSc's options, extended by interruption of the step. */
typedef struct {
  PetscErrorCode (*test)(KSP ksp, PetscInt i, PetscReal norm, KSPConvergedReason *reason, void *context);
  PetscErrorCode (*destroy)(void *context);
  void *context;
} stoppable_test;

static PetscErrorCode test_and_stop(KSP ksp, PetscInt i, PetscReal norm, KSPConvergedReason *reason, void *context)
{
  PetscFunctionBegin;
  const stoppable_test *inner = context;
  if (stop_is_urgent()) *reason = KSP_DIVERGED_BREAKDOWN;
  else PetscCall(inner->test(ksp, i, norm, reason, inner->context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode destroy_test(void *context)
{
  PetscFunctionBegin;
  stoppable_test *inner = context;
  if (inner->destroy) PetscCall(inner->destroy(inner->context));
  PetscCall(PetscFree(inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_make_stoppable(KSP ksp)
{
  PetscFunctionBegin;
  stoppable_test *inner;
  if (ksp->converged == test_and_stop) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&inner));
  PetscCall(KSPGetAndClearConvergenceTest(ksp, &inner->test, &inner->context, &inner->destroy));
  PetscCall(KSPSetConvergenceTest(ksp, test_and_stop, inner, destroy_test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrix and preconditioner ---- */

static void multiply_entries(const sparse_rows *A, const double *restrict x, double *restrict y)
{
#pragma omp parallel for schedule(static) if (A->n_rows >= 4096)
  for (int64_t i = 0; i < A->n_rows; ++i) {
    double sum = 0.0;
    for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) sum += A->value[k] * x[A->col[k]];
    y[i] = sum;
  }
}

enum { PARALLEL = 4096 };

/* y = x * root^sign, [n]. */
static void scale(const linear_solver *s, int sign, const double *x, double *y)
{
  const double *root = s->root;
#pragma omp parallel for schedule(static) if (s->system.n >= PARALLEL)
  for (int64_t i = 0; i < s->system.n; ++i) y[i] = sign > 0 ? root[i] * x[i] : x[i] / root[i];
}

/* y = A x (is_inverse: the factorisation applied to x), scaled if the system is. */
static PetscErrorCode apply_system(linear_solver *s, bool is_inverse, Vec x, Vec y)
{
  const linear_system *l = &s->system;
  const double        *from, *array;
  double              *to;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &array));
  PetscCall(VecGetArrayWrite(y, &to));
  from = array;
  if (s->is_scaled && (is_inverse || s->is_symmetric)) scale(s, is_inverse ? -1 : 1, array, s->scaled), from = s->scaled;
  if (is_inverse) PetscCall(l->precondition(l->context, from, to));
  else if (l->product) PetscCall(l->product(l->context, from, to));
  else multiply_entries(l->A, from, to);
  if (s->is_scaled && (!is_inverse || s->is_symmetric)) scale(s, is_inverse ? -1 : 1, to, to);
  PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(VecRestoreArrayRead(x, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_System(Mat A, Vec d)
{
  linear_solver *s;
  double        *to;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &s));
  PetscCheck(s->system.diagonal, s->comm, PETSC_ERR_SUP, "the diagonal of this matrix is not available; use pc_type %s or none",
             s->system.pc);
  PetscCall(VecGetArrayWrite(d, &to));
  for (int64_t i = 0; i < s->system.n; ++i)
    to[i] = s->system.diagonal[i] * (s->is_scaled ? s->root[i] * (s->is_symmetric ? s->root[i] : 1.0) : 1.0);
  PetscCall(VecRestoreArrayWrite(d, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_System(Mat A, Vec x, Vec y)
{
  linear_solver *s;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &s));
  PetscCall(apply_system(s, false, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *s NULL: A does not belong to a linear_solver. */
static PetscErrorCode find_solver(Mat A, linear_solver **s)
{
  PetscErrorCode (*is_ours)(void);
  PetscFunctionBegin;
  *s = NULL;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, SS_LINEAR_SOLVER, &is_ours));
  if (is_ours) PetscCall(MatShellGetContext(A, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_context(Mat A, void *context)
{
  linear_solver *s;
  PetscFunctionBegin;
  PetscCall(find_solver(A, &s));
  PetscCheck(s, PETSC_COMM_SELF, PETSC_ERR_SUP, "a matrix of type %s is not one of a linear_system", ((PetscObject)A)->type_name);
  *(void **)context = s->system.context;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_System(PC pc)
{
  linear_solver *s;
  const char    *type = ((PetscObject)pc)->type_name;
  PetscFunctionBegin;
  PetscCall(find_solver(pc->mat, &s));
  PetscCheck(s && strcmp(s->system.pc, type) == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "PC type %s is not available for this system; its own type is %s", type, s ? s->system.pc : ((PetscObject)pc->mat)->type_name);
  pc->data = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode PCApply_System(PC pc, Vec x, Vec y) { return apply_system(pc->data, true, x, y); }

static PetscErrorCode PCDestroy_System(PC pc)
{
  pc->data = NULL;
  return PETSC_SUCCESS;
}

static PetscErrorCode PCCreate_System(PC pc)
{
  PetscFunctionBegin;
  pc->ops->setup   = PCSetUp_System;
  pc->ops->apply   = PCApply_System;
  pc->ops->destroy = PCDestroy_System;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_require_pc(KSP ksp, const char *pc_type)
{
  PC        pc;
  PetscBool is_ours;
  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, pc_type, &is_ours));
  PetscCheck(is_ours, PETSC_COMM_SELF, PETSC_ERR_SUP, "KSP type %s needs PC type %s; choose ksp_type cg for other preconditioners",
             ((PetscObject)ksp)->type_name, pc_type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_set_ksp(KSP ksp, PetscErrorCode (*set_up)(KSP), PetscErrorCode (*solve)(KSP))
{
  PetscFunctionBegin;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
  ksp->ops->setup         = set_up;
  ksp->ops->solve         = solve;
  ksp->ops->destroy       = KSPDestroyDefault;
  ksp->ops->buildsolution = KSPBuildSolutionDefault;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_register(void)
{
  PetscFunctionBegin;
  PetscCall(VecRegister(VECTHREADED, VecCreate_Threaded));
#define X(name) PetscCall(PCRegister(name, PCCreate_System));
  LINEAR_PC_TABLE(X)
#undef X
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solver ---- */

void linear_solver_destroy(linear_solver **s)
{
  if (!*s) return;
  PetscCallAbort(PETSC_COMM_SELF, KSPDestroy(&(*s)->ksp));
  PetscCallAbort(PETSC_COMM_SELF, MatDestroy(&(*s)->A));
  PetscCallAbort(PETSC_COMM_SELF, MatDestroy(&(*s)->P));
  PetscCallAbort(PETSC_COMM_SELF, VecDestroy(&(*s)->b));
  PetscCallAbort(PETSC_COMM_SELF, VecDestroy(&(*s)->x));
  MEMORY_FREE(&(*s)->root, &(*s)->scaled, s);
}

static PetscErrorCode read_options(linear_solver *s)
{
  char     *all;
  PetscBool is_help;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetAll(NULL, &all));
  PetscCall(PetscOptionsHasHelp(NULL, &is_help));
  s->has_options = is_help || strstr(all, s->prefix);
  PetscCall(PetscFree(all));
  if (!s->has_options) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsHasName(NULL, s->prefix, "-ksp_type", &s->has_type));
  PetscCall(PetscOptionsHasName(NULL, s->prefix, "-pc_type", &s->has_pc));
  PetscCall(PetscOptionsHasName(NULL, s->prefix, "-ksp_rtol", &s->has_relative));
  PetscCall(PetscOptionsHasName(NULL, s->prefix, "-ksp_atol", &s->has_absolute));
  PetscCall(PetscOptionsHasName(NULL, s->prefix, "-ksp_max_it", &s->has_most));
  PetscCall(PetscOptionsHasName(NULL, s->prefix, "-ksp_norm_type", &s->has_norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_create(MPI_Comm comm, const char *prefix, linear_solver **out)
{
  linear_solver *s;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("linear solver", 1, sizeof *s, &s));
  s->comm = comm;
  snprintf(s->prefix, sizeof s->prefix, "%s", prefix);
  PetscErrorCode code = linear_solver_register();
  if (!code) code = read_options(s);
  if (!code) code = KSPCreate(comm, &s->ksp);
  if (!code) code = KSPSetOptionsPrefix(s->ksp, s->prefix);
  if (!code) code = KSPSetTolerances(s->ksp, DIRECT, 0.0, PETSC_MAX_REAL, MOST);
  if (code) linear_solver_destroy(&s);
  PetscCall(code);
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrix and vectors for n unknowns. */
static PetscErrorCode resize(linear_solver *s)
{
  PetscInt n;
  PetscFunctionBegin;
  PetscCall(PetscIntCast(s->system.n, &n));
  PetscCall(KSPReset(s->ksp));
  PetscCall(MatDestroy(&s->A));
  PetscCall(MatDestroy(&s->P));
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x));
  PetscCall(MatCreateShell(s->comm, n, n, n, n, s, &s->A));
  PetscCall(MatShellSetOperation(s->A, MATOP_MULT, (void (*)(void))MatMult_System));
  PetscCall(MatShellSetOperation(s->A, MATOP_GET_DIAGONAL, (void (*)(void))MatGetDiagonal_System));
  PetscCall(MatShellSetVecType(s->A, VECTHREADED));
  MEMORY_FREE(&s->root, &s->scaled);
  PetscCall(PetscObjectComposeFunction((PetscObject)s->A, SS_LINEAR_SOLVER, MatMult_System));
  PetscCall(vec_threaded_create(s->comm, n, &s->b));
  PetscCall(VecDuplicate(s->b, &s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Default types, and the options of PETSc if a type has changed. Residual norms are those of b - A x by default. */
static PetscErrorCode set_types(linear_solver *s)
{
  PC        pc;
  PetscBool is_type, is_pc, is_direct;
  PetscFunctionBegin;
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)s->ksp, s->system.ksp, &is_type));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, s->system.pc, &is_pc));
  const bool is_first = !((PetscObject)s->ksp)->type_name, sets_type = !is_type && (!s->has_type || is_first),
             sets_pc = !is_pc && (!s->has_pc || is_first);
  if (sets_type) PetscCall(KSPSetType(s->ksp, s->system.ksp));
  if (s->system.restart > 0) PetscCall(KSPGMRESSetRestart(s->ksp, (PetscInt)s->system.restart));
  if (sets_pc) PetscCall(PCSetType(pc, s->system.pc));
  if (!sets_type && !sets_pc) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->has_options) PetscCall(KSPSetFromOptions(s->ksp));
  PetscCheck(s->ksp->guess_zero, s->comm, PETSC_ERR_SUP, "the initial guess of each solve with prefix %s is 0; remove the option",
             s->prefix);
  PetscCall(PetscObjectTypeCompare((PetscObject)s->ksp, KSPPREONLY, &is_direct));
  if (!s->has_norm) PetscCall(KSPSetNormType(s->ksp, is_direct ? KSP_NORM_NONE : KSP_NORM_UNPRECONDITIONED));
  PetscCall(linear_solver_make_stoppable(s->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_scaling(linear_solver *s)
{
  PetscBool is_weighted = PETSC_FALSE, is_gmres;
  PetscFunctionBegin;
  if (s->system.weight) PetscCall(PetscObjectTypeCompare((PetscObject)s->ksp, s->system.weighted, &is_weighted));
  PetscCall(PetscObjectTypeCompare((PetscObject)s->ksp, KSPGMRES, &is_gmres));
  s->is_scaled    = s->system.weight && !is_weighted;
  s->is_symmetric = !is_gmres;
  if (!s->is_scaled) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->root) PetscCall(memory_alloc("scaling", s->system.n, sizeof *s->root, &s->root));
  if (!s->scaled) PetscCall(memory_alloc("scaling", s->system.n, sizeof *s->scaled, &s->scaled));
  for (int64_t i = 0; i < s->system.n; ++i) s->root[i] = sqrt(s->system.weight[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode copy_entries(const sparse_rows *A, Mat *P)
{
  PetscInt *length = NULL, n;
  PetscFunctionBegin;
  PetscCall(PetscIntCast(A->n_rows, &n));
  if (!*P) {
    PetscCall(memory_alloc("row lengths", n, sizeof *length, &length));
    for (PetscInt i = 0; i < n; ++i) length[i] = (PetscInt)(A->start[i + 1] - A->start[i]);
    PetscErrorCode code = MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 0, length, P);
    memory_free(&length);
    PetscCall(code);
    PetscCall(MatSetOption(*P, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  } else PetscCall(MatZeroEntries(*P));
  for (PetscInt i = 0; i < n; ++i)
    for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) PetscCall(MatSetValue(*P, i, A->col[k], A->value[k], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_set(linear_solver *s, const linear_system *system)
{
  PC        pc;
  PetscBool is_ours;
  PetscFunctionBegin;
  const bool is_resized = !s->A || s->system.n != system->n;
  s->system             = *system;
  if (is_resized) PetscCall(resize(s));
  PetscCall(set_types(s));
  PetscCall(set_scaling(s));
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, system->pc, &is_ours));
  if (!is_ours && system->A) PetscCall(copy_entries(system->A, &s->P));
  else PetscCall(MatDestroy(&s->P));
  if (!is_ours) PetscCall(PetscObjectStateIncrease((PetscObject)s->A));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->P ? s->P : s->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_is(const linear_solver *s, const char *ksp_type, bool *is)
{
  PetscBool answer;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)s->ksp, ksp_type, &answer));
  *is = answer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_set_tolerance(linear_solver *s, double relative, double absolute, int64_t most)
{
  PetscFunctionBegin;
  PetscCall(KSPSetTolerances(s->ksp, s->has_relative ? PETSC_DEFAULT : relative, s->has_absolute ? PETSC_DEFAULT : absolute, PETSC_DEFAULT,
                             s->has_most ? PETSC_DEFAULT : (PetscInt)most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode linear_solver_solve(linear_solver *s, const double *b, double *x, int64_t *iterations)
{
  const size_t  size = (size_t)s->system.n * sizeof *x;
  PetscInt      n_its;
  double       *to;
  const double *from;
  PetscFunctionBegin;
  if (iterations) *iterations = 0;
  if (s->system.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (b) {
    PetscCall(VecGetArrayWrite(s->b, &to));
    if (s->is_scaled) scale(s, 1, b, to);
    else memcpy(to, b, size);
    PetscCall(VecRestoreArrayWrite(s->b, &to));
  }
  PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscCall(KSPGetIterationNumber(s->ksp, &n_its));
  if (iterations) *iterations = n_its;
  if (!x) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(s->x, &from));
  if (s->is_scaled && s->is_symmetric) scale(s, 1, from, x);
  else memcpy(x, from, size);
  PetscCall(VecRestoreArrayRead(s->x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

KSPConvergedReason linear_solver_reason(const linear_solver *s) { return s->ksp->reason; }

static PetscErrorCode copy_vector(void *context, const double *x, double *y)
{
  (void)context;
  memcpy(y, x, 2 * sizeof *y);
  return PETSC_SUCCESS;
}

PetscErrorCode linear_solver_probe(const char *prefix, const char *ksp, const char *pc, bool has_entries, bool has_diagonal)
{
  int64_t           start[] = {0, 1, 2};
  int32_t           col[]   = {0, 1};
  double            value[] = {1.0, 1.0};
  const sparse_rows unit    = {.n_rows = 2, .n_cols = 2, .start = start, .col = col, .value = value};
  linear_system     system  = {.ksp          = ksp,
                               .pc           = pc,
                               .n            = 2,
                               .product      = copy_vector,
                               .precondition = copy_vector,
                               .A            = has_entries ? &unit : NULL,
                               .diagonal     = has_diagonal ? value : NULL};
  linear_solver    *s;
  PetscFunctionBegin;
  PetscCall(linear_solver_create(PETSC_COMM_SELF, prefix, &s));
  PetscErrorCode code = linear_solver_set(s, &system);
  if (!code) code = KSPSetUp(s->ksp);
  linear_solver_destroy(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
