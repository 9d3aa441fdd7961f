/* Tessellations of primitives: closed, on the surface, even; volumes converge to those of the shapes. */
#include "core/math3.h"
#include "geometry/level_set/level_set.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "test.h"
#include <string.h>

static void assert_sound(const triangle_mesh *m, int64_t n_parts)
{
  triangle_mesh_defects d;
  char                  text[256];
  assert_ok(triangle_mesh_check(m, &d));
  triangle_mesh_defects_text(m, &d, sizeof text, text);
  assert_string_equal(text, "");
  assert_true(triangle_mesh_is_sound(&d));
  assert_int_equal(d.n_parts, n_parts);
  assert_int_equal(d.n_unused, 0);
}

/* Closed, every vertex on the level set, no edge much longer than the requested spacing. */
static void assert_fits(const triangle_mesh *m, level_set **s, double spacing)
{
  assert_sound(m, 1);
  for (int64_t i = 0; i < m->n_vertices; ++i) assert_close(level_set_value(*s, &m->x[3 * i]), 0.0, 1e-14);
  for (int64_t i = 0; i < 3 * m->n_triangles && spacing > 0.0; ++i) {
    double e[3];
    v3_sub(e, &m->x[3 * (int64_t)m->tri[i]], &m->x[3 * (int64_t)m->tri[i - i % 3 + (i + 1) % 3]]);
    assert_true(v3_norm(e) < 1.6 * spacing); /* diagonals of squares are sqrt 2 */
  }
  level_set_destroy(s);
}

static void test_primitives(void **state)
{
  (void)state;
  const double a[3] = {-0.3, 0.1, 0.2}, b[3] = {0.5, 0.9, 1.3}, c[3] = {1, 2, 3}, axis[3] = {1, -1, 2};
  const double radii[3] = {0.8, 0.5, 0.6}, along[4] = {-0.7, -0.1, 0.2, 0.9}, radius[4] = {0.8, 0.3, 0.4, 0.0};
  const double spacing[4] = {0.0, 0.5, 0.1, 0.037};
  for (int i = 0; i < 4; ++i) {
    triangle_mesh *m = NULL;
    level_set     *s = NULL;
    assert_ok(triangle_mesh_box(a, b, spacing[i], &m));
    if (i == 0) assert_int_equal(m->n_vertices, 8);
    assert_ok(level_set_box(a, b, &s));
    assert_fits(m, &s, spacing[i]);
    const mass_properties p = triangle_mesh_mass(m); /* a box is a polyhedron: exact */
    assert_close(p.volume, 0.8 * 0.8 * 1.1, 1e-13 /* up to 10^4 terms */);
    for (int k = 0; k < 3; ++k) assert_close(p.center[k], 0.5 * (a[k] + b[k]), 1e-15);
    assert_close(p.inertia[0], 0.704 / 12 * (0.64 + 1.21), 1e-13);
    assert_close(p.inertia[8], 0.704 / 12 * (0.64 + 0.64), 1e-13);
    assert_close(p.inertia[1], 0.0, 1e-15);
    triangle_mesh_destroy(&m);
    assert_ok(triangle_mesh_sphere(c, 0.7, spacing[i], &m));
    assert_ok(level_set_sphere(c, 0.7, &s));
    assert_fits(m, &s, spacing[i]);
    triangle_mesh_destroy(&m);
    assert_ok(triangle_mesh_cylinder(a, b, 0.4, spacing[i], &m));
    assert_ok(level_set_cylinder(a, b, 0.4, &s));
    assert_fits(m, &s, spacing[i]);
    triangle_mesh_destroy(&m);
    assert_ok(triangle_mesh_capsule(a, b, 0.4, spacing[i], &m));
    assert_ok(level_set_capsule(a, b, 0.4, &s));
    assert_fits(m, &s, spacing[i]);
    triangle_mesh_destroy(&m);
    assert_ok(triangle_mesh_torus(c, axis, 0.8, 0.3, spacing[i], &m));
    assert_ok(level_set_torus(c, axis, 0.8, 0.3, &s));
    assert_fits(m, &s, spacing[i]);
    triangle_mesh_destroy(&m);
    assert_ok(triangle_mesh_ellipsoid(c, radii, spacing[i], &m));
    assert_ok(level_set_ellipsoid(c, radii, &s));
    assert_fits(m, &s, spacing[i]);
    triangle_mesh_destroy(&m);
    assert_ok(triangle_mesh_revolution(c, axis, 4, along, radius, spacing[i], &m));
    assert_ok(level_set_revolution(c, axis, 4, along, radius, &s));
    assert_fits(m, &s, spacing[i]);
    triangle_mesh_destroy(&m);
  }
  triangle_mesh *m = NULL;
  assert_int_not_equal(triangle_mesh_sphere(c, 1.0, 1e-5, &m), 0);
  assert_non_null(strstr(error_message(), "larger surface spacing"));
  error_clear();
  assert_no_leak();
}

/* Even vertices: the longest edge of a fine geodesic sphere over the shortest (flat subdivision reaches 1.5 and more). */
static void test_sphere_is_even(void **state)
{
  (void)state;
  const double   c[3]    = {0};
  double         longest = 0, shortest = 9;
  triangle_mesh *m = NULL;
  assert_ok(triangle_mesh_sphere(c, 1.0, 0.05, &m));
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) {
    double e[3];
    v3_sub(e, &m->x[3 * (int64_t)m->tri[i]], &m->x[3 * (int64_t)m->tri[i - i % 3 + (i + 1) % 3]]);
    longest = fmax(longest, v3_norm(e)), shortest = fmin(shortest, v3_norm(e));
  }
  assert_true(longest / shortest < 1.35);
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

/* Volume and centre of a mesh with the given volume of the shape: the error is at most `share` of the volume. */
static void assert_volume(triangle_mesh *m, double volume, double share)
{
  assert_sound(m, 1);
  const mass_properties p = triangle_mesh_mass(m);
  assert_close(p.volume, volume, share * volume);
  assert_true(p.volume < volume * (1 + 1e-12)); /* vertices of convex sections lie on the surface */
  triangle_mesh_destroy(&m);
}

/* Volumes of solids of revolution. The section of a circle of radius r by chords h misses about (h/r)^2/6 of its area; the spacing is a twentieth
 * of the smallest radius. */
static void test_volumes(void **state)
{
  (void)state;
  const double   a[3] = {-0.3, 0.1, 0.2}, b[3] = {0.5, 0.9, 1.3}, c[3] = {1, 2, 3}, axis[3] = {1, -1, 2}, radii[3] = {0.8, 0.5, 0.6};
  const double   length = sqrt(0.64 + 0.64 + 1.21), share = 4e-3;
  triangle_mesh *m = NULL;
  assert_ok(triangle_mesh_cylinder(a, b, 0.4, 0.02, &m));
  assert_volume(m, M_PI * 0.16 * length, share);
  assert_ok(triangle_mesh_capsule(a, b, 0.4, 0.02, &m));
  assert_volume(m, M_PI * 0.16 * (length + 4.0 / 3.0 * 0.4), share);
  assert_ok(triangle_mesh_torus(c, axis, 0.8, 0.3, 0.015, &m)); /* not convex, but its chords are inside where it curves most */
  assert_volume(m, 2.0 * M_PI * M_PI * 0.8 * 0.09, share);
  assert_ok(triangle_mesh_ellipsoid(c, radii, 0.025, &m));
  assert_volume(m, 4.0 / 3.0 * M_PI * 0.8 * 0.5 * 0.6, share);
  assert_no_leak();
}

/* Profiles with flat caps, one cap or none at their ends: sums of frusta. */
static void test_caps(void **state)
{
  (void)state;
  const double c[3] = {1, 2, 3}, axis[3] = {1, -1, 2}, along[4] = {-0.7, -0.1, 0.2, 0.9};
  for (int caps = 0; caps < 4; ++caps) {
    const double   radius[4] = {caps & 1 ? 0.8 : 0.0, 0.3, 0.4, caps & 2 ? 0.5 : 0.0};
    double         volume = 0.0, lowest = INFINITY, highest = -INFINITY;
    triangle_mesh *m = NULL;
    for (int i = 0; i < 3; ++i)
      volume +=
          M_PI / 3.0 * (along[i + 1] - along[i]) * (radius[i] * radius[i] + radius[i] * radius[i + 1] + radius[i + 1] * radius[i + 1]);
    assert_ok(triangle_mesh_revolution(c, axis, 4, along, radius, 0.02, &m));
    for (int64_t i = 0; i < m->n_vertices; ++i) {
      double d[3];
      v3_sub(d, &m->x[3 * i], c);
      const double z = v3_dot(d, axis) / v3_norm(axis);
      lowest = fmin(lowest, z), highest = fmax(highest, z);
    }
    assert_close(lowest, along[0], 1e-14);
    assert_close(highest, along[3], 1e-14);
    assert_volume(m, volume, 4e-3);
  }
  assert_no_leak();
}

/* The diagonals of a face alternate: its inner vertices have four or eight triangles, not six. Their areas then have the symmetry of the lattice. */
static void test_diagonals_of_boxes(void **state)
{
  (void)state;
  const double   a[3] = {0, 0, 0}, b[3] = {4, 3, 5};
  int            degree[200] = {0};
  triangle_mesh *m           = NULL;
  assert_ok(triangle_mesh_box(a, b, 1.0, &m));
  assert_int_equal(m->n_vertices, 2 * (12 + 15 + 20) + 2);
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) ++degree[m->tri[i]];
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    int n_sides = 0;
    for (int k = 0; k < 3; ++k) n_sides += m->x[3 * i + k] == a[k] || m->x[3 * i + k] == b[k];
    if (n_sides == 1) assert_true(degree[i] == 4 || degree[i] == 8);
  }
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_primitives), cmocka_unit_test(test_sphere_is_even), cmocka_unit_test(test_volumes),
          cmocka_unit_test(test_caps), cmocka_unit_test(test_diagonals_of_boxes))
