/* Neighbours, edges and fans against Euler's formula and the definition. */
#include "test.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "geometry/triangle_mesh/triangle_topology.h"
#include <string.h>

static void check_definition(const triangle_topology *t)
{
  for (int64_t i = 0; i < 3 * t->n_triangles; ++i) {
    const int32_t a = t->tri[i - i % 3 + (i + 1) % 3], b = t->tri[i - i % 3 + (i + 2) % 3], e = t->side_edge[i];
    assert_int_equal(t->edge[2 * e], a < b ? a : b);
    assert_int_equal(t->edge[2 * e + 1], a < b ? b : a);
    assert_true(t->edge_triangle[2 * e] == i / 3 || t->edge_triangle[2 * e + 1] == i / 3);
    if (t->neighbor[i] < 0) continue;
    const int64_t other = 3 * (int64_t)t->neighbor[i] + t->neighbor_side[i];
    assert_int_equal(t->neighbor[other], i / 3);
    assert_int_equal(t->side_edge[other], e);
    assert_int_equal(t->tri[other - other % 3 + (other + 1) % 3], b); /* the same side, run the other way */
  }
  for (int64_t v = 0; v < t->n_vertices; ++v)
    for (int32_t j = t->fan_start[v]; j < t->fan_start[v + 1]; ++j) {
      assert_true(triangle_topology_corner(t, t->fan[j], (int32_t)v) >= 0);
      if (j > t->fan_start[v]) assert_true(t->fan[j] > t->fan[j - 1]);
    }
  assert_int_equal(t->fan_start[t->n_vertices], 3 * t->n_triangles);
}

static void test_closed(void **unused)
{
  (void)unused;
  const double   center[3] = {0.0, 0.0, 0.0}, axis[3] = {0.0, 0.0, 1.0};
  triangle_mesh *mesh[2];
  assert_ok(triangle_mesh_sphere(center, 1.0, 0.3, &mesh[0]));
  assert_ok(triangle_mesh_torus(center, axis, 1.0, 0.3, 0.2, &mesh[1]));
  for (int i = 0; i < 2; ++i) {
    triangle_topology *t;
    assert_ok(triangle_topology_create(mesh[i]->n_vertices, mesh[i]->n_triangles, mesh[i]->tri, &t));
    check_definition(t);
    assert_int_equal(2 * t->n_edges, 3 * t->n_triangles);
    assert_int_equal(t->n_vertices - t->n_edges + t->n_triangles, i == 0 ? 2 : 0); /* Euler: 2 - 2 genus */
    triangle_topology_destroy(&t);
    triangle_mesh_destroy(&mesh[i]);
  }
  assert_no_leak();
}

static void test_border(void **unused)
{
  (void)unused;
  /* 3 --- 2
   * |  /  |     vertex 4 belongs to nothing
   * 0 --- 1 */
  const int32_t      tri[] = {0, 1, 2, 0, 2, 3};
  triangle_topology *t;
  assert_ok(triangle_topology_create(5, 2, tri, &t));
  check_definition(t);
  assert_int_equal(t->n_edges, 5);
  assert_int_equal(t->neighbor[1], 1); /* opposite to vertex 1: the diagonal */
  assert_int_equal(t->neighbor[0], -1);
  assert_int_equal(t->fan_start[5] - t->fan_start[4], 0);
  assert_int_equal(triangle_topology_corner(t, 1, 1), -1);
  triangle_topology_destroy(&t);
  assert_no_leak();
}

static void test_invalid_triangles_are_rejected(void **unused)
{
  (void)unused;
  const int32_t      crowded[] = {0, 1, 2, 1, 0, 3, 0, 1, 4}, turned[] = {0, 1, 2, 0, 1, 3}, twice[] = {0, 1, 1};
  triangle_topology *t = NULL;
  assert_int_equal(triangle_topology_create(5, 3, crowded, &t), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "vertices 0 and 1"));
  assert_int_equal(triangle_topology_create(5, 2, turned, &t), PETSC_ERR_USER_INPUT);
  assert_int_equal(triangle_topology_create(5, 1, twice, &t), PETSC_ERR_USER_INPUT);
  error_clear();
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_closed), cmocka_unit_test(test_border), cmocka_unit_test(test_invalid_triangles_are_rejected))
