/* Factors of block-diagonal matrices: components and their orders, solves with one and three vectors, Gram matrices, and packages, against products with
 * the matrix. The path graph has the half bandwidth 1 in its natural order, whatever the numbers of its unknowns are. */
#include "optim/friction/mass_factor.h"
#include "core/random.h"
#include "test.h"
#include <string.h>

enum { ROOM = 400000 };
typedef struct {
  int64_t n, n_entries;
  int32_t row[ROOM], col[ROOM];
  double  value[ROOM];
} entries;
static entries e;

static double any(uint64_t a, uint64_t b) { return random_range(23, a, b, -1.0, 1.0); }

static void add(int64_t i, int64_t j, double value)
{
  assert_true(e.n_entries + 2 <= ROOM);
  e.row[e.n_entries] = (int32_t)i, e.col[e.n_entries] = (int32_t)j, e.value[e.n_entries++] = value;
  if (i != j) e.row[e.n_entries] = (int32_t)j, e.col[e.n_entries] = (int32_t)i, e.value[e.n_entries++] = value;
}

static void finish(sparse_rows *M)
{
  assert_ok(sparse_rows_from_triplets("M", e.n, e.n, e.n_entries, e.row, e.col, e.value, M));
  e.n = e.n_entries = 0;
}

/* Unknowns number[0 ... n-1] with random couplings of neighbours up to `width`, and a dominant diagonal. */
static void add_band(const int32_t *number, int64_t n, int64_t width)
{
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i > width ? i - width : 0; j < i; ++j) add(number[i], number[j], any((uint64_t)i, (uint64_t)j));
    add(number[i], number[i], 2.0 * (double)width + 1.0 + 0.3 * any((uint64_t)i, 77));
  }
}

enum { N = 1 + 6 + 40 + 60 };
/* A single unknown, a dense block, a band, and a path, all with scrambled numbers; number [N] of the unknowns in this order. */
static void scrambled(int32_t number[N], sparse_rows *M)
{
  for (int i = 0; i < N; ++i) number[i] = i;
  for (int i = N - 1; i > 0; --i) {
    const int     j    = (int)random_index(31, (uint64_t)i, 1, (uint64_t)i + 1);
    const int32_t swap = number[i];
    number[i] = number[j], number[j] = swap;
  }
  e.n = N;
  add(number[0], number[0], 4.0);
  add_band(number + 1, 6, 5);
  add_band(number + 7, 40, 7);
  add_band(number + 47, 60, 1);
  finish(M);
}

/* y_c = M_c x for the places of component c; m vectors side by side. */
static void product(const sparse_rows *M, const mass_factor *f, int64_t c, int m, const double *x, double *y)
{
  const int64_t  first = mass_factor_start(f)[c], end = mass_factor_start(f)[c + 1];
  const int32_t *dof = mass_factor_dof(f), *place = mass_factor_place(f);
  for (int64_t at = first; at < end; ++at)
    for (int v = 0; v < m; ++v) {
      double *sum = y + (at - first) * m + v;
      *sum        = 0.0;
      for (int64_t k = M->start[dof[at]]; k < M->start[dof[at] + 1]; ++k) *sum += M->value[k] * x[(place[M->col[k]] - first) * m + v];
    }
}

static void components_are_found_and_narrowed(void **state)
{
  int32_t      number[N], component[N];
  sparse_rows  M;
  mass_factor *f;
  bool         is_wanted = true;
  (void)state;
  scrambled(number, &M);
  assert_ok(mass_factor_create(&M, &f));
  assert_int_equal(mass_factor_n_components(f), 4);
  const int64_t *start = mass_factor_start(f);
  for (int64_t c = 0; c < 4; ++c)
    for (int64_t at = start[c]; at < start[c + 1]; ++at) {
      component[mass_factor_dof(f)[at]] = (int32_t)c;
      assert_int_equal(mass_factor_place(f)[mass_factor_dof(f)[at]], at);
    }
  assert_int_equal(start[0], 0);
  assert_int_equal(start[4], N);
  const int end[4] = {1, 7, 47, N}, width_most[4] = {0, 5, 12, 1};
  double    work_most = 0.0, work_least = 0.0;
  for (int k = 0; k < 4; ++k) {
    const int     from = k ? end[k - 1] : 0;
    const int64_t c    = component[number[from]];
    assert_int_equal(start[c + 1] - start[c], end[k] - from);
    for (int i = from; i < end[k]; ++i) assert_int_equal(component[number[i]], c);
    assert_true(mass_factor_is_threadable(f, c));
    work_most += (end[k] - from) * (2.0 * width_most[k] + 1.0);
    work_least += (end[k] - from) * (2.0 * (k == 2 ? 7 : width_most[k]) + 1.0);
  }
  /* the path has its own width, the band at least its own; breadth-first levels of a band of width 7 have at most 2 x 7 unknowns */
  assert_true(mass_factor_work(f) >= work_least && mass_factor_work(f) <= work_most + 40 * 4);
  assert_ok(mass_factor_needs_package(&M, &is_wanted));
  assert_false(is_wanted);
  mass_factor_destroy(&f);
  sparse_rows_destroy(&M);
  assert_no_leak();
}

static void solves_and_gram_matrices(void **state)
{
  int32_t      number[N];
  sparse_rows  M;
  mass_factor *f;
  double       b[3 * N], x[3 * N], y[3 * N];
  (void)state;
  scrambled(number, &M);
  assert_ok(mass_factor_create(&M, &f));
  for (int64_t c = 0; c < mass_factor_n_components(f); ++c) {
    const int64_t n = mass_factor_start(f)[c + 1] - mass_factor_start(f)[c];
    for (int m = 1; m <= 3; m += 2) {
      for (int64_t i = 0; i < n * m; ++i) b[i] = x[i] = any((uint64_t)i, 100 + (uint64_t)c);
      mass_factor_solve_component(f, c, m, x);
      product(&M, f, c, m, x, y);
      for (int64_t i = 0; i < n * m; ++i) assert_close(y[i], b[i], 1e-14);
    }
    for (int64_t low = 0; low < n; low += n / 3 + 1) { /* y^T M^-1 y, added to the existing values */
      double gram[9];
      for (int64_t i = 0; i < 3 * n; ++i) b[i] = x[i] = y[i] = i < 3 * low ? 0.0 : any((uint64_t)i, 200 + (uint64_t)c);
      mass_factor_solve_component(f, c, 3, x);
      for (int k = 0; k < 9; ++k) gram[k] = k + 1.0;
      mass_factor_gram(f, c, low, y, gram);
      for (int k = 0; k < 9; ++k) {
        double sum = k + 1.0;
        for (int64_t i = 0; i < n; ++i) sum += b[3 * i + k / 3] * x[3 * i + k % 3];
        assert_close(gram[k], sum, 1e-13);
      }
    }
  }
  for (int i = 0; i < N; ++i) b[i] = x[i] = any((uint64_t)i, 300);
  mass_factor_solve_places(f, x);
  for (int64_t c = 0; c < mass_factor_n_components(f); ++c) product(&M, f, c, 1, x + mass_factor_start(f)[c], y + mass_factor_start(f)[c]);
  for (int i = 0; i < N; ++i) assert_close(y[i], b[i], 1e-14);
  mass_factor_destroy(&f);
  sparse_rows_destroy(&M);
  assert_no_leak();
}

/* A square grid is wide in every order, a dense block of 300 unknowns too; one of 64 is not worth a package. Many vectors at a time. */
static void wide_components_need_a_package(void **state)
{
  enum { SIDE = 72, SIZE = SIDE * SIDE, VECTORS = 4, DENSE = 300 };
  static double b[VECTORS * SIZE], x[VECTORS * SIZE], y[3 * SIZE];
  int32_t       number[DENSE];
  sparse_rows   M;
  mass_factor  *f;
  bool          is_wanted = false;
  (void)state;
  e.n = SIZE;
  for (int i = 0; i < SIZE; ++i) {
    add(i, i, 4.1);
    if (i % SIDE) add(i, i - 1, -1.0);
    if (i >= SIDE) add(i, i - SIDE, -1.0);
  }
  finish(&M);
  assert_ok(mass_factor_needs_package(&M, &is_wanted));
  assert_true(is_wanted);
  assert_ok(mass_factor_create(&M, &f));
  assert_int_equal(mass_factor_n_components(f), 1);
  assert_false(mass_factor_is_threadable(f, 0));
  for (int i = 0; i < VECTORS * SIZE; ++i) b[i] = any((uint64_t)i, 400), x[i] = NAN;
  assert_ok(mass_factor_solve_many(f, 0, VECTORS, b, x));
  for (int v = 0; v < VECTORS; ++v) {
    product(&M, f, 0, 1, x + v * SIZE, y);
    for (int i = 0; i < SIZE; ++i) assert_close(y[i], any((uint64_t)(v * SIZE + i), 400), 1e-11);
  }
  for (int i = 0; i < 3 * SIZE; ++i) b[i] = x[i] = any((uint64_t)i, 500);
  mass_factor_solve_component(f, 0, 3, x);
  product(&M, f, 0, 3, x, y);
  for (int i = 0; i < 3 * SIZE; ++i) assert_close(y[i], b[i], 1e-11);
  mass_factor_destroy(&f);
  sparse_rows_destroy(&M);
  for (int i = 0; i < DENSE; ++i) number[i] = i;
  for (int n = 65; n <= DENSE; n += DENSE - 65) {
    e.n = n;
    add_band(number, n, n - 1);
    finish(&M);
    assert_ok(mass_factor_needs_package(&M, &is_wanted));
    assert_int_equal(is_wanted, n == DENSE);
    sparse_rows_destroy(&M);
  }
  assert_no_leak();
}

/* Zeros couple only where the values may change. Other values in the same pattern; matrices that are not positive definite. */
static void zeros_couple_in_patterns_only(void **state)
{
  sparse_rows  M;
  mass_factor *f;
  bool         is_definite;
  double       x[2];
  (void)state;
  e.n = 2;
  add(0, 0, 2.0), add(1, 0, 0.0), add(1, 1, 3.0);
  finish(&M);
  assert_ok(mass_factor_create(&M, &f));
  assert_int_equal(mass_factor_n_components(f), 2);
  mass_factor_destroy(&f);
  assert_ok(mass_factor_create_pattern(&M, &f));
  assert_int_equal(mass_factor_n_components(f), 1);
  for (int k = 0; k < 3; ++k) { /* [2 c; c 3]: definite up to c^2 = 6 */
    const double c = k == 0 ? 2.0 : k == 1 ? 2.5 : -1.0;
    M.value[1] = M.value[2] = c;
    assert_ok(mass_factor_refactor(f, &M, &is_definite));
    assert_int_equal(is_definite, k != 1);
    x[0] = 1.0, x[1] = -2.0;
    mass_factor_solve_places(f, x);
    if (!is_definite) continue;
    assert_close(2.0 * x[0] + c * x[1], 1.0, 1e-15);
    assert_close(c * x[0] + 3.0 * x[1], -2.0, 1e-15);
  }
  mass_factor_destroy(&f);
  M.value[1] = M.value[2] = 2.5;
  assert_int_equal(mass_factor_create(&M, &f), PETSC_ERR_MAT_CH_ZRPVT);
  assert_non_null(strstr(error_message(), "the pivot of row 1 is not above zero"));
  error_clear();
  assert_null(f);
  M.n_cols = 3;
  assert_int_equal(mass_factor_create(&M, &f), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "has 2 rows and 3 columns"));
  error_clear();
  sparse_rows_destroy(&M);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(components_are_found_and_narrowed), cmocka_unit_test(solves_and_gram_matrices),
          cmocka_unit_test(wide_components_need_a_package), cmocka_unit_test(zeros_couple_in_patterns_only))
