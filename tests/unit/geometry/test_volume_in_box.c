/* Parts of balls and meshes in boxes: closed forms (cap, octant, whole), sums over boxes that fill space, integrals over many slices. */
#include <math.h>
#include "core/math3.h"
#include "core/random.h"
#include "geometry/primitive/volume_in_box.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "geometry/triangle_mesh/triangle_mesh.h"
#include "test.h"

static void test_closed_forms(void **state)
{
  (void)state;
  const double center[3] = {1, 2, 3}, r = 0.5, whole = 4.0 / 3.0 * M_PI * r * r * r;
  assert_close(ball_volume_in_box(center, r, (const double[3]){0, 0, 0}, (const double[3]){9, 9, 9}), whole, 1e-15);
  assert_close(ball_volume_in_box(center, r, (const double[3]){-INFINITY, -INFINITY, 3}, (const double[3]){INFINITY, INFINITY, INFINITY}),
               0.5 * whole, 1e-15);
  assert_close(ball_volume_in_box(center, r, (const double[3]){1, 2, 3}, (const double[3]){9, 9, 9}), whole / 8.0, 1e-15);
  assert_close(ball_volume_in_box(center, r, (const double[3]){0, 0, 0}, (const double[3]){0.9, 9, 9}),
               M_PI / 3.0 * 0.4 * 0.4 * (1.5 - 0.4), 1e-15);
  assert_close(ball_volume_in_box(center, r, (const double[3]){0, 0, 0}, (const double[3]){0.5, 9, 9}), 0.0, 1e-15);
  assert_close(ball_volume_in_box(center, r, (const double[3]){0.9, 1.9, 2.9}, (const double[3]){1.1, 2.1, 3.1}), 0.008,
               1e-15); /* a box inside */
  assert_close(ball_volume_in_box(center, r, (const double[3]){1.4, 2.4, 3.4}, (const double[3]){9, 9, 9}), 0.0,
               1e-15); /* the corner is outside */
}

/* Parts in 4 x 4 x 4 boxes of random sizes add up to the whole. */
static void test_sums(void **state)
{
  (void)state;
  for (uint64_t trial = 0; trial < 50; ++trial) {
    double cut[3][5], center[3], sum = 0.0;
    for (int k = 0; k < 3; ++k) {
      cut[k][0] = -2.0, cut[k][4] = 2.0, center[k] = random_range(1, trial, (uint64_t)k, -0.5, 0.5);
      for (int i = 1; i < 4; ++i) cut[k][i] = cut[k][i - 1] + random_u01(2, trial, (uint64_t)(3 * i + k));
    }
    for (int b = 0; b < 64; ++b) {
      const int    i[3]   = {b / 16, b / 4 % 4, b % 4};
      const double min[3] = {cut[0][i[0]], cut[1][i[1]], cut[2][i[2]]}, max[3] = {cut[0][i[0] + 1], cut[1][i[1] + 1], cut[2][i[2] + 1]};
      const double part = ball_volume_in_box(center, 1.0, min, max);
      assert_true(part > -1e-14 && part <= (max[0] - min[0]) * (max[1] - min[1]) * (max[2] - min[2]) + 1e-14);
      sum += part;
    }
    assert_close(sum, 4.0 / 3.0 * M_PI, 1e-13);
  }
}

/* One general corner against an integral over slices of known area: midpoint rule, error of order h^1.5. */
static void test_slices(void **state)
{
  (void)state;
  const double min[3] = {-0.3, 0.2, -0.1}, max[3] = {0.6, 2.0, 0.8}, zero[3] = {0};
  double       sum = 0.0;
  const int    n   = 400;
  for (int i = 0; i < n * n; ++i) {
    const double x = min[0] + (i / n + 0.5) * (max[0] - min[0]) / n, z = min[2] + (i % n + 0.5) * (max[2] - min[2]) / n;
    const double y = sqrt(fmax(0.0, 1.0 - x * x - z * z));
    sum += fmax(0.0, fmin(y, max[1]) - min[1]) * (max[0] - min[0]) * (max[2] - min[2]) / (n * n);
  }
  assert_close(ball_volume_in_box(zero, 1.0, min, max), sum, 1e-5);
}

/* A turned box: its parts add up, and the part in a box around it is all of it; a fine ball agrees with the closed form. */
static void test_mesh(void **state)
{
  (void)state;
  triangle_mesh *box, *ball;
  const double   R[9] = {0.36, 0.48, -0.8, -0.8, 0.6, 0.0, 0.48, 0.64, 0.6}, c[3] = {0.1, -0.2, 0.3}, far[3] = {9, 9, 9},
               near[3] = {-9, -9, -9};
  double sum           = 0.0;
  assert_ok(triangle_mesh_box((const double[3]){-0.5, -1, -1.5}, (const double[3]){0.5, 1, 1.5}, 10.0, &box));
  triangle_mesh_transform(box, c, R);
  assert_close(mesh_volume_in_box(box->n_triangles, box->tri, box->x, near, far), 6.0, 1e-13);
  for (int i = 0; i < 8; ++i) {
    double min[3], max[3];
    for (int k = 0; k < 3; ++k) min[k] = i >> k & 1 ? c[k] : near[k], max[k] = i >> k & 1 ? far[k] : c[k];
    const double part = mesh_volume_in_box(box->n_triangles, box->tri, box->x, min, max);
    assert_true(part > 0.0);
    sum += part;
  }
  assert_close(sum, 6.0, 1e-13);
  for (int k = 0; k < 3; ++k) { /* symmetric about its centre */
    double max[3] = {9, 9, 9};
    max[k]        = c[k];
    assert_close(mesh_volume_in_box(box->n_triangles, box->tri, box->x, near, max), 3.0, 1e-13);
  }
  assert_close(mesh_volume_in_box(box->n_triangles, box->tri, box->x, (const double[3]){0, -0.3, 0.2}, (const double[3]){0.2, -0.1, 0.4}),
               0.008, 1e-15);
  assert_close(mesh_volume_in_box(box->n_triangles, box->tri, box->x, (const double[3]){3, 3, 3}, far), 0.0, 1e-15);
  assert_ok(triangle_mesh_sphere(c, 1.0, 0.03, &ball));
  const double min[3] = {-0.2, 0.1, 0.0}, max[3] = {0.4, 0.5, 2.0};
  assert_close(mesh_volume_in_box(ball->n_triangles, ball->tri, ball->x, min, max), ball_volume_in_box(c, 1.0, min, max), 1e-3);
  triangle_mesh_destroy(&box);
  triangle_mesh_destroy(&ball);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_sums), cmocka_unit_test(test_slices), cmocka_unit_test(test_mesh))
