/* Sparse matrices against dense ones: unordered and repeated entries, moved or copied; products, sums, and errors. */
#include "core/memory.h"
#include "core/random.h"
#include "core/sparse_rows.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { ROWS = 7, COLS = 9, ENTRIES = 60 };

/* Entries in random places, some of them twice, as arrays of memory_alloc; their sums in dense [ROWS][COLS]. */
static void entries(uint64_t seed, bool is_sorted, int64_t **start, int32_t **col, double **value, double *dense)
{
  int64_t n = 0;
  assert_ok(memory_alloc("start", ROWS + 1, sizeof **start, start));
  assert_ok(memory_alloc("col", ENTRIES, sizeof **col, col));
  assert_ok(memory_alloc("value", ENTRIES, sizeof **value, value));
  memset(dense, 0, ROWS * COLS * sizeof *dense);
  for (int64_t i = 0; i < ROWS; ++i) {
    for (int32_t k = 0; k < 5; ++k) {
      const int32_t j = is_sorted ? 2 * k - (int32_t)(i % 2 && k > 0) : (int32_t)(random_u01(seed, (uint64_t)n, 0) * COLS);
      (*col)[n]       = j;
      (*value)[n]     = random_u01(seed, (uint64_t)n, 1) - 0.5;
      dense[COLS * i + j] += (*value)[n++];
    }
    (*start)[i + 1] = n;
  }
}

static void is_the_same(const sparse_rows *a, int64_t n_rows, int64_t n_cols, const double *dense)
{
  double sum = 0.0;
  assert_int_equal(a->n_rows, n_rows);
  assert_int_equal(a->n_cols, n_cols);
  for (int64_t i = 0; i < n_rows; ++i)
    for (int64_t k = a->start[i]; k < a->start[i + 1]; ++k) {
      assert_true(k == a->start[i] || a->col[k] > a->col[k - 1]);
      assert_close(a->value[k], dense[n_cols * i + a->col[k]], 1e-15);
      sum += fabs(a->value[k]);
    }
  for (int64_t i = 0; i < n_rows * n_cols; ++i) sum -= fabs(dense[i]); /* no other entries */
  assert_close(sum, 0.0, 1e-13);
}

static void rows_are_sorted_and_added(void **state)
{
  (void)state;
  for (int is_sorted = 0; is_sorted < 2; ++is_sorted) {
    int64_t    *start;
    int32_t    *col;
    double     *value, dense[ROWS * COLS];
    sparse_rows copied, taken;
    entries(1, is_sorted, &start, &col, &value, dense);
    assert_ok(sparse_rows_create("a", ROWS, COLS, start, col, value, &copied));
    is_the_same(&copied, ROWS, COLS, dense);
    assert_ptr_not_equal(copied.value, value);
    double *const before = value;
    assert_ok(sparse_rows_adopt("a", ROWS, COLS, start, col, value, &taken));
    is_the_same(&taken, ROWS, COLS, dense);
    assert_true(is_sorted == (taken.value == before)); /* in order, there is nothing to copy */
    sparse_rows_destroy(&copied), sparse_rows_destroy(&taken);
  }
  assert_no_leak();
}

static void products_and_sums(void **state)
{
  int64_t *start;
  int32_t *col;
  double  *value, d[2][ROWS * COLS], product[ROWS * ROWS] = {0}, sum[ROWS * COLS], stacked[2 * ROWS * COLS], turned[COLS * ROWS], x[COLS],
                                                   y[ROWS];
  sparse_rows a[2], t, p;
  (void)state;
  for (int k = 0; k < 2; ++k) {
    entries((uint64_t)(7 + k), false, &start, &col, &value, d[k]);
    assert_ok(sparse_rows_adopt("a", ROWS, COLS, start, col, value, &a[k]));
    memcpy(stacked + ROWS * COLS * k, d[k], sizeof d[k]);
  }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLS; ++j) {
      turned[ROWS * j + i] = d[1][COLS * i + j], sum[COLS * i + j] = 2.0 * d[0][COLS * i + j] - 3.0 * d[1][COLS * i + j];
      for (int k = 0; k < ROWS; ++k) product[ROWS * i + k] += d[0][COLS * i + j] * d[1][COLS * k + j];
    }
  assert_ok(sparse_rows_transposed(&a[1], &t));
  is_the_same(&t, COLS, ROWS, turned);
  assert_ok(sparse_rows_product(&a[0], &t, &p));
  is_the_same(&p, ROWS, ROWS, product);
  sparse_rows_destroy(&p);
  assert_ok(sparse_rows_sum(2.0, &a[0], -3.0, &a[1], &p));
  is_the_same(&p, ROWS, COLS, sum);
  sparse_rows_destroy(&p);
  assert_ok(sparse_rows_stacked(&a[0], &a[1], &p));
  is_the_same(&p, 2 * ROWS, COLS, stacked);
  for (int j = 0; j < COLS; ++j) x[j] = j - 3.5;
  sparse_rows_apply(&a[0], x, y);
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLS; ++j) y[i] -= d[0][COLS * i + j] * x[j];
    assert_close(y[i], 0.0, 1e-14);
  }
  sparse_rows_destroy(&p), sparse_rows_destroy(&t), sparse_rows_destroy(&a[0]), sparse_rows_destroy(&a[1]);
  assert_no_leak();
}

/* By name, and arrays that were handed over are gone. */
static void mistakes(void **state)
{
  static const char *const words[] = {"row starts must not decrease", "expected 0 ... 8", "not a finite number"};
  (void)state;
  for (int which = 0; which < 3; ++which) {
    int64_t    *start;
    int32_t    *col;
    double     *value, dense[ROWS * COLS];
    sparse_rows a;
    entries(3, true, &start, &col, &value, dense);
    if (which == 0) start[3] = 1;
    if (which == 1) col[12] = COLS;
    if (which == 2) value[12] = NAN;
    for (int is_adopted = 0; is_adopted < 2; ++is_adopted) {
      const PetscErrorCode code = is_adopted ? sparse_rows_adopt("a", ROWS, COLS, start, col, value, &a)
                                             : sparse_rows_create("a", ROWS, COLS, start, col, value, &a);
      assert_int_equal(code, PETSC_ERR_USER_INPUT);
      if (!strstr(error_message(), words[which])) fail_msg("\"%s\" does not say \"%s\"", error_message(), words[which]);
      error_clear();
      assert_null(a.value);
    }
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rows_are_sorted_and_added), cmocka_unit_test(products_and_sums), cmocka_unit_test(mistakes))
