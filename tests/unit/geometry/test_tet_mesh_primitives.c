/* Tetrahedra in boxes, balls, cylinders and tori: sound, well shaped, exactly on the surface, the volume right to second order. */
#include "core/math3.h"
#include "core/team.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "test.h"
#include "tet_mesh_quality.h"
#include <float.h>
#include <string.h>

/* Coordinates up to 3 m go through some ten roundings, here and there. */
static const double ROUND_OFF = 32 * DBL_EPSILON;
static const double origin[3] = {0.3, -0.2, 0.1}, axis[3] = {1.0, 2.0, -1.5};

static PetscErrorCode make(int kind, double spacing, tet_mesh **out)
{
  const double far_end[3] = {origin[0] + axis[0], origin[1] + axis[1], origin[2] + axis[2]}, size[3] = {1.3, 0.8, 1.1};
  PetscFunctionBegin;
  if (kind == 0) PetscCall(tet_mesh_box(origin, size, spacing, out));
  else if (kind == 1) PetscCall(tet_mesh_sphere(origin, 0.7, spacing, out));
  else if (kind == 2) PetscCall(tet_mesh_cylinder(origin, far_end, 0.7, spacing, out));
  else PetscCall(tet_mesh_torus(origin, axis, 1.0, 0.4, spacing, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double volume_of(int kind)
{
  const double length = sqrt(1.0 + 4.0 + 2.25);
  return kind == 0 ? 1.0 * 1.0 * 1.0 : kind == 1 ? 4.0 / 3.0 * M_PI * 0.343 : kind == 2 ? M_PI * 0.49 * length : 2.0 * M_PI * M_PI * 0.16;
}

/* Distance of a point from the surface. */
static double off_surface(int kind, const double *x)
{
  double       d[3], a[3];
  const double length = v3_norm(axis);
  v3_sub(d, x, origin);
  v3_scale(a, 1.0 / length, axis);
  const double z = v3_dot(d, a), rho = sqrt(fmax(0.0, v3_dot(d, d) - z * z));
  if (kind == 0) {
    double least = INFINITY;
    for (int k = 0; k < 3; ++k) least = fmin(least, fmin(fabs(d[k]), fabs(d[k] - 1.0)));
    return least;
  }
  if (kind == 1) return fabs(v3_norm(d) - 0.7);
  if (kind == 2) return fmin(fabs(rho - 0.7), fmin(fabs(z), fabs(z - length)));
  return fabs(hypot(rho - 1.0, z) - 0.4);
}

/* Angles: cubes cut into five have 54.7 (acos 1/sqrt 3) to 90 degrees; of the others the documented bound. */
static void test_shapes(void **state)
{
  (void)state;
  const int euler[4] = {2, 2, 2, 0};
  for (int kind = 0; kind < 4; ++kind)
    for (double spacing = 2.0; spacing > 0.1; spacing /= 1.7) {
      tet_mesh        *m = NULL;
      tet_mesh_quality q;
      assert_ok(make(kind, spacing, &m));
      assert_ok(tet_mesh_require("shape", m, false, NULL));
      assert_ok(tet_mesh_measure(m, &q));
      assert_int_equal(q.euler, euler[kind]);
      assert_true(q.min_dihedral_deg > 15.0 && q.max_dihedral_deg < 135.0);
      if (kind == 0) {
        assert_true(q.min_dihedral_deg > acos(1.0 / sqrt(3.0)) * 180.0 / M_PI - 1e-9 && q.max_dihedral_deg < 90.0 + 1e-9);
        assert_close(tet_mesh_mass(m).volume, 1.0, 1e-12);
      } else assert_int_equal(kind == 2 ? 0 : q.n_locked_tets, 0);
      for (int64_t i = 0; i < m->surface->n_vertices; ++i) assert_close(off_surface(kind, &m->surface->x[3 * i]), 0.0, ROUND_OFF);
      assert_close(tet_mesh_mass(m).volume, triangle_mesh_mass(m->surface).volume, 1e-12);
      if (spacing < 0.7) assert_true(q.max_edge < 1.7 * spacing && q.min_edge > 0.15 * spacing);
      tet_mesh_destroy(&m);
    }
  assert_no_leak();
}

/* Halving the spacing halves the bricks: the volume that chords cut off falls fourfold. */
static void test_volume_order(void **state)
{
  (void)state;
  for (int kind = 1; kind < 4; ++kind) {
    double error[2];
    for (int i = 0; i < 2; ++i) {
      tet_mesh *m = NULL;
      assert_ok(make(kind, (kind == 3 ? 0.0786 : 0.1375) / (1 << i), &m)); /* 8 bricks a side, then 16 */
      error[i] = volume_of(kind) - tet_mesh_mass(m).volume;
      tet_mesh_destroy(&m);
    }
    assert_true(error[0] > 0.0); /* inscribed */
    assert_close(log2(error[0] / error[1]), 2.0, 0.06);
  }
  assert_no_leak();
}

/* Five tetrahedra a brick; the cube's mesh has all symmetries of a chessboard: the lumped masses have the moments of a cube. */
static void test_box_is_isotropic(void **state)
{
  (void)state;
  const double a[3] = {-0.5, -0.5, -0.5}, b[3] = {0.5, 0.5, 0.5};
  double       moment[6] = {0}, fourth[3] = {0};
  tet_mesh    *m = NULL;
  assert_ok(tet_mesh_box(a, b, 0.25, &m));
  assert_int_equal(m->n_tets, 5 * 64);
  assert_int_equal(m->n_vertices, 125);
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    const double *x = &m->x[3 * i];
    for (int k = 0; k < 3; ++k) {
      moment[k] += m->vertex_volume[i] * x[k] * x[k];
      moment[3 + k] += m->vertex_volume[i] * x[k] * x[(k + 1) % 3];
      fourth[k] += m->vertex_volume[i] * x[k] * x[k] * x[k] * x[k];
    }
  }
  for (int k = 0; k < 3; ++k) {
    assert_close(moment[k], moment[0], 1e-15);
    assert_close(moment[3 + k], 0.0, 1e-15);
    assert_close(fourth[k], fourth[0], 1e-15);
  }
  tet_mesh_destroy(&m);
  assert_no_leak();
}

/* A graded ball is the same ball, edges at its poles differ by the square of the factor, and angles of small elements are preserved. */
static void test_graded(void **state)
{
  (void)state;
  const double     factor = 5.0;
  tet_mesh        *even = NULL, *m = NULL;
  tet_mesh_quality before, after;
  double           shortest = INFINITY, longest = 0.0;
  assert_ok(make(1, 0.05, &even));
  assert_ok(make(1, 0.05, &m));
  assert_ok(tet_mesh_grade_sphere(origin, 0.7, axis, factor, m));
  assert_ok(tet_mesh_require("graded", m, false, NULL));
  assert_ok(tet_mesh_measure(even, &before));
  assert_ok(tet_mesh_measure(m, &after));
  for (int64_t i = 0; i < m->surface->n_vertices; ++i) assert_close(off_surface(1, &m->surface->x[3 * i]), 0.0, ROUND_OFF);
  assert_true(after.min_dihedral_deg > before.min_dihedral_deg - 3.0);
  /* scale of the surface's edges against the even mesh, by where they were: (1 - t^2) / (1 + 2 t cos + t^2) */
  const double t = (factor - 1.0) / (factor + 1.0);
  for (int64_t i = 0; i < 3 * m->surface->n_triangles; ++i) {
    const int64_t a = m->surface->tri[i], b = m->surface->tri[i - i % 3 + (i + 1) % 3];
    double        d[3], e[3], mid[3];
    v3_sub(d, &m->surface->x[3 * a], &m->surface->x[3 * b]);
    v3_sub(e, &even->surface->x[3 * a], &even->surface->x[3 * b]);
    v3_add(mid, &even->surface->x[3 * a], &even->surface->x[3 * b]);
    v3_axpy(mid, -2.0, origin);
    const double scale = v3_norm(d) / v3_norm(e), cosine = v3_dot(mid, axis) / (v3_norm(mid) * v3_norm(axis));
    assert_close(scale, (1.0 - t * t) / (1.0 + 2.0 * t * cosine + t * t), 0.02 * scale);
    shortest = fmin(shortest, scale), longest = fmax(longest, scale);
  }
  assert_close(shortest, 1.0 / factor, 0.02 / factor);
  assert_close(longest, factor, 0.02 * factor);
  tet_mesh_destroy(&even);
  tet_mesh_destroy(&m);
  assert_no_leak();
}

static void test_threads(void **state)
{
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    tet_mesh *m[3] = {NULL};
    for (int i = 0; i < 3; ++i) {
      team_set_threads(i == 0 ? 1 : i == 1 ? 2 : 7);
      assert_ok(make(kind, 0.12, &m[i]));
      assert_int_equal(m[i]->n_tets, m[0]->n_tets);
      assert_memory_equal(m[i]->x, m[0]->x, 3 * (size_t)m[0]->n_vertices * sizeof(double));
      assert_memory_equal(m[i]->tet, m[0]->tet, 4 * (size_t)m[0]->n_tets * sizeof(int32_t));
      assert_memory_equal(m[i]->vertex_volume, m[0]->vertex_volume, (size_t)m[0]->n_vertices * sizeof(double));
    }
    for (int i = 0; i < 3; ++i) tet_mesh_destroy(&m[i]);
  }
  team_set_threads(0);
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  const double a[3] = {0}, b[3] = {1, 1, 1}, flat[3] = {1, 0, 1};
  tet_mesh    *m = NULL;
#define REFUSED(call, text)                                                                                                                \
  do {                                                                                                                                     \
    assert_int_equal(call, PETSC_ERR_USER_INPUT);                                                                                          \
    if (!strstr(error_message(), text)) fail_msg("\"%s\" does not contain \"%s\"", error_message(), text);                                 \
    error_clear();                                                                                                                         \
  } while (0)
  REFUSED(tet_mesh_box(a, flat, 0.1, &m), "a box needs finite, positive sizes");
  REFUSED(tet_mesh_box(a, b, 0.0, &m), "positive spacing");
  REFUSED(tet_mesh_box(a, b, NAN, &m), "positive spacing");
  REFUSED(tet_mesh_box(a, b, 1e-5, &m), "choose a larger spacing");
  REFUSED(tet_mesh_sphere(a, -1.0, 0.1, &m), "a sphere needs");
  REFUSED(tet_mesh_sphere(a, 1.0, 1e-300, &m), "choose a larger spacing");
  assert_ok(tet_mesh_sphere(a, 1.0, 0.5, &m));
  REFUSED(tet_mesh_grade_sphere(a, 1.0, a, 2.0, m), "needs a direction");
  REFUSED(tet_mesh_grade_sphere(a, 1.0, b, 0.5, m), "a factor of at least 1");
  tet_mesh_destroy(&m);
  REFUSED(tet_mesh_cylinder(a, a, 1.0, 0.1, &m), "a cylinder needs");
  REFUSED(tet_mesh_torus(a, b, 1.0, 1.0, 0.1, &m), "the minor radius below the major one");
  REFUSED(tet_mesh_torus(a, a, 1.0, 0.5, 0.1, &m), "a torus");
#undef REFUSED
  assert_null(m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_shapes), cmocka_unit_test(test_volume_order), cmocka_unit_test(test_box_is_isotropic),
          cmocka_unit_test(test_graded), cmocka_unit_test(test_threads), cmocka_unit_test(test_errors))
