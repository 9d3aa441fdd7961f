/* Overlap depth of triangles and solids that are not convex, against the deepest point of a dense grid of samples. */
#include "test.h"
#include "core/math3.h"
#include "core/random.h"
#include "geometry/level_set/level_set.h"
#include "sim/scene/overlap_pair.h"

/* Two crossed bars and a ball: kinks in all directions; its smallest extent is 0.1. */
static level_set *solid(void)
{
  const double low[2][3] = {{-0.2, -0.05, -0.05}, {-0.05, -0.2, -0.06}}, high[2][3] = {{0.2, 0.05, 0.05}, {0.05, 0.2, 0.04}};
  const double center[3] = {0.1, 0.1, 0.0};
  level_set   *child[3] = {NULL}, *all = NULL;
  for (int i = 0; i < 2; ++i) assert_ok(level_set_box(low[i], high[i], &child[i]));
  assert_ok(level_set_sphere(center, 0.07, &child[2]));
  assert_ok(level_set_union(3, child, &all));
  return all;
}

static void at_weights(const double *x, double u, double v, double *y)
{
  for (int k = 0; k < 3; ++k) y[k] = (1.0 - u - v) * x[k] + u * x[3 + k] + v * x[6 + k];
}

/* Deepest point on the triangle x [3][3]: a grid of weights, refined around its best point. */
static double deepest_on_grid(const level_set *s, const double *x)
{
  double best[2] = {0.3, 0.3}, least = INFINITY, h = 1.0 / 160.0;
  for (int pass = 0; pass < 5; ++pass, h *= 0.1) {
    const double from[2] = {pass ? best[0] - 20 * h : 0.0, pass ? best[1] - 20 * h : 0.0};
    for (int i = 0; i <= (pass ? 40 : 160); ++i)
      for (int j = 0; j <= (pass ? 40 : 160); ++j) {
        const double u = fmax(0.0, from[0] + i * h), v = fmax(0.0, from[1] + j * h);
        double       y[3];
        if (u + v > 1.0) continue;
        at_weights(x, u, v, y);
        const double phi = level_set_value(s, y);
        if (phi < least) least = phi, best[0] = u, best[1] = v;
      }
  }
  return -least;
}

/* The depth is that of a point on the triangle, and at most 1e-3 of the size of the solid below that of the deepest point, although the search is
 * local. (A search along fixed directions stops at kinks: 2e-2.) */
static void test_deepest_point_of_a_triangle(void **state)
{
  (void)state;
  level_set    *s      = solid();
  int32_t       tri[3] = {0, 1, 2};
  double        x[9], worst = 0.0, box[6] = {-0.2, -0.2, -0.07, 0.2, 0.2, 0.07};
  triangle_mesh mesh = {3, 1, x, tri};
  overlap_shape to = {.n_phi = 1, .phi = &s, .phi_box = box, .size = 0.1}, a = {.mesh = &mesh, .x = x, .size = 0.3};
  int           n = 0;
  memcpy(to.min, box, sizeof to.min), memcpy(to.max, box + 3, sizeof to.max);
  for (uint64_t i = 0; i < 300; ++i) {
    overlap found;
    for (uint64_t k = 0; k < 9; ++k) x[k] = random_range(17, i, k, -0.25, 0.25);
    assert_ok(overlap_pair_find(&a, &to, false, false, &found));
    const double depth = deepest_on_grid(s, x);
    if (!(depth > 0.0)) continue;
    ++n;
    assert_close(-level_set_value(s, found.x), found.depth, 1e-15);
    worst = fmax(worst, depth - found.depth);
  }
  assert_true(n > 150);
  assert_true(worst < 1e-3 * to.size);
  level_set_destroy(&s);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_deepest_point_of_a_triangle))
