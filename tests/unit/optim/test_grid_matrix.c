#include "box_fixture.h"

/* A row of 1 x 3 x 4 cells, periodic along z, gradients with fractions in them: G diag(w) G^T by products of sparse matrices. */
static void is_the_product_of_its_factors(void **state)
{
  enum { NY = 3, NZ = 4, N = NY * NZ, FACES = N + (NY + 1) * NZ };
  int32_t     row[2 * FACES], col[2 * FACES], ijk[N][3];
  double      value[2 * FACES], weight[FACES], x[N], y[N], z[N];
  int64_t     n = 0;
  sparse_rows G, GT, W, A;
  grid_matrix a;
  (void)state;
  for (int j = 0; j < NY; ++j)
    for (int k = 0; k < NZ; ++k) memcpy(ijk[j * NZ + k], (const int32_t[]){0, j, k}, sizeof ijk[0]);
  for (int f = 0; f < FACES; ++f) weight[f] = random_range(1, (uint64_t)f, 0, 0.1, 2);
  for (int i = 0; i < N; ++i) { /* z-faces, wrapped */
    const int j = i / NZ, k = i % NZ;
    row[n] = i, col[n] = i, value[n++] = random_range(2, (uint64_t)i, 0, 0.5, 1);
    row[n] = j * NZ + (k + NZ - 1) % NZ, col[n] = i, value[n++] = -random_range(3, (uint64_t)i, 0, 0.5, 1);
  }
  for (int j = 0; j <= NY; ++j)
    for (int k = 0; k < NZ; ++k) { /* y-faces, open at both ends */
      const int f = N + j * NZ + k;
      if (j < NY) row[n] = j * NZ + k, col[n] = f, value[n++] = random_range(4, (uint64_t)f, 0, 0.5, 1);
      if (j > 0) row[n] = (j - 1) * NZ + k, col[n] = f, value[n++] = -random_range(5, (uint64_t)f, 0, 0.5, 1);
    }
  assert_ok(sparse_rows_from_triplets("G", N, FACES, n, row, col, value, &G));
  assert_ok(sparse_rows_transposed(&G, &GT));
  assert_ok(sparse_rows_sum(1.0, &GT, 0.0, &GT, &W));
  for (int64_t f = 0; f < FACES; ++f)
    for (int64_t k = W.start[f]; k < W.start[f + 1]; ++k) W.value[k] *= weight[f];
  assert_ok(sparse_rows_product(&G, &W, &A));
  assert_ok(grid_matrix_create(&G, &GT, weight, (const int32_t(*)[3])ijk, &a));
  for (int i = 0; i < N; ++i) x[i] = random_range(6, (uint64_t)i, 0, -1, 1);
  sparse_rows_apply(&A, x, y);
  grid_matrix_apply(&a, x, z);
  for (int i = 0; i < N; ++i) {
    assert_close(y[i], z[i], 1e-14);
    for (int s = 0; s < 6; ++s) {
      const int32_t j = a.neighbor[i][s];
      if (j >= 0) assert_true(a.neighbor[j][s ^ 1] == i && a.off[j][s ^ 1] == a.off[i][s] && a.off[i][s] < 0.0);
    }
  }
  /* cells that are no neighbours */
  grid_matrix_destroy(&a);
  ijk[3][1] = 5;
  assert_int_equal(grid_matrix_create(&G, &GT, weight, (const int32_t(*)[3])ijk, &a), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "not neighbours on the grid"));
  error_clear();
  assert_int_equal(a.n, 0);
  sparse_rows_destroy(&G), sparse_rows_destroy(&GT), sparse_rows_destroy(&W), sparse_rows_destroy(&A);
  assert_no_leak();
}

static void bits_do_not_depend_on_threads(void **state)
{
  grid_matrix a;
  double     *x, *y, *first;
  (void)state;
  lattice_fill(23, 24, 25, 1, true, true, NULL, &a);
  assert_ok(memory_alloc("test", a.n, sizeof *x, &x));
  assert_ok(memory_alloc("test", a.n, sizeof *y, &y));
  assert_ok(memory_alloc("test", a.n, sizeof *first, &first));
  for (int64_t i = 0; i < a.n; ++i) x[i] = random_range(1, (uint64_t)i, 0, -1, 1);
  for (int threads = 1; threads <= 3; ++threads) {
    team_set_threads(threads);
    grid_matrix_apply(&a, x, threads == 1 ? first : y);
    if (threads > 1) assert_int_equal(memcmp(first, y, (size_t)a.n * sizeof *x), 0);
  }
  team_set_threads(0);
  grid_matrix_destroy(&a);
  memory_free(&x), memory_free(&y), memory_free(&first);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(is_the_product_of_its_factors), cmocka_unit_test(bits_do_not_depend_on_threads))
