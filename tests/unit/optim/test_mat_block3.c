#include "optim/linear/mat_block3.h"
#include "optim_lattice.h"
#include <float.h>
#include <string.h>

static void vectors_of(Mat A, Vec *x, Vec *y)
{
  VecType type;
  assert_ok(MatCreateVecs(A, x, y));
  assert_ok(VecGetType(*x, &type));
  assert_string_equal(type, "threaded");
  assert_ok(lattice_random(*x, 3));
  assert_ok(lattice_random(*y, 4));
}

static double difference(Vec a, Vec b)
{
  double d;
  assert_ok(VecAXPY(a, -1.0, b));
  assert_ok(VecNorm(a, NORM_INFINITY, &d));
  return d;
}

/* Products and diagonals against PETSc's BAIJ, through MatConvert; rows have at most 27 blocks of size ~ 1. */
static void same_as_baij(void **state)
{
  Mat          A, B;
  Vec          x, y, z;
  const double tolerance = 81 * 20 * DBL_EPSILON;
  (void)state;
  assert_ok(lattice_create(7, 9, 11, 0.5, 0.2, 0.3, &A));
  assert_ok(MatConvert(A, MATSEQBAIJ, MAT_INITIAL_MATRIX, &B));
  vectors_of(A, &x, &y);
  assert_ok(VecDuplicate(y, &z));
  assert_ok(MatMult(A, x, y));
  assert_ok(MatMult(B, x, z));
  assert_close(difference(y, z), 0.0, tolerance);
  assert_ok(MatMultTranspose(A, x, y));
  assert_ok(MatMultTranspose(B, x, z));
  assert_close(difference(y, z), 0.0, tolerance);
  assert_ok(MatGetDiagonal(A, y));
  assert_ok(MatGetDiagonal(B, z));
  assert_close(difference(y, z), 0.0, 0.0);
  assert_ok(lattice_random(z, 9));
  assert_ok(MatDiagonalScale(A, x, z));
  assert_ok(MatDiagonalScale(B, x, z));
  assert_ok(MatMult(A, x, y));
  assert_ok(MatMult(B, x, z));
  assert_close(difference(y, z), 0.0, tolerance);
  assert_ok(MatDestroy(&A));
  assert_ok(MatDestroy(&B));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&y));
  assert_ok(VecDestroy(&z));
  assert_no_leak();
}

static void same_bits_on_any_team(void **state)
{
  const int          n_threads[] = {1, 2, 3, 7};
  Mat                A;
  Vec                x, y;
  const PetscScalar *v;
  double            *first = NULL;
  (void)state;
  assert_ok(lattice_create(12, 13, 14, 0.5, 0.2, 0.3, &A));
  vectors_of(A, &x, &y);
  PetscInt n;
  assert_ok(VecGetLocalSize(y, &n));
  first = malloc(sizeof *first * 2 * (size_t)n);
  for (int t = 0; t < 4; ++t)
    for (int k = 0; k < 2; ++k) {
      team_set_threads(n_threads[t]);
      assert_ok(k ? MatMultTranspose(A, x, y) : MatMult(A, x, y));
      assert_ok(VecGetArrayRead(y, &v));
      if (t == 0) memcpy(first + k * n, v, sizeof *v * (size_t)n);
      else assert_memory_equal(first + k * n, v, sizeof *v * (size_t)n);
      assert_ok(VecRestoreArrayRead(y, &v));
    }
  team_set_threads(0);
  free(first);
  assert_ok(MatDestroy(&A));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&y));
  assert_no_leak();
}

/* Random pairs with repetitions: rows sorted, unique, with diagonal, every pair finds its block again. */
static void pattern_from_pairs(void **state)
{
  enum { ROWS = 97, PAIRS = 1500 };
  int32_t  row[PAIRS], col[PAIRS], *out;
  int64_t *start, slot[PAIRS], n_seen = 0;
  uint8_t  wanted[ROWS][ROWS] = {{0}};
  (void)state;
  for (int k = 0; k < PAIRS; ++k) {
    row[k]                 = (int32_t)random_range(1, (uint64_t)k, 0, 0, ROWS);
    col[k]                 = (int32_t)random_range(1, (uint64_t)k, 1, 0, ROWS);
    wanted[row[k]][col[k]] = 1;
  }
  for (int i = 0; i < ROWS; ++i) wanted[i][i] = 1;
  assert_ok(mat_block3_pattern(ROWS, PAIRS, row, col, &start, &out, slot));
  for (int64_t i = 0; i < ROWS; ++i)
    for (int64_t s = start[i]; s < start[i + 1]; ++s) {
      assert_true(s == start[i] || out[s - 1] < out[s]);
      assert_int_equal(wanted[i][out[s]], 1);
      ++n_seen;
    }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < ROWS; ++j) n_seen -= wanted[i][j];
  assert_int_equal(n_seen, 0);
  for (int k = 0; k < PAIRS; ++k) {
    assert_true(start[row[k]] <= slot[k] && slot[k] < start[row[k] + 1]);
    assert_int_equal(out[slot[k]], col[k]);
  }
  memory_free(&start), memory_free(&out);
  row[7] = ROWS;
  assert_int_not_equal(mat_block3_pattern(ROWS, PAIRS, row, col, &start, &out, slot), 0);
  assert_non_null(strstr(error_message(), "pair 7"));
  error_clear();
  assert_no_leak();
}

static void refuses_bad_rows(void **state)
{
  Mat           A;
  const int64_t start[] = {0, 2, 3}, falling[] = {0, 2, 1};
  const int32_t good[] = {0, 1, 1}, unsorted[] = {1, 0, 1}, outside[] = {0, 2, 1};
  (void)state;
  assert_ok(mat_block3_create(PETSC_COMM_SELF, 2, start, good, NULL, false, &A));
  assert_ok(MatDestroy(&A));
  assert_int_not_equal(mat_block3_create(PETSC_COMM_SELF, 2, start, unsorted, NULL, false, &A), 0);
  error_clear();
  assert_int_not_equal(mat_block3_create(PETSC_COMM_SELF, 2, start, outside, NULL, false, &A), 0);
  error_clear();
  assert_int_not_equal(mat_block3_create(PETSC_COMM_SELF, 2, falling, good, NULL, false, &A), 0);
  error_clear();
  assert_no_leak();
}

static void behaves_as_a_mat(void **state)
{
  Mat           A, B, C;
  Vec           x, y;
  double        value[27], *values;
  const int64_t start[] = {0, 2, 3};
  const int32_t col[]   = {0, 1, 1};
  PetscViewer   viewer;
  char          text[4000] = "";
  (void)state;
  for (int k = 0; k < 27; ++k) value[k] = k + 1.0;
  assert_ok(mat_block3_create(PETSC_COMM_SELF, 2, start, col, value, true, &A)); /* in place */
  assert_ok(MatDuplicate(A, MAT_COPY_VALUES, &B));
  assert_ok(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &C));
  assert_ok(mat_block3_values(C, &values));
  for (int k = 0; k < 27; ++k) assert_close(values[k], 0.0, 0.0);
  assert_ok(MatZeroEntries(A));
  assert_close(value[26], 0.0, 0.0);
  assert_ok(mat_block3_values(B, &values));
  for (int k = 0; k < 27; ++k) assert_close(values[k], k + 1.0, 0.0);
  assert_ok(MatCopy(B, A, SAME_NONZERO_PATTERN));
  assert_close(value[26], 27.0, 0.0);
  /* another pattern */
  const int64_t other_start[] = {0, 1, 2};
  assert_ok(MatDestroy(&C));
  assert_ok(mat_block3_create(PETSC_COMM_SELF, 2, other_start, col, NULL, false, &C));
  assert_int_not_equal(MatCopy(B, C, SAME_NONZERO_PATTERN), 0);
  assert_non_null(strstr(error_message(), "only between a matrix and its duplicates"));
  error_clear();
  assert_ok(PetscViewerStringOpen(PETSC_COMM_SELF, text, sizeof text, &viewer));
  assert_ok(MatView(B, viewer));
  assert_ok(PetscViewerDestroy(&viewer));
  assert_ok(MatCreateVecs(A, &x, &y));
  assert_ok(MatDestroy(&A));
  assert_ok(MatDestroy(&B));
  assert_ok(MatDestroy(&C));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&y));
  assert_no_leak();
}

/* PETSc's direct solver by way of MatConvert. */
static void solves_with_mumps(void **state)
{
  Mat A, B;
  Vec x, y, z;
  KSP ksp;
  PC  pc;
  (void)state;
  assert_ok(lattice_create(5, 5, 5, 0.5, 0.2, 0.3, &A));
  assert_ok(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
  vectors_of(A, &x, &y);
  assert_ok(VecDuplicate(x, &z));
  assert_ok(MatMult(A, x, y));
  assert_ok(KSPCreate(PETSC_COMM_SELF, &ksp));
  assert_ok(KSPSetOperators(ksp, B, B));
  assert_ok(KSPSetType(ksp, KSPPREONLY));
  assert_ok(KSPGetPC(ksp, &pc));
  assert_ok(PCSetType(pc, PCLU));
  assert_ok(PCFactorSetMatSolverType(pc, MATSOLVERMUMPS));
  assert_ok(KSPSolve(ksp, y, z));
  assert_close(difference(z, x), 0.0, 1e-10);
  assert_ok(KSPDestroy(&ksp));
  assert_ok(MatDestroy(&A));
  assert_ok(MatDestroy(&B));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&y));
  assert_ok(VecDestroy(&z));
  assert_no_leak();
}

static void registers(void **state)
{
  (void)state;
  void (*create)(void) = NULL;
  assert_ok(PetscFunctionListFind(MatList, MATBLOCK3, &create));
  assert_true(create == NULL);
  assert_ok(optim_register_all());
  assert_ok(PetscFunctionListFind(MatList, MATBLOCK3, &create));
  assert_true(create != NULL);
}

TEST_MAIN(cmocka_unit_test(registers), cmocka_unit_test(same_as_baij), cmocka_unit_test(same_bits_on_any_team),
          cmocka_unit_test(pattern_from_pairs), cmocka_unit_test(refuses_bad_rows), cmocka_unit_test(behaves_as_a_mat),
          cmocka_unit_test(solves_with_mumps))
