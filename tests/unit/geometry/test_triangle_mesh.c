/* Triangle meshes: defects are reported, integrals are exact and converge. */
#include "core/math3.h"
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

/* Integrals do not care where the body is or how it is turned; those of a tessellated sphere approach the ball's as h^2. */
static void test_mass(void **state)
{
  (void)state;
  const double   zero[3] = {0}, far[3] = {1000, -2000, 3000};
  const double   R[9] = {0.6, -0.8, 0, 0.8, 0.6, 0, 0, 0, 1};
  const double   a[3] = {0, 0, 0}, b[3] = {1, 2, 3};
  triangle_mesh *m = NULL, *copy = NULL;
  assert_ok(triangle_mesh_box(a, b, 0.5, &m));
  const mass_properties p = triangle_mesh_mass(m);
  assert_ok(triangle_mesh_copy(m, &copy));
  triangle_mesh_transform(copy, far, R);
  const mass_properties q = triangle_mesh_mass(copy), t = mass_properties_transform(&p, far, R);
  /* coordinates of 3000 carry round-off 5e-13, which the integrals inherit, but none of 3000^2 or 3000^5 */
  assert_close(q.volume, p.volume, 1e-10);
  for (int k = 0; k < 3; ++k) assert_close(q.center[k], t.center[k], 1e-11);
  for (int k = 0; k < 9; ++k) assert_close(q.inertia[k], t.inertia[k], 1e-10);
  assert_close(t.inertia[0], 0.36 * p.inertia[0] + 0.64 * p.inertia[4], 1e-14);
  triangle_mesh_scale(copy, 2.0);
  assert_close(triangle_mesh_mass(copy).volume, 8.0 * p.volume, 1e-9);
  triangle_mesh_destroy(&m);
  triangle_mesh_destroy(&copy);
  double error[2];
  for (int i = 0; i < 2; ++i) {
    assert_ok(triangle_mesh_sphere(zero, 1.0, i ? 0.05 : 0.1, &m));
    const mass_properties s = triangle_mesh_mass(m);
    error[i]                = 4.0 / 3.0 * M_PI - s.volume;
    assert_close(s.inertia[0], 0.4 * s.volume, 1e-2 * s.volume);
    assert_close(s.inertia[0], s.inertia[8], 1e-13); /* icosahedral symmetry */
    for (int k = 0; k < 3; ++k) assert_close(s.center[k], 0.0, 1e-15);
    triangle_mesh_destroy(&m);
  }
  assert_close(error[0] / error[1], 4.0, 0.4);
  assert_no_leak();
}

static void assert_defect(const triangle_mesh *m, const char *expected)
{
  triangle_mesh_defects d;
  char                  text[256];
  assert_ok(triangle_mesh_check(m, &d));
  assert_false(triangle_mesh_is_sound(&d));
  triangle_mesh_defects_text(m, &d, sizeof text, text);
  if (!strstr(text, expected)) fail_msg("\"%s\" does not contain \"%s\"", text, expected);
}

static void test_defects(void **state)
{
  (void)state;
  const double   a[3] = {0}, b[3] = {1, 1, 1};
  triangle_mesh *m = NULL, *two = NULL;
  assert_ok(triangle_mesh_box(a, b, 0.5, &m));
  assert_sound(m, 1);
  const double x = m->x[7];
  m->x[7]        = NAN;
  assert_defect(m, "1 vertices are not finite numbers, the first is vertex 2");
  m->x[7]         = x;
  const int32_t v = m->tri[4];
  m->tri[4]       = (int32_t)m->n_vertices;
  assert_defect(m, "refer to vertices that do not exist, the first is triangle 1");
  m->tri[4] = -1;
  assert_defect(m, "do not exist");
  m->tri[4] = v;
  triangle_mesh_flip(m);
  assert_defect(m, "inside out");
  triangle_mesh_flip(m);
  m->n_triangles -= 2;
  assert_defect(m, "the surface is open: 4 edges");
  m->n_triangles += 2;
  const int32_t swap = m->tri[0];
  m->tri[0] = m->tri[1], m->tri[1] = swap;
  assert_defect(m, "have opposite orientations at 3 edges");
  m->tri[1] = m->tri[0], m->tri[0] = swap;
  assert_sound(m, 1);
  /* two boxes: side by side one mesh with two parts; sharing an edge or a vertex, not a surface of a solid */
  for (int touch = 0; touch < 3; ++touch) {
    assert_ok(triangle_mesh_create(2 * m->n_vertices, 2 * m->n_triangles, &two));
    for (int64_t i = 0; i < m->n_vertices; ++i)
      for (int k = 0; k < 3; ++k) {
        two->x[3 * i + k]                   = m->x[3 * i + k];
        two->x[3 * (m->n_vertices + i) + k] = m->x[3 * i + k] + (touch == 0 ? 2.0 : touch == 1 || k < 2 ? 1.0 : 0.0);
      }
    for (int64_t i = 0; i < 3 * m->n_triangles; ++i) {
      two->tri[i]                      = m->tri[i];
      two->tri[3 * m->n_triangles + i] = m->tri[i] + (int32_t)m->n_vertices;
      for (int64_t j = 0; touch && j < m->n_vertices; ++j) { /* weld */
        double d[3];
        v3_sub(d, &two->x[3 * j], &two->x[3 * (int64_t)two->tri[3 * m->n_triangles + i]]);
        if (v3_norm(d) == 0.0) two->tri[3 * m->n_triangles + i] = (int32_t)j;
      }
    }
    if (touch == 0) assert_sound(two, 2);
    if (touch == 1) assert_defect(two, "touches itself at 1 vertices");
    if (touch == 2) assert_defect(two, "more than two triangles");
    triangle_mesh_destroy(&two);
  }
  /* a triangle without area between three vertices of one edge */
  assert_ok(triangle_mesh_create(4, 4, &two));
  const int32_t tet[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
  memcpy(two->tri, tet, sizeof tet);
  two->x[3] = two->x[7] = two->x[11] = 1.0;
  assert_sound(two, 1);
  two->x[11] = 0.0, two->x[9] = 0.5; /* on the edge 0-1 */
  assert_defect(two, "no area");
  triangle_mesh_destroy(&two);
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

/* Sorting and compacting change numbers, not the body; neighbours come closer. */
static void test_sort_and_compact(void **state)
{
  (void)state;
  const double   c[3]    = {0.1, 0.2, 0.3};
  double         jump[2] = {0};
  triangle_mesh *m = NULL, *wide = NULL;
  assert_ok(triangle_mesh_sphere(c, 1.0, 0.05, &m));
  const mass_properties before = triangle_mesh_mass(m);
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 1; i < m->n_vertices; ++i) {
      double e[3];
      v3_sub(e, &m->x[3 * i], &m->x[3 * (i - 1)]);
      jump[pass] = fmax(jump[pass], v3_norm(e));
    }
    if (pass == 0) assert_ok(triangle_mesh_sort(m));
  }
  assert_sound(m, 1);
  const mass_properties after = triangle_mesh_mass(m);
  assert_close(before.volume, after.volume, 1e-13);
  for (int k = 0; k < 9; ++k) assert_close(before.inertia[k], after.inertia[k], 1e-13);
  assert_ok(triangle_mesh_create(m->n_vertices + 5, m->n_triangles, &wide));
  memcpy(wide->x + 9, m->x, 3 * (size_t)m->n_vertices * sizeof(double)); /* 3 unused before, 2 after */
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) wide->tri[i] = m->tri[i] + 3;
  assert_ok(triangle_mesh_compact(wide));
  assert_int_equal(wide->n_vertices, m->n_vertices);
  assert_memory_equal(wide->x, m->x, 3 * (size_t)m->n_vertices * sizeof(double));
  assert_memory_equal(wide->tri, m->tri, 3 * (size_t)m->n_triangles * sizeof(int32_t));
  triangle_mesh_destroy(&wide);
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

/* Two boxes: apart, touching, one inside the other, overlapping on the same lattice and off it; a fold at a shared vertex. */
static int64_t crossings_of_boxes(const double shift[3], double factor, double *depth)
{
  const double   a[3] = {0}, b[3] = {1, 1, 1}, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  triangle_mesh *m = NULL, *two = NULL;
  int64_t        n;
  int32_t        first[2];
  assert_ok(triangle_mesh_box(a, b, 0.0, &m)); /* its corners alone */
  const int64_t n_vertices = m->n_vertices, n_triangles = m->n_triangles;
  assert_ok(triangle_mesh_create(2 * n_vertices, 2 * n_triangles, &two));
  for (int part = 0; part < 2; ++part) {
    memcpy(two->x + 3 * part * n_vertices, m->x, 3 * (size_t)n_vertices * sizeof(double));
    for (int64_t i = 0; i < 3 * n_triangles; ++i) two->tri[3 * part * n_triangles + i] = m->tri[i] + part * (int32_t)n_vertices;
    triangle_mesh_scale(m, factor);
    triangle_mesh_transform(m, shift, identity);
  }
  assert_ok(triangle_mesh_crossings(two, &n, first, depth));
  if (n > 0) assert_true(first[0] >= 0 && first[0] < n_triangles && first[1] >= n_triangles); /* no box crosses itself */
  else assert_int_equal(first[0], -1);
  triangle_mesh_destroy(&m);
  triangle_mesh_destroy(&two);
  return n;
}

static void test_crossings(void **state)
{
  (void)state;
  char           text[256];
  const double   a[3] = {0}, b[3] = {1, 1, 1};
  triangle_mesh *m = NULL;
  int64_t        n;
  int32_t        first[2];
  double         depth;
  assert_int_equal(crossings_of_boxes((const double[3]){2.0, 0.0, 0.0}, 1.0, &depth), 0);
  assert_int_equal(crossings_of_boxes((const double[3]){1.0, 0.0, 0.0}, 1.0, &depth), 0); /* face on face */
  /* the same, as rounding leaves it */
  assert_int_equal(crossings_of_boxes((const double[3]){1.0 - 0x1p-52, 0.0, 0.0}, 1.0, &depth), 0);
  assert_true(crossings_of_boxes((const double[3]){1.0 - 0x1p-40, 0.0, 0.0}, 1.0, &depth) > 0);
  assert_int_equal(crossings_of_boxes((const double[3]){0.25, 0.25, 0.25}, 0.5, &depth), 0); /* inside */
  assert_int_equal(crossings_of_boxes((const double[3]){0.0, 0.0, 0.0}, 1.0, &depth), 0);    /* the same place */
  assert_true(crossings_of_boxes((const double[3]){0.5, 0.5, 0.5}, 1.0, &depth) > 0);        /* edges through edges */
  assert_true(crossings_of_boxes((const double[3]){0.37, 0.21, 0.73}, 1.0, &depth) > 0);
  assert_true(crossings_of_boxes((const double[3]){0.4, 0.3, 0.999999}, 0.1, &depth) > 0);
  /* a small box whose bottom is 0.02 under a face, away from its rim and its diagonal: so deep are the edges that go through */
  assert_true(crossings_of_boxes((const double[3]){0.6, 0.2, 0.98}, 0.1, &depth) > 0);
  assert_close(depth, 0.02, 1e-15);
  /* one that is off the rim by 0.01 is as deep as that, however far down its edges go */
  assert_true(crossings_of_boxes((const double[3]){-0.09, 0.3, 0.5}, 0.1, &depth) > 0);
  assert_close(depth, 0.01, 1e-15);
  /* a box whose bottom is moved through its top */
  assert_ok(triangle_mesh_box(a, b, 0.5, &m));
  assert_ok(triangle_mesh_crossings_text(m, sizeof text, text));
  assert_string_equal(text, "");
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (m->x[3 * i] == 0.5 && m->x[3 * i + 1] == 0.5 && m->x[3 * i + 2] == 0.0) m->x[3 * i + 2] = 1.25;
  assert_ok(triangle_mesh_crossings(m, &n, first, NULL));
  assert_true(n > 0);
  assert_ok(triangle_mesh_crossings_text(m, sizeof text, text));
  assert_non_null(strstr(text, "passes through itself"));
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_mass), cmocka_unit_test(test_defects), cmocka_unit_test(test_crossings),
          cmocka_unit_test(test_sort_and_compact))
