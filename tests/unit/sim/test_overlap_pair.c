/* Overlap depth of triangles and solids that are not convex, against the deepest point of a dense grid of samples. */
#include "test.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "geometry/level_set/level_set.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
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

/* Two boxes of triangles: distances end at their limits, so that most triangles of the tree are not visited. The level set of the box has the same
 * distances without limits, and gives the same depth. Corner in face, edge across edge, and one inside of the other. */
static void test_limits_of_distances(void **state)
{
  (void)state;
  const double   low[3] = {-0.2, -0.15, -0.1}, high[3] = {0.2, 0.15, 0.1}, small[3] = {0.08, 0.05, 0.06};
  triangle_mesh *mesh = NULL, *moved = NULL;
  level_set     *box = NULL;
  double         bounds[6], deepest = 0.0;
  int            n = 0;
  assert_ok(triangle_mesh_box(low, high, 0.05, &mesh));
  assert_ok(triangle_mesh_box((const double[3]){-small[0], -small[1], -small[2]}, small, 0.03, &moved));
  assert_ok(level_set_box(low, high, &box));
  memcpy(bounds, low, sizeof low), memcpy(bounds + 3, high, sizeof high);
  double *x;
  assert_ok(memory_alloc("x", 3 * moved->n_vertices, sizeof *x, &x));
  overlap_shape by_mesh      = {.mesh = mesh, .is_closed = true, .x = mesh->x, .size = 0.2},
                by_level_set = {.n_phi = 1, .phi = &box, .phi_box = bounds, .size = 0.2};
  memcpy(by_mesh.min, low, sizeof low), memcpy(by_mesh.max, high, sizeof high);
  memcpy(by_level_set.min, low, sizeof low), memcpy(by_level_set.max, high, sizeof high);
  assert_ok(overlap_shape_prepare_inside(&by_mesh));
  const overlap_shape a = {.mesh = moved, .x = x, .size = 0.1, .min = {-1, -1, -1}, .max = {1, 1, 1}};
  for (uint64_t i = 0; i < 150; ++i) {
    double  w[3], R[9], c[3];
    overlap found, expected;
    for (uint64_t k = 0; k < 3; ++k) w[k] = random_range(19, i, k, -2, 2), c[k] = random_range(19, i, 3 + k, 1.4 * low[k], 1.4 * high[k]);
    rotation_exp(R, w);
    for (int64_t v = 0; v < moved->n_vertices; ++v) m3_mulv(x + 3 * v, R, moved->x + 3 * v), v3_axpy(x + 3 * v, 1.0, c);
    assert_ok(overlap_pair_find(&a, &by_level_set, false, false, &expected));
    by_mesh.mesh = NULL; /* only the surface of a in the solid */
    assert_ok(overlap_pair_find(&a, &by_mesh, false, false, &found));
    by_mesh.mesh = mesh;
    assert_close(found.depth, expected.depth, 1e-6 * by_mesh.size);
    if (found.depth > 0.0) {
      assert_close(-level_set_value(box, found.x), found.depth, 1e-14);
      ++n;
    }
    deepest = fmax(deepest, found.depth);
  }
  assert_true(n > 60 && deepest > 0.05);
  triangle_bvh_destroy(&by_mesh.bvh);
  triangle_mesh_destroy(&mesh), triangle_mesh_destroy(&moved);
  level_set_destroy(&box);
  memory_free(&x);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_limits_of_distances), cmocka_unit_test(test_deepest_point_of_a_triangle))
