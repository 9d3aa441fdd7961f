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

/* The points are those of the published direction numbers: these are found again in the points, where i = 2^j follows i = 2^j - 1, and
 * compared with the authors' file (columns d, s, a, m_1 ... m_s); the rest must obey the recurrence of the polynomial. */
static void sobol_published_directions(void **state)
{
  (void)state;
  static const char *const published[SAMPLES_SOBOL_MAX - 1] = {
      "2 1 0 1",
      "3 2 1 1 3",
      "4 3 1 1 3 1",
      "5 3 2 1 1 1",
      "6 4 1 1 1 3 3",
      "7 4 4 1 3 5 13",
      "8 5 2 1 1 5 5 17",
      "9 5 4 1 1 5 5 5",
      "10 5 7 1 1 7 11 19",
      "11 5 11 1 1 5 1 1",
      "12 5 13 1 1 1 3 11",
      "13 5 14 1 3 5 5 31",
      "14 6 1 1 3 3 9 7 49",
      "15 6 13 1 1 1 15 21 21",
      "16 6 16 1 3 1 13 27 49",
      "17 6 19 1 1 1 15 7 5",
      "18 6 22 1 3 1 15 13 25",
      "19 6 25 1 1 5 5 19 61",
      "20 7 1 1 3 7 11 23 15 103",
      "21 7 4 1 3 7 13 13 15 69",
  };
  enum { BITS = 16, N = 1 << BITS };
  double *u;
  assert_ok(memory_alloc("test", (int64_t)N * SAMPLES_SOBOL_MAX, sizeof *u, &u));
  samples_sobol(-1, N, SAMPLES_SOBOL_MAX, u);
  for (int k = 1; k < SAMPLES_SOBOL_MAX; ++k) {
    unsigned    v[BITS], x[2];
    const char *p = published[k - 1];
    char       *end;
    assert_int_equal(strtol(p, &end, 10), k + 1);
    const int      s = (int)strtol(end, &end, 10);
    const unsigned a = (unsigned)strtoul(end, &end, 10);
    for (int j = 0; j < BITS; ++j) {
      for (int side = 0; side < 2; ++side)
        x[side] = (unsigned)(u[((1 << j) - 1 + side) * SAMPLES_SOBOL_MAX + k] * N); /* all their digits */
      v[j] = x[0] ^ x[1];
      if (j < s) assert_int_equal(v[j] >> (BITS - 1 - j), strtoul(end, &end, 10));
      unsigned expected = j < s ? v[j] : v[j - s] ^ v[j - s] >> s;
      for (int i = 1; i < s && j >= s; ++i) expected ^= a >> (s - 1 - i) & 1 ? v[j - i] : 0;
      assert_int_equal(v[j], expected);
    }
  }
  memory_free(&u);
  assert_no_leak();
}

/* Sobol's property A in d dimensions: each of the 2^d cells (halves in every dimension) contains one of the first 2^d points. */
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

/* One value in each of n intervals per dimension; uniform within the intervals; dimensions independent within the statistical
 * error of n samples. */
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

TEST_MAIN(cmocka_unit_test(sobol_published_points), cmocka_unit_test(sobol_published_directions), cmocka_unit_test(sobol_property_a),
          cmocka_unit_test(sobol_each_dimension), cmocka_unit_test(sobol_extends), cmocka_unit_test(latin_hypercube))
