/* core/samples: published points, and what the constructions promise. */
#include "core/samples.h"
#include <string.h>
#include "test.h"

/* The first ten points in three dimensions as the authors of the direction numbers print them (web page of F. Y. Kuo, sobol 10 3
 * new-joe-kuo-6.21201). */
static void sobol_published_points(void **state)
{
  (void)state;
  static const double expected[10][3] = {{0, 0, 0},
                                         {0.5, 0.5, 0.5},
                                         {0.75, 0.25, 0.25},
                                         {0.25, 0.75, 0.75},
                                         {0.375, 0.375, 0.625},
                                         {0.875, 0.875, 0.125},
                                         {0.625, 0.125, 0.875},
                                         {0.125, 0.625, 0.375},
                                         {0.1875, 0.3125, 0.9375},
                                         {0.6875, 0.8125, 0.4375}};
  double              u[10][3];
  samples_sobol(-1, 10, 3, &u[0][0]);
  for (int i = 0; i < 10; ++i)
    for (int k = 0; k < 3; ++k) assert_true(u[i][k] == expected[i][k]);
}

/* Sobol's property A in d dimensions: of the first 2^d points each of the 2^d cells, halves in every dimension, holds one. */
static void sobol_property_a(void **state)
{
  (void)state;
  enum { D = 16, N = 1 << D };
  double *u;
  char   *seen;
  assert_ok(memory_alloc("test", (int64_t)N * D, sizeof *u, &u));
  assert_ok(memory_alloc("test", N, 1, &seen));
  for (int seed = -1; seed < 2; ++seed) {
    samples_sobol(seed, N, D, u);
    memset(seen, 0, N);
    for (int i = 0; i < N; ++i) {
      int cell = 0;
      for (int k = 0; k < D; ++k) cell = 2 * cell + (u[i * D + k] >= 0.5);
      assert_int_equal(seen[cell], 0);
      seen[cell] = 1;
    }
  }
  memory_free(&u);
  memory_free(&seen);
  assert_no_leak();
}

/* In every dimension, any 2^m points that begin at a multiple of 2^m fall into the 2^m equal parts, one each; with a shift, too. */
static void sobol_each_dimension(void **state)
{
  (void)state;
  enum { N = 1 << 12, PART = 1 << 8 };
  static double u[N * SAMPLES_SOBOL_MAX];
  for (int seed = -1; seed < 2; ++seed) {
    samples_sobol(seed, N, SAMPLES_SOBOL_MAX, u);
    for (int k = 0; k < SAMPLES_SOBOL_MAX; ++k)
      for (int block = 0; block < N; block += PART) {
        char seen[PART] = {0};
        for (int i = block; i < block + PART; ++i) {
          const int part = (int)(u[i * SAMPLES_SOBOL_MAX + k] * PART);
          assert_in_range(part, 0, PART - 1);
          assert_int_equal(seen[part], 0);
          seen[part] = 1;
        }
      }
  }
}

/* More points are the same points and more; a seed gives other points, the same each time. */
static void sobol_extends(void **state)
{
  (void)state;
  double few[32 * 4], many[64 * 4], other[32 * 4], again[32 * 4];
  samples_sobol(7, 32, 4, few);
  samples_sobol(7, 64, 4, many);
  samples_sobol(8, 32, 4, other);
  samples_sobol(7, 32, 4, again);
  assert_memory_equal(few, many, sizeof few);
  assert_memory_equal(few, again, sizeof few);
  assert_true(memcmp(few, other, sizeof few) != 0);
  assert_true(few[0] > 0);
}

/* One value in each of n parts per dimension; places within them uniform; dimensions independent, as far as n samples can tell. */
static void latin_hypercube(void **state)
{
  (void)state;
  enum { N = 1000, D = 5 };
  static double u[N * D], again[N * D];
  for (uint64_t seed = 0; seed < 3; ++seed) {
    assert_ok(samples_latin_hypercube(seed, N, D, u));
    assert_ok(samples_latin_hypercube(seed, N, D, again));
    assert_memory_equal(u, again, sizeof u);
    double place = 0;
    for (int k = 0; k < D; ++k) {
      char seen[N] = {0};
      for (int i = 0; i < N; ++i) {
        const int part = (int)floor(u[i * D + k] * N);
        assert_in_range(part, 0, N - 1);
        assert_int_equal(seen[part], 0);
        seen[part] = 1;
        place += u[i * D + k] * N - part - 0.5;
      }
      for (int j = 0; j < k; ++j) {
        double r = 0;
        for (int i = 0; i < N; ++i) r += (u[i * D + k] - 0.5) * (u[i * D + j] - 0.5);
        assert_close(12 * r / N, 0.0, 5 / sqrt(N)); /* five standard deviations of a correlation */
      }
    }
    assert_close(place / (N * D), 0.0, 5 * sqrt(1.0 / 12 / (N * D)));
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(sobol_published_points), cmocka_unit_test(sobol_property_a), cmocka_unit_test(sobol_each_dimension),
          cmocka_unit_test(sobol_extends), cmocka_unit_test(latin_hypercube))
