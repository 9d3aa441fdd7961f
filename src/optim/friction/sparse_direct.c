#include "optim/friction/sparse_direct.h"
#include "core/memory.h"
#include <petscmat.h>
#include <string.h>

struct sparse_direct {
  sparse_direct_kind kind;
  int64_t            n;
  Mat                matrix, factor;
  Vec                b, x;
  MatFactorInfo      info;
};

void sparse_direct_destroy(sparse_direct **s)
{
  if (!*s) return;
  PetscCallAbort(PETSC_COMM_SELF, MatDestroy(&(*s)->factor));
  PetscCallAbort(PETSC_COMM_SELF, MatDestroy(&(*s)->matrix));
  PetscCallAbort(PETSC_COMM_SELF, VecDestroy(&(*s)->b));
  PetscCallAbort(PETSC_COMM_SELF, VecDestroy(&(*s)->x));
  memory_free(s);
}

/* Create the PETSc matrix: the upper triangle for Cholesky packages, the whole matrix for LU. */
static PetscErrorCode matrix_of(sparse_direct *s, const sparse_rows *a)
{
  const bool is_upper = s->kind == SPARSE_DIRECT_CHOLESKY;
  PetscInt  *length   = NULL, n;
  PetscFunctionBegin;
  PetscCall(PetscIntCast(a->n_rows, &n));
  PetscCall(memory_alloc("row lengths", a->n_rows, sizeof *length, &length));
  for (int64_t i = 0; i < a->n_rows; ++i)
    for (int64_t k = a->start[i]; k < a->start[i + 1]; ++k) length[i] += !is_upper || a->col[k] >= i;
  PetscCall(MatCreate(PETSC_COMM_SELF, &s->matrix));
  PetscCall(MatSetSizes(s->matrix, n, n, n, n));
  PetscCall(MatSetType(s->matrix, is_upper ? MATSEQSBAIJ : MATSEQAIJ));
  if (is_upper) PetscCall(MatSeqSBAIJSetPreallocation(s->matrix, 1, 0, length));
  else PetscCall(MatSeqAIJSetPreallocation(s->matrix, 0, length));
  memory_free(&length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_values(sparse_direct *s, const sparse_rows *a)
{
  const bool is_upper = s->kind == SPARSE_DIRECT_CHOLESKY;
  PetscFunctionBegin;
  for (int64_t i = 0; i < a->n_rows; ++i) {
    int64_t k = a->start[i];
    while (is_upper && k < a->start[i + 1] && a->col[k] < i) ++k;
    const PetscInt row = (PetscInt)i, count = (PetscInt)(a->start[i + 1] - k);
    PetscCall(MatSetValues(s->matrix, 1, &row, count, a->col + k, a->value + k, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(s->matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode analyse(sparse_direct *s)
{
  const bool      is_cholesky = s->kind == SPARSE_DIRECT_CHOLESKY;
  char            type[64];
  IS              row, col;
  PetscBool       is_set, is_used;
  MatOrderingType ordering = MATORDERINGEXTERNAL;
  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_cholmod_print", &is_set));
  if (is_cholesky && !is_set) PetscCall(PetscOptionsSetValue(NULL, "-mat_cholmod_print", "0")); /* we say what is wrong */
  PetscCall(PetscStrncpy(type, is_cholesky ? MATSOLVERCHOLMOD : MATSOLVERUMFPACK, sizeof type));
  PetscCall(PetscOptionsGetString(NULL, NULL, is_cholesky ? "-friction_cholesky_type" : "-friction_lu_type", type, sizeof type, NULL));
  PetscCall(MatGetFactor(s->matrix, type, is_cholesky ? MAT_FACTOR_CHOLESKY : MAT_FACTOR_LU, &s->factor));
  PetscCheck(s->factor, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "this PETSc has no direct solver \"%s\" for %s; name another one, such as mumps, with %s", type,
             is_cholesky ? "Cholesky factors" : "LU factors", is_cholesky ? "-friction_cholesky_type" : "-friction_lu_type");
  PetscCall(MatFactorInfoInitialize(&s->info));
  s->info.fill = 5.0;
  /* packages order themselves; PETSc's own factors require an ordering */
  PetscCall(MatFactorGetCanUseOrdering(s->factor, &is_used));
  if (is_used) PetscCall(MatFactorGetPreferredOrdering(s->factor, is_cholesky ? MAT_FACTOR_CHOLESKY : MAT_FACTOR_LU, &ordering));
  PetscCall(MatGetOrdering(s->matrix, ordering, &row, &col));
  if (is_cholesky) PetscCall(MatCholeskyFactorSymbolic(s->factor, s->matrix, row, &s->info));
  else PetscCall(MatLUFactorSymbolic(s->factor, s->matrix, row, col, &s->info));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscCall(MatCreateVecs(s->matrix, &s->x, &s->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_direct_refactor(sparse_direct *s, const sparse_rows *a, bool *is_regular)
{
  MatFactorError bad;
  PetscFunctionBegin;
  PetscCall(set_values(s, a));
  PetscCall(MatFactorClearError(s->factor));
  *is_regular               = false;
  const PetscErrorCode code = s->kind == SPARSE_DIRECT_CHOLESKY ? MatCholeskyFactorNumeric(s->factor, s->matrix, &s->info)
                                                                : MatLUFactorNumeric(s->factor, s->matrix, &s->info);
  if (code == PETSC_ERR_MAT_CH_ZRPVT || code == PETSC_ERR_MAT_LU_ZRPVT) { /* singular or not definite: reported to the caller, no error */
    error_clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(code);
  PetscCall(MatFactorGetError(s->factor, &bad));
  *is_regular = bad == MAT_FACTOR_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_direct_create(sparse_direct_kind kind, const sparse_rows *a, bool *is_regular, sparse_direct **out)
{
  sparse_direct *s;
  PetscFunctionBegin;
  *out        = NULL;
  *is_regular = false;
  PetscCall(memory_alloc("sparse direct solver", 1, sizeof *s, &s));
  s->kind = kind, s->n = a->n_rows;
  PetscErrorCode code = matrix_of(s, a);
  if (!code) code = set_values(s, a);
  if (!code) code = analyse(s);
  if (!code) code = sparse_direct_refactor(s, a, is_regular);
  if (code) sparse_direct_destroy(&s);
  PetscCall(code);
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_direct_solve(sparse_direct *s, const double *b, double *x)
{
  double       *to;
  const double *from;
  PetscFunctionBegin;
  PetscCall(VecGetArrayWrite(s->b, &to));
  memcpy(to, b, (size_t)s->n * sizeof *b);
  PetscCall(VecRestoreArrayWrite(s->b, &to));
  PetscCall(MatSolve(s->factor, s->b, s->x));
  PetscCall(VecGetArrayRead(s->x, &from));
  memcpy(x, from, (size_t)s->n * sizeof *x);
  PetscCall(VecRestoreArrayRead(s->x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode divide_by_direct(void *context, const double *b, double *x) { return sparse_direct_solve(context, b, x); }

PetscErrorCode sparse_direct_solve_by(linear_solver *solver, sparse_direct *s, const sparse_rows *a, const double *b, double *x)
{
  const linear_system system = {.ksp = KSPPREONLY, .pc = PCSPARSEDIRECT, .n = s->n, .context = s, .precondition = divide_by_direct, .A = a};
  PetscFunctionBegin;
  if (solver) {
    PetscCall(linear_solver_set(solver, &system));
    PetscCall(linear_solver_solve(solver, b, x, NULL));
  } else PetscCall(sparse_direct_solve(s, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_direct_solve_many(sparse_direct *s, int64_t n_vectors, double *b, double *x)
{
  Mat      from = NULL, to = NULL;
  PetscInt n, m;
  PetscFunctionBegin;
  PetscCall(PetscIntCast(s->n, &n));
  PetscCall(PetscIntCast(n_vectors, &m));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, m, b, &from));
  PetscErrorCode code = MatCreateSeqDense(PETSC_COMM_SELF, n, m, x, &to);
  if (!code) code = MatMatSolve(s->factor, from, to);
  if (!code && to) { /* a package may have put its own array in the place of ours */
    const double *array;
    PetscCall(MatDenseGetArrayRead(to, &array));
    if (array != x) memcpy(x, array, (size_t)(n_vectors * s->n) * sizeof *x);
    PetscCall(MatDenseRestoreArrayRead(to, &array));
  }
  PetscCall(MatDestroy(&to));
  PetscCall(MatDestroy(&from));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_direct_probe(sparse_direct_kind kind)
{
  int64_t           start[] = {0, 1, 2};
  int32_t           col[]   = {0, 1};
  double            value[] = {1.0, 1.0};
  const sparse_rows unit    = {.n_rows = 2, .n_cols = 2, .start = start, .col = col, .value = value};
  sparse_direct    *s;
  bool              is_regular;
  PetscFunctionBegin;
  PetscCall(sparse_direct_create(kind, &unit, &is_regular, &s));
  sparse_direct_destroy(&s);
  PetscFunctionReturn(PETSC_SUCCESS);
}
