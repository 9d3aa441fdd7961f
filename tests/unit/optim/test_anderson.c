/* Anderson's acceleration: exact for linear iterations, plain iteration without memory, equal bits on any team. */
#include "optim/friction/anderson.h"
#include "core/memory.h"
#include "core/team.h"
#include "test.h"
#include <string.h>

/* x <- D x + c with D diagonal: for as many points as there are different numbers in D the combination is exact. */
static void anderson_solves_linear_iterations(void **state)
{
  static const int n[] = {60, 191, 1535, 1536, 5003}; /* more than 1535 numbers in parallel, in chunks */
  (void)state;
  for (size_t k = 0; k < sizeof n / sizeof *n; ++k) {
    anderson a;
    double  *x, *g, *weight, error = 0.0;
    assert_ok(MEMORY_ALLOC("test", ARRAY(x, n[k]), ARRAY(g, n[k]), ARRAY(weight, n[k])));
    assert_ok(anderson_create(n[k], 6, &a));
    for (int i = 0; i < n[k]; ++i) weight[i] = 1.0 + i % 3;
    for (int step = 0; step < 7; ++step) {
      for (int i = 0; i < n[k]; ++i) g[i] = (0.9 - 0.15 * (i * 5 / n[k])) * x[i] + i % 60; /* another factor in other chunks */
      anderson_step(&a, x, g, weight, x);
    }
    for (int i = 0; i < n[k]; ++i) error = fmax(error, fabs(x[i] - i % 60 / (1.0 - (0.9 - 0.15 * (i * 5 / n[k])))));
    assert_close(error, 0.0, 1e-8 * 600.0); /* plain iteration would have an error of 0.9^7 * 600 */
    anderson_destroy(&a);
    MEMORY_FREE(&x, &g, &weight);
  }
  assert_no_leak();
}

/* With one difference the next point is g1 - theta (g1 - g0), and theta minimises the weighted norm of f1 - theta (f1 - f0). */
static void the_residual_has_the_smallest_norm(void **state)
{
  enum { N = 21 }; /* with a remainder after blocks of eight */
  anderson a;
  double   x[2][N], g[2][N], weight[N], next[N], above = 0.0, below = 0.0;
  (void)state;
  for (int i = 0; i < N; ++i) {
    weight[i] = 1.0 + i % 4, x[0][i] = sin(i), g[0][i] = x[0][i] + cos(3 * i);
    x[1][i] = g[0][i], g[1][i] = x[1][i] + 0.5 * cos(3 * i) + 0.2 * sin(5 * i);
    const double f = g[1][i] - x[1][i], df = f - (g[0][i] - x[0][i]);
    above += weight[i] * f * df, below += weight[i] * df * df;
  }
  assert_ok(anderson_create(N, 1, &a));
  for (int k = 0; k < 2; ++k) anderson_step(&a, x[k], g[k], weight, next);
  for (int i = 0; i < N; ++i) assert_close(next[i], g[1][i] - above / below * (g[1][i] - g[0][i]), 1e-11);
  anderson_destroy(&a);
  assert_no_leak();
}

/* Without memory and after a reset the next point is g. */
static void first_and_memoryless_steps_are_plain(void **state)
{
  enum { N = 5 };
  anderson     a;
  const double weight[N] = {1, 1, 1, 1, 1}, x[N] = {0, 1, 2, 3, 4}, g[N] = {5, -1, 2, 7, 0.5};
  double       next[N];
  (void)state;
  for (int memory = 0; memory <= 2; memory += 2) {
    assert_ok(anderson_create(N, memory, &a));
    for (int k = 0; k < 3; ++k) {
      if (memory) anderson_reset(&a);
      anderson_step(&a, x, g, weight, next);
      assert_memory_equal(next, g, sizeof g);
    }
    anderson_destroy(&a);
  }
}

static void run_iteration(int n, const double *weight, double *x)
{
  anderson a;
  double  *g;
  assert_ok(memory_alloc("g", n, sizeof *g, &g));
  assert_ok(anderson_create(n, 4, &a));
  for (int step = 0; step < 6; ++step) {
    for (int i = 0; i < n; ++i) g[i] = 0.5 * cos(x[i]) + 0.3 * x[(i + 1) % n];
    anderson_step(&a, x, g, weight, x);
  }
  anderson_destroy(&a);
  memory_free(&g);
}

static void equal_bits_on_any_team(void **state)
{
  enum { N = 100000 };
  double *x[2], *weight;
  (void)state;
  assert_ok(memory_alloc("weight", N, sizeof *weight, &weight));
  for (int i = 0; i < N; ++i) weight[i] = 1.0 + i % 7;
  for (int k = 0; k < 2; ++k) {
    assert_ok(memory_alloc("x", N, sizeof **x, &x[k]));
    team_set_threads(k ? 3 : 1);
    run_iteration(N, weight, x[k]);
  }
  team_set_threads(1);
  assert_memory_equal(x[0], x[1], N * sizeof **x);
  for (int k = 0; k < 2; ++k) memory_free(&x[k]);
  memory_free(&weight);
}

TEST_MAIN(cmocka_unit_test(anderson_solves_linear_iterations), cmocka_unit_test(the_residual_has_the_smallest_norm),
          cmocka_unit_test(first_and_memoryless_steps_are_plain), cmocka_unit_test(equal_bits_on_any_team))
