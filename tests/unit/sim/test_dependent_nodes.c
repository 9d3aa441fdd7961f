/* The maps R and R^T of dependent nodes, against each other and against hand calculations. */
#include "sim/step/dependent_nodes.h"
#include "core/random.h"
#include "test.h"

enum { N = 6 };
/* 1 depends on 0 and 4 as an extrapolation, 3 on 4. */
static body_dependent_block  entries[] = {{1, 0, 2.0}, {1, 4, -1.0}, {3, 4, 1.0}};
static const dependent_nodes some      = {3, 3, entries};

static void followers_are_sums_of_leaders(void **state)
{
  (void)state;
  double x[3 * N];
  for (int i = 0; i < 3 * N; ++i) x[i] = 1.0 + i;
  dependent_nodes_expand(&some, x);
  for (int k = 0; k < 3; ++k) {
    assert_true(x[3 + k] == 2.0 * (1.0 + k) - (13.0 + k));
    assert_true(x[9 + k] == 13.0 + k);
    assert_true(x[6 + k] == 7.0 + k);
  }
}

static void folding_is_the_transpose(void **state)
{
  (void)state;
  double x[3 * N], y[3 * N], Rx[3 * N], Ry[3 * N], a = 0.0, b = 0.0;
  for (int i = 0; i < 3 * N; ++i) {
    x[i] = Rx[i] = random_range(3, (uint64_t)i, 0, -1.0, 1.0);
    y[i] = Ry[i] = random_range(3, (uint64_t)i, 1, -1.0, 1.0);
  }
  dependent_nodes_expand(&some, Rx);
  dependent_nodes_fold(&some, Ry);
  for (int i = 0; i < 3 * N; ++i) a += Rx[i] * y[i], b += x[i] * Ry[i];
  assert_close(a, b, 1e-15);
}

static void diagonals_take_squares(void **state)
{
  (void)state;
  double d[9 * N];
  for (int i = 0; i < 9 * N; ++i) d[i] = 1.0 + i;
  dependent_nodes_fold_squares(&some, 9, d);
  for (int k = 0; k < 9; ++k) {
    assert_true(d[k] == 1.0 + k + 4.0 * (10.0 + k));
    assert_true(d[36 + k] == 37.0 + k + 10.0 + k + 28.0 + k);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(followers_are_sums_of_leaders), cmocka_unit_test(folding_is_the_transpose),
                                     cmocka_unit_test(diagonals_take_squares)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
