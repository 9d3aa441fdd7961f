#include "optim/linear/mat_block3.h"
#include "optim/linear/mat_row_scaled.h"
#include "optim/linear/pc_block_diagonal.h"
#include "optim/linear/pc_metis_schwarz.h"
#include "optim/newton/snes_stabilized.h"
#include "optim_lattice.h"
#include <float.h>
#include <string.h>

static double difference(Vec a, Vec b) /* a is lost */
{
  double d;
  assert_ok(VecAXPY(a, -1.0, b));
  assert_ok(VecNorm(a, NORM_INFINITY, &d));
  return d;
}

/* Entries from 10^-3 to 10^3, as masses of grid nodes have. */
static Vec uneven(Mat A)
{
  Vec     v;
  double *a;
  assert_ok(MatCreateVecs(A, &v, NULL));
  assert_ok(lattice_random(v, 77));
  assert_ok(VecScale(v, 3.0 * log(10.0)));
  assert_ok(VecGetArray(v, &a));
  for (PetscInt i = 0; i < 3 * 6 * 6 * 6; ++i) a[i] = exp(a[i]);
  assert_ok(VecRestoreArray(v, &a));
  return v;
}

/* A shell around a block3 matrix that provides its diagonal blocks, as matrix-free bodies do. */
static PetscErrorCode shell_mult(Mat S, Vec x, Vec y)
{
  Mat *A;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(*A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode shell_mult_transpose(Mat S, Vec x, Vec y)
{
  Mat *A;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMultTranspose(*A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode shell_blocks(Mat S, PetscScalar *d)
{
  Mat *A;
  PetscErrorCode (*get)(Mat, PetscScalar *);
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(PetscObjectQueryFunction((PetscObject)*A, SS_MAT_GET_BLOCK_DIAGONAL3, &get));
  PetscCall((*get)(*A, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static Mat shell_around(Mat *A)
{
  Mat      S;
  PetscInt n;
  assert_ok(MatGetSize(*A, &n, NULL));
  assert_ok(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, A, &S));
  assert_ok(MatShellSetOperation(S, MATOP_MULT, (void (*)(void))shell_mult));
  assert_ok(MatShellSetOperation(S, MATOP_MULT_TRANSPOSE, (void (*)(void))shell_mult_transpose));
  assert_ok(PetscObjectComposeFunction((PetscObject)S, SS_MAT_GET_BLOCK_DIAGONAL3, shell_blocks));
  assert_ok(MatShellSetVecType(S, "threaded"));
  return S;
}

/* The shell and the copy are D^-1 A; the copy follows values and pattern. */
static void products(void **state)
{
  Mat             A, B, S, out;
  Vec             x, y, z, dinv;
  double          a, b;
  row_scaled_copy copy = {0};
  (void)state;
  assert_ok(lattice_create(6, 6, 6, 0.5, 0.2, 0.3, &A));
  dinv = uneven(A);
  assert_ok(MatCreateVecs(A, &x, &y));
  assert_ok(VecDuplicate(x, &z));
  assert_ok(lattice_random(x, 1));
  assert_ok(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
  assert_ok(mat_row_scaled_create(A, A, dinv, &S));
  for (int k = 0; k < 4; ++k) { /* block3; new values; AIJ in its place; block3 again */
    Mat pre = k == 2 ? B : A;
    if (k == 1) {
      block3_view v;
      assert_ok(mat_block3_get(A, &v));
      for (int64_t i = 0; i < 9 * v.row_start[v.n]; ++i) v.value[i] *= 2.0;
      assert_ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      assert_ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    assert_ok(mat_row_scaled_for_preconditioner(S, pre, dinv, &copy, &out));
    assert_ptr_equal(out, copy.copy);
    assert_ok(MatMult(pre, x, y));
    assert_ok(VecPointwiseMult(y, dinv, y));
    assert_ok(MatMult(out, x, z));
    assert_close(difference(z, y), 0.0, 1e3 * 100 * DBL_EPSILON);
    if (k == 2) continue;
    assert_ok(MatMult(S, x, z));
    assert_close(difference(z, y), 0.0, 0.0);
  }
  assert_ok(lattice_random(z, 2)); /* z.(S x) = x.(S^T z) */
  assert_ok(MatMult(S, x, y));
  assert_ok(VecDot(z, y, &a));
  assert_ok(MatMultTranspose(S, z, y));
  assert_ok(VecDot(x, y, &b));
  assert_close(a, b, 1e-12 * fabs(a) + 1e-10);
  assert_ok(MatGetDiagonal(S, y));
  assert_ok(MatGetDiagonal(copy.copy, z));
  assert_close(difference(z, y), 0.0, 0.0);
  assert_ok(MatDestroy(&A));
  assert_ok(MatDestroy(&B));
  assert_ok(MatDestroy(&S));
  assert_ok(MatDestroy(&copy.copy));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&y));
  assert_ok(VecDestroy(&z));
  assert_ok(VecDestroy(&dinv));
  assert_no_leak();
}

static PetscErrorCode linear_residual(SNES snes, Vec z, Vec g, void *ctx)
{
  Mat *A = ctx;
  Vec  b;
  PetscFunctionBegin;
  (void)snes;
  PetscCall(MatMult(A[0], z, g));
  PetscCall(VecDuplicate(z, &b));
  PetscCall(lattice_random(b, 4));
  if (A[1]) PetscCall(VecPointwiseMult(b, b, (Vec)(void *)A[1]));
  PetscCall(VecAXPY(g, -1.0, b));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode linear_tangent(SNES snes, Vec z, Mat A, Mat P, void *ctx)
{
  (void)snes, (void)z, (void)A, (void)P, (void)ctx;
  return PETSC_SUCCESS;
}

static void solve(Mat J, Mat P, Mat A, Vec scale_b, Vec dinv, const char *pc, Vec *z, SNESStabilizedStatistics *s)
{
  SNES snes;
  Mat  ctx[2] = {A, (Mat)(void *)scale_b};
  assert_ok(PetscOptionsSetValue(NULL, "-pc_type", pc));
  /* ten iterations: where GMRES stagnates, without blocks, the difference by rounding doubles with each */
  assert_ok(PetscOptionsInsertString(NULL, "-snes_type stabilized -snes_atol 1e-7 -snes_max_it 10 -snes_stabilized_eta 1e-3 "
                                           "-pc_metisschwarz_parts 3"));
  assert_ok(MatCreateVecs(A, z, NULL));
  assert_ok(SNESCreate(PETSC_COMM_SELF, &snes));
  assert_ok(SNESSetFunction(snes, NULL, linear_residual, ctx));
  assert_ok(SNESSetJacobian(snes, J, P, linear_tangent, NULL));
  assert_ok(SNESSetFromOptions(snes));
  if (dinv) assert_ok(SNESStabilizedSetScaling(snes, dinv));
  assert_ok(SNESSolve(snes, NULL, *z));
  assert_ok(SNESStabilizedGetStatistics(snes, s));
  assert_ok(SNESDestroy(&snes));
  assert_ok(PetscOptionsClear(NULL));
}

/* The scaled solve of (g, H) is the plain solve of (D^-1 g, D^-1 H): same iterations, same result, for every kind of Pmat. */
static void scaled_solve_is_solve_of_scaled(void **state)
{
  const char *types[] = {PCNONE, PCJACOBI, PCBLOCKDIAGONAL, PCMETISSCHWARZ, PCILU, PCBLOCKDIAGONAL};
  Mat         A, DA, B, DB, shell, dshell;
  Vec         dinv;
  (void)state;
  assert_ok(lattice_create(6, 6, 6, 3.0, 0.2, 0.3, &A));
  dinv = uneven(A);
  assert_ok(MatDuplicate(A, MAT_COPY_VALUES, &DA));
  assert_ok(MatDiagonalScale(DA, dinv, NULL));
  assert_ok(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
  assert_ok(MatConvert(DA, MATSEQAIJ, MAT_INITIAL_MATRIX, &DB));
  shell  = shell_around(&A);
  dshell = shell_around(&DA);
  for (int k = 0; k < 6; ++k) {
    SNESStabilizedStatistics s, t;
    Vec                      z, w;
    Mat                      P = k == 4 ? B : k == 5 ? shell : A, DP = k == 4 ? DB : k == 5 ? dshell : DA;
    solve(k == 5 ? shell : A, P, A, NULL, dinv, types[k], &z, &s);
    solve(k == 5 ? dshell : DA, DP, DA, dinv, NULL, types[k], &w, &t);
    assert_int_equal(s.n_linear, t.n_linear);
    assert_int_equal(s.n_newton, t.n_newton);
    assert_close(s.norm, t.norm, 1e-12 + 1e-6 * t.norm);
    assert_true(s.norm < 1e-7 || k < 2); /* without blocks 10 x 20 iterations may not do */
    if (s.norm < 1e-7) assert_close(difference(z, w), 0.0, 1e-7);
    assert_true(s.norm_unscaled != s.norm);
    assert_ok(VecDestroy(&z));
    assert_ok(VecDestroy(&w));
  }
  Mat *all[] = {&A, &DA, &B, &DB, &shell, &dshell};
  for (int k = 0; k < 6; ++k) assert_ok(MatDestroy(all[k]));
  assert_ok(VecDestroy(&dinv));
  assert_no_leak();
}

/* H = M alone: D^-1 M preconditioned by its own blocks is the identity, so one GMRES iteration for any D and M. */
static void block_diagonal_sees_the_scaled_operator(void **state)
{
  Mat                      M;
  Vec                      dinv, z;
  SNESStabilizedStatistics s;
  (void)state;
  assert_ok(lattice_create(6, 6, 6, 0.0, 0.0, 0.0, &M));
  block3_view v;
  assert_ok(mat_block3_get(M, &v));
  assert_ok(MatZeroEntries(M));
  for (int64_t i = 0; i < v.n; ++i)
    for (int e = 0; e < 9; ++e) v.value[9 * v.diagonal[i] + e] = (e % 4 == 0) + 0.1 * random_range(1, (uint64_t)(9 * i + e), 0, -1, 1);
  dinv = uneven(M);
  assert_ok(MatDiagonalScale(M, NULL, dinv));
  solve(M, M, M, NULL, dinv, PCBLOCKDIAGONAL, &z, &s);
  assert_int_equal(s.n_newton, 1);
  assert_int_equal(s.n_linear, 1);
  assert_close(s.norm, 0.0, 1e-9);
  assert_ok(MatDestroy(&M));
  assert_ok(VecDestroy(&z));
  assert_ok(VecDestroy(&dinv));
  assert_no_leak();
}

static void registers(void **state)
{
  (void)state;
  void (*create)(void) = NULL;
  assert_ok(PetscFunctionListFind(PCList, PCBLOCKDIAGONAL, &create));
  assert_true(create == NULL);
  assert_ok(optim_register_all());
  assert_ok(PetscFunctionListFind(PCList, PCBLOCKDIAGONAL, &create));
  assert_true(create != NULL);
}

TEST_MAIN(cmocka_unit_test(registers), cmocka_unit_test(products), cmocka_unit_test(scaled_solve_is_solve_of_scaled),
          cmocka_unit_test(block_diagonal_sees_the_scaled_operator))
