/* Signs of determinants against 128-bit integers for nearly degenerate points, and against closed forms at the limits of the
 * range. */
#include "test.h"
#include "geometry/primitive/orient3d.h"
#include "core/random.h"

typedef __int128 wide;
static int       sign(wide x) { return (x > 0) - (x < 0); }

static wide turn_of(const int64_t *a, const int64_t *b, const int64_t *c, int k)
{
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  return (wide)(b[i] - a[i]) * (c[j] - a[j]) - (wide)(b[j] - a[j]) * (c[i] - a[i]);
}

static wide determinant(const int64_t *a, const int64_t *b, const int64_t *c, const int64_t *d)
{
  wide sum = 0;
  for (int k = 0; k < 3; ++k) sum += turn_of(a, b, c, k) * (d[k] - a[k]);
  return sum;
}

/* Integers below 2^40 in three kinds: small, so that many lie in one plane; large, next to a plane through two of them; or
 * anything. */
static void draw(uint64_t i, int64_t x[4][3])
{
  const int kind = (int)(i % 3);
  for (int p = 0; p < 4; ++p)
    for (int k = 0; k < 3; ++k) {
      const uint64_t range = kind == 0 ? 5 : (uint64_t)1 << 38;
      x[p][k]              = (int64_t)random_index(3, i, (uint64_t)(3 * p + k), range) - (int64_t)(range / 2);
    }
  if (kind != 1) return;
  /* the fourth on the line or in the plane of the others, moved by at most one along one axis */
  const int64_t s = (int64_t)random_index(3, i, 50, 3) - 1, t = (int64_t)random_index(3, i, 51, 3) - 1;
  for (int k = 0; k < 3; ++k) x[3][k] = x[0][k] + s * (x[1][k] - x[0][k]) + t * (x[2][k] - x[0][k]);
  x[3][random_index(3, i, 52, 3)] += (int64_t)random_index(3, i, 53, 3) - 1;
}

static void test_integers(void **state)
{
  int64_t seen[3] = {0};
  (void)state;
  for (uint64_t i = 0; i < 60000; ++i) {
    int64_t x[4][3];
    double  y[4][3];
    draw(i, x);
    /* Scaling does not change the sign. */
    const double unit = i % 5 == 0 ? 0x1p-200 : i % 5 == 1 ? 0x1p200 : 1.0;
    for (int p = 0; p < 4; ++p)
      for (int k = 0; k < 3; ++k) y[p][k] = unit * (double)x[p][k];
    const int expected = sign(determinant(x[0], x[1], x[2], x[3]));
    ++seen[1 + expected];
    if (orient3d(y[0], y[1], y[2], y[3]) != expected) fail_msg("%lld: the determinant's sign is %d", (long long)i, expected);
    wide height = 0; /* for the normal x[1]: the same kind of numbers */
    for (int k = 0; k < 3; ++k) height += (wide)x[1][k] * (x[3][k] - x[0][k]);
    if (orient3d_plane_side(y[1], y[0], y[3]) != sign(height)) fail_msg("%lld: the height's sign is %d", (long long)i, sign(height));
    /* Odd permutations change it, even ones do not. */
    assert_int_equal(orient3d(y[1], y[0], y[2], y[3]), -expected);
    assert_int_equal(orient3d(y[3], y[1], y[0], y[2]), expected);
    assert_int_equal(orient3d(y[2], y[3], y[1], y[0]), -expected);
    for (int k = 0; k < 3; ++k)
      if (orient3d_projected(y[0], y[1], y[3], k) != sign(turn_of(x[0], x[1], x[3], k))) fail_msg("%lld: axis %d", (long long)i, k);
  }
  for (int k = 0; k < 3; ++k) assert_true(seen[k] > 5000);
}

/* Coordinates with parts far below the unit round-off of others: exactly k + 2^-40 j, compared as integers times 2^40. */
static void test_mixed_magnitudes(void **state)
{
  int64_t zeros = 0;
  (void)state;
  for (uint64_t i = 0; i < 20000; ++i) {
    int64_t x[4][3];
    double  y[4][3];
    for (int p = 0; p < 4; ++p)
      for (int k = 0; k < 3; ++k)
        x[p][k] = ((int64_t)random_index(4, i, (uint64_t)(3 * p + k), 3) - 1) * ((int64_t)1 << 38) +
                  (int64_t)random_index(4, i, (uint64_t)(20 + 3 * p + k), 3) - 1;
    for (int p = 0; p < 4; ++p)
      for (int k = 0; k < 3; ++k) y[p][k] = (double)x[p][k] * 0x1p-38;
    const int expected = sign(determinant(x[0], x[1], x[2], x[3]));
    zeros += expected == 0;
    if (orient3d(y[0], y[1], y[2], y[3]) != expected) fail_msg("%lld: the determinant's sign is %d", (long long)i, expected);
  }
  assert_true(zeros > 100 && zeros < 10000);
}

/* Coordinates of very different magnitude: differences that are not representable, and nearly cancel. */
static void test_rounded_differences(void **state)
{
  int64_t seen[3] = {0};
  (void)state;
  for (uint64_t i = 0; i < 20000; ++i) {
    int64_t x[3][3];
    double  y[3][3];
    for (int p = 0; p < 3; ++p)
      for (int k = 0; k < 3; ++k) {
        const int64_t small = (int64_t)random_index(8, i, (uint64_t)(3 * p + k), 9), large = ((int64_t)1 << 53) - 9;
        x[p][k] = p == 0 ? -large - small : large + small;
        y[p][k] = (double)x[p][k];
      }
    for (int k = 0; k < 3; ++k) {
      const int expected = sign(turn_of(x[0], x[1], x[2], k));
      ++seen[1 + expected];
      if (orient3d_projected(y[0], y[1], y[2], k) != expected) fail_msg("%lld: axis %d", (long long)i, k);
    }
    const int64_t normal[3] = {1, -1, (int64_t)(i % 3) - 1};
    wide          height    = 0;
    for (int k = 0; k < 3; ++k) height += (wide)normal[k] * (x[1][k] - x[0][k]);
    assert_int_equal(orient3d_plane_side((const double[3]){1.0, -1.0, (double)normal[2]}, y[0], y[1]), sign(height));
  }
  for (int k = 0; k < 3; ++k) assert_true(seen[k] > 1000);
}

/* The four corners of a rhombus whose coordinates are not representable: a change of the last one by one unit in the last place
 * changes the side. */
static void test_last_place(void **state)
{
  (void)state;
  const double a[3] = {0.1, 0.7, 0.3}, b[3] = {12.1, 24.3, 5.7}, c[3] = {24.2, 48.6, 11.4};
  for (int k = 0; k < 3; ++k) {
    /* where d is c but for one component, the volume is that of the triangle's shadow times the difference */
    double d[3] = {c[0], c[1], c[2]}, e[3] = {c[0], c[1], c[2]};
    d[k] = nextafter(c[k], 100.0), e[k] = nextafter(c[k], -100.0);
    const int turn = orient3d_projected(a, b, c, k);
    assert_int_equal(orient3d(a, b, c, d), turn);
    assert_int_equal(orient3d(a, b, c, e), -turn);
    assert_int_equal(orient3d(a, b, c, c), 0);
  }
}

/* Of neighbours in the sequence of Fibonacci, F_n F_n - F_(n-1) F_(n+1) = +-1, however large both products are. */
static void test_nearly_parallel(void **state)
{
  int64_t f[60] = {1, 1};
  (void)state;
  for (int n = 2; n < 60; ++n) f[n] = f[n - 1] + f[n - 2];
  for (int n = 3; n < 59; ++n)
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3, expected = n % 2 == 0 ? 1 : -1;
      double    a[3] = {0}, b[3] = {0}, c[3] = {0}, d[3] = {0};
      b[i] = (double)f[n], b[j] = (double)f[n - 1];
      c[i] = (double)f[n + 1], c[j] = (double)f[n];
      d[k] = 1.0;
      assert_int_equal(orient3d_projected(a, b, c, k), expected);
      assert_int_equal(orient3d(a, b, c, d), expected);
      c[i] = 2.0 * b[i], c[j] = 2.0 * b[j];
      assert_int_equal(orient3d_projected(a, b, c, k), 0);
    }
}

TEST_MAIN(cmocka_unit_test(test_integers), cmocka_unit_test(test_mixed_magnitudes), cmocka_unit_test(test_rounded_differences),
          cmocka_unit_test(test_last_place), cmocka_unit_test(test_nearly_parallel))
