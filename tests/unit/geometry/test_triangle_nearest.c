/* Closest point of a triangle: no sampled point is closer, and it lies on the reported feature. */
#include "test.h"
#include "core/math3.h"
#include "core/random.h"
#include "geometry/primitive/triangle_nearest.h"

enum { TRIANGLES = 3000, STEPS = 20 };

static double distance_of(double t[3][3], const double w[3], const double p[3])
{
  double d[3];
  v3_scale(d, -1.0, p);
  for (int i = 0; i < 3; ++i) v3_axpy(d, w[i], t[i]);
  return v3_norm(d);
}

static void nothing_is_nearer(void **state)
{
  (void)state;
  static const int on[7][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}};
  int              seen[7]  = {0};
  for (int n = 0; n < TRIANGLES; ++n) {
    double t[3][3], p[3], w[3];
    for (int k = 0; k < 9; ++k) t[k / 3][k % 3] = random_u01(1, (uint64_t)n, (uint64_t)k);
    for (int k = 0; k < 3; ++k) p[k] = 3.0 * random_u01(2, (uint64_t)n, (uint64_t)k) - 1.0;
    const int    feature = triangle_nearest(t[0], t[1], t[2], p, w);
    const double least   = distance_of(t, w, p);
    ++seen[feature];
    assert_float_equal(w[0] + w[1] + w[2], 1.0, 1e-14);
    for (int i = 0; i < 3; ++i) assert_true(on[feature][i] ? w[i] > 0.0 : w[i] == 0.0);
    for (int i = 0; i <= STEPS; ++i)
      for (int k = 0; k + i <= STEPS; ++k) {
        const double other[3] = {1.0 - (double)(i + k) / STEPS, (double)i / STEPS, (double)k / STEPS};
        assert_true(least <= distance_of(t, other, p) + 1e-14);
      }
    for (int i = 0; i < 3; ++i) /* moving towards a corner does not reduce the distance */
      for (double step = 1e-3; step > 1e-7; step *= 0.1) {
        double other[3];
        for (int k = 0; k < 3; ++k) other[k] = (1.0 - step) * w[k] + (k == i ? step : 0.0);
        assert_true(least <= distance_of(t, other, p) + 1e-14);
      }
  }
  for (int f = 0; f < 7; ++f) assert_true(seen[f] > 50);
}

TEST_MAIN(cmocka_unit_test(nothing_is_nearer))
