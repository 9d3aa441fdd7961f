#define _GNU_SOURCE /* sched_getaffinity */
/* core/team: sums are right to round-off and the same, bit for bit, on any number of threads. */
#include "core/random.h"
#include "core/team.h"
#include "test.h"
#include <float.h>
#include <omp.h>
#include <sched.h>
#include <string.h>

static const int64_t SIZES[] = {0, 1, 31, 32, 33, 4095, 4096, 4097, 16384, 200003};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES, N_MAX = 200003 };

static double *random_vector(uint64_t stream)
{
  double *x;
  assert_ok(memory_alloc("x", N_MAX, sizeof *x, &x));
  for (int64_t i = 0; i < N_MAX; ++i) x[i] = random_normal(7, (uint64_t)i, stream);
  return x;
}

/* n terms of size 1, each added at most n / 32 + 5 + n / 4096 times: far below n eps sum|x y|. */
static void test_sums_match_long_double(void **state)
{
  (void)state;
  double *x = random_vector(0), *y = random_vector(1);
  for (int k = 0; k < N_SIZES; ++k) {
    long double sum = 0.0L, dot = 0.0L, scale = 0.0L, sum_abs = 0.0L;
    for (int64_t i = 0; i < SIZES[k]; ++i) {
      sum += x[i], dot += (long double)x[i] * y[i];
      scale += fabsl((long double)x[i] * y[i]), sum_abs += fabs(x[i]);
    }
    const double depth = (double)(SIZES[k] / 4096 + 4096 / 32 + 40);
    assert_close(team_sum(SIZES[k], x), (double)sum, depth * DBL_EPSILON * (double)sum_abs);
    assert_close(team_dot(SIZES[k], x, y), (double)dot, depth * DBL_EPSILON * (double)scale);
  }
  memory_free(&x), memory_free(&y);
  assert_no_leak();
}

static void test_mdot_equals_dots(void **state)
{
  (void)state;
  double *x[5], *y = random_vector(9), out[5];
  for (int k = 0; k < 5; ++k) x[k] = random_vector((uint64_t)k);
  for (int s = 0; s < N_SIZES; ++s) {
    team_mdot(SIZES[s], 5, (const double *const *)x, y, out);
    for (int k = 0; k < 5; ++k) {
      const double dot = team_dot(SIZES[s], x[k], y);
      assert_memory_equal(&out[k], &dot, sizeof dot);
    }
  }
  for (int k = 0; k < 5; ++k) memory_free(&x[k]);
  memory_free(&y);
  assert_no_leak();
}

typedef struct {
  double sum, dot, max, apart, mdot[3];
} sums;
static void all_sums(int64_t n, double *const *x, sums *out)
{
  memset(out, 0, sizeof *out);
  out->sum   = team_sum(n, x[0]);
  out->dot   = team_dot(n, x[0], x[1]);
  out->max   = team_max_abs(n, x[0]);
  out->apart = team_max_difference(n, x[0], x[1]);
  team_mdot(n, 3, (const double *const *)x, x[2], out->mdot);
}

static void test_bits_do_not_depend_on_threads(void **state)
{
  (void)state;
  double *x[3];
  for (int k = 0; k < 3; ++k) x[k] = random_vector((uint64_t)k);
  for (int s = 0; s < N_SIZES; ++s) {
    sums one, other;
    team_set_threads(1);
    assert_int_equal(team_threads(), 1);
    all_sums(SIZES[s], x, &one);
    for (int t = 2; t <= 7; ++t) {
      team_set_threads(t);
      all_sums(SIZES[s], x, &other);
      assert_memory_equal(&one, &other, sizeof one);
    }
#pragma omp parallel num_threads(2) /* from inside a region: each thread on its own */
    {
      sums mine;
      all_sums(SIZES[s], x, &mine);
#pragma omp critical
      if (memcmp(&mine, &one, sizeof one) != 0) other.sum = NAN;
    }
    assert_memory_equal(&one, &other, sizeof one);
  }
  for (int k = 0; k < 3; ++k) memory_free(&x[k]);
  team_set_threads(0);
  assert_int_equal(team_threads(), omp_get_num_procs());
  assert_no_leak();
}

static void test_not_finite_is_found(void **state)
{
  (void)state;
  double *x = random_vector(3), *zero;
  assert_ok(memory_alloc("zero", N_MAX, sizeof *zero, &zero));
  assert_int_equal(team_first_not_finite(N_MAX, x), N_MAX);
  assert_int_equal(team_first_not_finite(0, x), 0);
  assert_true(team_max_abs(0, x) == 0.0);
  x[70000] = NAN;
  x[90000] = INFINITY;
  for (int t = 1; t <= 3; ++t) {
    team_set_threads(t);
    assert_int_equal(team_first_not_finite(N_MAX, x), 70000);
    assert_true(isnan(team_max_abs(N_MAX, x)));
    assert_true(isnan(team_max_difference(N_MAX, x, zero)));
    assert_true(isinf(team_max_difference(N_MAX - 70001, x + 70001, zero)));
    assert_true(isinf(team_max_abs(N_MAX - 70001, x + 70001)));
    x[12] = -INFINITY;
    assert_int_equal(team_first_not_finite(N_MAX, x), 12);
    x[12] = -50.0;
    assert_true(team_max_abs(70000, x) == 50.0);
    assert_true(team_max_difference(0, x, zero) == 0.0);
    zero[69999] = 60.0 + x[69999];
    assert_close(team_max_difference(70000, x, zero), 60.0, 120.0 * DBL_EPSILON);
    zero[69999] = 0.0;
  }
  memory_free(&x), memory_free(&zero);
  team_set_threads(0);
  assert_no_leak();
}

/* A region of one thread has the thread number 0 of 1, loops, barriers and tasks included; inside of a region of two threads, too. */
static void check_region_of_one(int n)
{
  int n_calls = 0, sum = 0, task = 0;
#pragma omp parallel num_threads(n)
  {
    assert_int_equal(omp_get_thread_num(), 0);
    assert_int_equal(omp_get_num_threads(), 1);
    ++n_calls;
#pragma omp for schedule(static)
    for (int i = 0; i < 10; ++i) sum += i;
#pragma omp barrier
#pragma omp for schedule(dynamic, 2)
    for (int i = 0; i < 10; ++i) sum += i;
#pragma omp single
    {
#pragma omp task shared(task)
      task = sum;
#pragma omp taskwait
    }
  }
  assert_int_equal(n_calls, 1);
  assert_int_equal(sum, 90);
  assert_int_equal(task, 90);
}
static void test_regions_of_one_thread(void **state)
{
  (void)state;
  int level = -1, n_good = 0;
  for (int n = 1; n <= 2; ++n) {
    team_set_threads(n);
    check_region_of_one(1);
#pragma omp parallel if (n > 2)
    level = omp_get_level();
#ifndef __clang__
    assert_int_equal(level, 0); /* called directly, without a team */
#endif
#pragma omp parallel
#pragma omp master
    level = omp_get_level(), n_good = omp_get_num_threads();
    assert_int_equal(n_good, n);
    if (n == 2) assert_int_equal(level, 1);
  }
  n_good = 0;
#pragma omp parallel num_threads(2) reduction(+ : n_good)
  {
    int thread = -1, size = -1;
#pragma omp parallel num_threads(1)
    thread = omp_get_thread_num(), size = omp_get_num_threads();
    n_good += thread == 0 && size == 1;
  }
  assert_int_equal(n_good, 2);
  team_set_threads(0);
  assert_no_leak();
}

/* Where the runtime has bound this thread to one place of several, all of them come back; elsewhere nothing changes. */
static void test_places_are_left(void **state)
{
  (void)state;
  int       cpu[CPU_SETSIZE];
  cpu_set_t before, after;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  const int n = team_place_cpus(CPU_SETSIZE, cpu);
  assert_int_equal(team_place_cpus(0, cpu), n); /* writes nothing where there is no room */
  team_leave_place();
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  if (n == 0) assert_true(CPU_EQUAL(&before, &after));
  for (int i = 0; i < n; ++i) assert_true(CPU_ISSET(cpu[i], &after));
}

/* Each thread adds in turn: after every barrier all see the sum of the phase. More threads than processors, too. */
static void test_barrier(void **state)
{
  enum { THREADS = 7, PHASES = 300 };
  static int   sum[PHASES];
  team_barrier barrier = {0};
  int          n_wrong = 0;
  (void)state;
#pragma omp parallel num_threads(THREADS) reduction(+ : n_wrong)
  for (int k = 0; k < PHASES; ++k) {
    if (omp_get_num_threads() == THREADS && k % THREADS == omp_get_thread_num()) sum[k] = k + 1; /* not atomic: the barrier orders it */
    team_barrier_wait(&barrier, omp_get_num_threads());
    n_wrong += omp_get_num_threads() == THREADS && sum[k] != k + 1;
  }
  assert_int_equal(n_wrong, 0);
  for (int k = 0; k < PHASES; ++k) team_barrier_wait(&barrier, 1); /* alone */
}

TEST_MAIN(cmocka_unit_test(test_barrier), cmocka_unit_test(test_regions_of_one_thread), cmocka_unit_test(test_places_are_left),
          cmocka_unit_test(test_sums_match_long_double), cmocka_unit_test(test_mdot_equals_dots),
          cmocka_unit_test(test_bits_do_not_depend_on_threads), cmocka_unit_test(test_not_finite_is_found))
