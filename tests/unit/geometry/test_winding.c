/* Winding numbers: boxes and balls on lattices, so that rays hit corners; reversed and nested surfaces. */
#include "test.h"
#include "core/random.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "geometry/primitive/winding.h"
#include <string.h>

static void test_box(void **state)
{
  const double   min[3] = {0, 0, 0}, max[3] = {1, 2, 3};
  triangle_mesh *m;
  int64_t        inside = 0;
  (void)state;
  assert_ok(triangle_mesh_box(min, max, 0.25, &m));
  for (int flip = 0; flip < 2; ++flip, triangle_mesh_flip(m))
    for (uint64_t i = 0; i < 4000; ++i) {
      double  p[3];
      bool    is_in = true, is_out = false;
      int64_t w;
      for (int k = 0; k < 3; ++k) { /* half of them on the lattice */
        p[k] = i % 2 ? random_range(1, i, (uint64_t)k, -0.5, 3.5) : 0.25 * ((double)random_index(1, i, (uint64_t)k, 16) - 2.0);
        is_in &= p[k] > min[k] && p[k] < max[k];
        is_out |= p[k] < min[k] || p[k] > max[k];
      }
      const bool is_known = winding_number(m->n_triangles, m->tri, m->x, p, &w);
      assert_int_equal(is_known, is_in || is_out); /* undefined on the surface */
      if (is_known) assert_int_equal(w, is_in ? (flip ? -1 : 1) : 0);
      inside += is_in;
    }
  assert_true(inside > 300);
  /* by the last place */
  int64_t w;
  assert_true(winding_number(m->n_triangles, m->tri, m->x, (const double[3]){0.3, 0.4, 0x1p-1000}, &w));
  assert_int_equal(w, 1);
  assert_true(winding_number(m->n_triangles, m->tri, m->x, (const double[3]){0.3, 0.4, -0x1p-1000}, &w));
  assert_int_equal(w, 0);
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

/* Two balls as one surface: 2 where both are; the inner one turned over makes a hollow. */
static void test_balls(void **state)
{
  const double   centre[3] = {0.1, 0.2, 0.3};
  triangle_mesh *outer, *inner, *both;
  (void)state;
  assert_ok(triangle_mesh_sphere(centre, 1.0, 0.3, &outer));
  assert_ok(triangle_mesh_sphere(centre, 0.4, 0.1, &inner));
  for (int hollow = 0; hollow < 2; ++hollow, triangle_mesh_flip(inner)) {
    assert_ok(triangle_mesh_create(outer->n_vertices + inner->n_vertices, outer->n_triangles + inner->n_triangles, &both));
    memcpy(both->x, outer->x, 3 * (size_t)outer->n_vertices * sizeof(double));
    memcpy(both->x + 3 * outer->n_vertices, inner->x, 3 * (size_t)inner->n_vertices * sizeof(double));
    memcpy(both->tri, outer->tri, 3 * (size_t)outer->n_triangles * sizeof(int32_t));
    for (int64_t k = 0; k < 3 * inner->n_triangles; ++k) both->tri[3 * outer->n_triangles + k] = inner->tri[k] + (int32_t)outer->n_vertices;
    const double  at[3]       = {0.0, 0.7, 1.2};
    const int64_t expected[3] = {hollow ? 0 : 2, 1, 0};
    for (int k = 0; k < 3; ++k) {
      const double p[3] = {centre[0] + 0.6 * at[k], centre[1], centre[2] - 0.8 * at[k]};
      int64_t      w;
      assert_true(winding_number(both->n_triangles, both->tri, both->x, p, &w));
      assert_int_equal(w, expected[k]);
    }
    triangle_mesh_destroy(&both);
  }
  triangle_mesh_destroy(&outer);
  triangle_mesh_destroy(&inner);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_box), cmocka_unit_test(test_balls))
