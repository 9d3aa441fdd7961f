/* Vertices of surfaces represent equal areas: on each smooth face, the Voronoi cell of every vertex has the mean area within 10 %. */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/triangle_mesh/ring_mesh.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "test.h"
#include <string.h>

/* Vertices on sharp edges lie on two faces, the corners of boxes on three. Their part of each face is smaller by nature: half a cell on an edge
 * of the face, a quarter at a corner of a rectangle. The tolerance is 10 % of a whole cell. An apex of a cone, and the few vertices of the ring next to it, are
 * not checked: the mesh is a pyramid there, whose faces are not close to the cone. */
static const double UNIFORM = 0.1;
static const double APEX    = 1.5; /* distance from an apex in units of the spacing */

/* Number of the smooth face that contains the point x; -1: not on the surface. */
typedef int find_face(const double x[3]);

enum { MOST_FACES = 8 };

/* Add the Voronoi cells of triangle t to area[MOST_FACES i] of its corners i: |opposite edge|^2 cot(angle) / 8 for both ends of each edge. This is exact if the
 * triangles are Delaunay triangles. Returns the area of the triangle. */
static double add_cells(const triangle_mesh *m, int64_t t, double *area)
{
  const int32_t *c = m->tri + 3 * t;
  double         e[3][3], n[3];
  for (int k = 0; k < 3; ++k) v3_sub(e[k], m->x + 3 * (int64_t)c[(k + 2) % 3], m->x + 3 * (int64_t)c[(k + 1) % 3]);
  v3_cross(n, e[0], e[1]);
  const double twice = v3_norm(n);
  for (int k = 0; k < 3; ++k) {
    const double part = -v3_dot(e[k], e[k]) * v3_dot(e[(k + 1) % 3], e[(k + 2) % 3]) / (8.0 * twice);
    area[MOST_FACES * (int64_t)c[(k + 1) % 3]] += part;
    area[MOST_FACES * (int64_t)c[(k + 2) % 3]] += part;
  }
  return 0.5 * twice;
}

static int count_faces(const uint8_t *on_face, int64_t vertex)
{
  int n = 0;
  for (int f = 0; f < MOST_FACES; ++f) n += on_face[MOST_FACES * vertex + f];
  return n;
}

/* Check each face, except near the apex (NULL: none). Destroys the mesh. */
static void assert_uniform(const char *name, double spacing, triangle_mesh *m, find_face *face, const double *apex)
{
  static const double share[4] = {0.0, 1.0, 0.5, 0.25}; /* cells of a vertex in each of its faces, by number of faces */
  uint8_t            *on_face;
  double             *area, whole[MOST_FACES] = {0.0}, cells[MOST_FACES] = {0.0};
  assert_ok(MEMORY_ALLOC("test", ARRAY(on_face, MOST_FACES * m->n_vertices), ARRAY(area, MOST_FACES * m->n_vertices)));
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    double center[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < 3; ++k) v3_axpy(center, 1.0 / 3.0, m->x + 3 * (int64_t)m->tri[3 * t + k]);
    const int f = face(center);
    whole[f] += add_cells(m, t, area + f);
    for (int k = 0; k < 3; ++k) on_face[MOST_FACES * (int64_t)m->tri[3 * t + k] + f] = 1;
  }
  for (int64_t i = 0; i < MOST_FACES * m->n_vertices; ++i)
    if (on_face[i]) cells[i % MOST_FACES] += share[count_faces(on_face, i / MOST_FACES)];
  for (int64_t i = 0; i < MOST_FACES * m->n_vertices; ++i) {
    const int64_t vertex = i / MOST_FACES;
    const int     f      = (int)(i % MOST_FACES);
    double        d[3]   = {INFINITY, 0.0, 0.0};
    if (apex) v3_sub(d, m->x + 3 * vertex, apex);
    if (!on_face[i] || v3_norm(d) < APEX * spacing) continue;
    const double error = area[i] * cells[f] / whole[f] - share[count_faces(on_face, vertex)];
    if (!(fabs(error) < UNIFORM))
      fail_msg("%s, spacing %g, face %d of %.1f cells: the cell of vertex %g %g %g is wrong by %.3f of the mean", name, spacing, f,
               cells[f], m->x[3 * vertex], m->x[3 * vertex + 1], m->x[3 * vertex + 2], error);
  }
  MEMORY_FREE(&on_face, &area);
  triangle_mesh_destroy(&m);
}

static int one_face(const double x[3])
{
  (void)x;
  return 0;
}

/* Cylinder, cone and truncated cone from z = 0 to z = 1. */
static int face_by_height(const double x[3]) { return x[2] < 1e-9 ? 0 : x[2] > 1.0 - 1e-9 ? 2 : 1; }

static int face_of_cube(const double x[3])
{
  for (int k = 0; k < 3; ++k)
    if (fabs(fabs(x[k]) - 0.5) < 1e-9) return 2 * k + (x[k] > 0.0);
  return 7;
}

/* The mesh is closed and not inside out. */
static void assert_sound(const triangle_mesh *m)
{
  triangle_mesh_defects d;
  assert_ok(triangle_mesh_check(m, &d));
  assert_true(triangle_mesh_is_sound(&d));
  assert_int_equal(d.n_parts, 1);
}

static void test_uniform(void **state)
{
  const double o[3] = {0, 0, 0}, z[3] = {0, 0, 1}, low[3] = {-0.5, -0.5, -0.5}, high[3] = {0.5, 0.5, 0.5}, flat[3] = {0, 0, 0.05};
  const double egg[3] = {0.8, 0.5, 0.6}, needle[3] = {0.3, 1, 0.4};
  const double along[2] = {0, 1}, cone[2] = {0.5, 0}, bucket[2] = {0.5, 0.3}, spacing[4] = {0.2, 0.11, 0.06, 0.03};
  (void)state;
  for (int i = 0; i < 4; ++i) {
    triangle_mesh *m;
    const double   h = spacing[i];
#define CHECK(name, face, apex, call)                                                                                                      \
  do {                                                                                                                                     \
    assert_ok(call);                                                                                                                       \
    assert_sound(m);                                                                                                                       \
    assert_uniform(name, h, m, face, apex);                                                                                                \
  } while (0)
    CHECK("sphere", one_face, NULL, triangle_mesh_sphere(o, 0.5, h, &m));
    CHECK("box", face_of_cube, NULL, triangle_mesh_box(low, high, h, &m));
    CHECK("cylinder", face_by_height, NULL, triangle_mesh_cylinder(o, z, 0.5, h, &m));
    CHECK("thin cylinder", face_by_height, NULL, triangle_mesh_cylinder(o, z, 0.1, h, &m));
    CHECK("capsule", one_face, NULL, triangle_mesh_capsule(o, z, 0.5, h, &m));
    CHECK("short capsule", one_face, NULL, triangle_mesh_capsule(o, flat, 0.5, h, &m));
    CHECK("torus", one_face, NULL, triangle_mesh_torus(o, z, 0.5, 0.2, h, &m));
    CHECK("fat torus", one_face, NULL, triangle_mesh_torus(o, z, 0.5, 0.4, h, &m));
    CHECK("ellipsoid", one_face, NULL, triangle_mesh_ellipsoid(o, egg, h, &m));
    if (i > 1) CHECK("needle", one_face, NULL, triangle_mesh_ellipsoid(o, needle, h, &m)); /* coarser meshes do not resolve its curvature */
    CHECK("cone", face_by_height, z, triangle_mesh_revolution(o, z, 2, along, cone, h, &m));
    CHECK("truncated cone", face_by_height, NULL, triangle_mesh_revolution(o, z, 2, along, bucket, h, &m));
#undef CHECK
  }
  assert_no_leak();
}

/* A load with equal forces on the vertices of a cap resists rotation about the axis with 2/3 of the radius, like a uniform load. Equal forces give the
 * vertices on the rim twice their area, so that the error decreases with the spacing; rings with equal numbers of vertices would converge to 1/2. */
static void test_lever_arm_of_cap(void **state)
{
  const double o[3] = {0, 0, 0}, z[3] = {0, 0, 1}, spacing[2] = {0.05, 0.025};
  double       error[2];
  (void)state;
  for (int i = 0; i < 2; ++i) {
    triangle_mesh *m;
    double         sum = 0.0;
    int64_t        n   = 0;
    assert_ok(triangle_mesh_cylinder(o, z, 0.5, spacing[i], &m));
    for (int64_t k = 0; k < m->n_vertices; ++k)
      if (m->x[3 * k + 2] == 0.0) sum += hypot(m->x[3 * k], m->x[3 * k + 1]) / 0.5, ++n;
    error[i] = sum / (double)n - 2.0 / 3.0;
    triangle_mesh_destroy(&m);
  }
  assert_true(error[0] > 0.0 && error[0] < 0.04);
  assert_close(error[0] / error[1], 2.0, 0.1);
  assert_no_leak();
}

/* A fibre: its length, not its width, limits the number of rings; each has three vertices. */
static void slender_shapes_have_few_vertices(void **state)
{
  triangle_mesh *m;
  (void)state;
  assert_ok(triangle_mesh_capsule((const double[3]){0, 0, 0}, (const double[3]){0, 0, 1}, 1e-9, 0.1, &m));
  assert_true(m->n_vertices >= 1200 && m->n_vertices <= 1210);
  assert_int_equal(m->n_triangles, 2 * m->n_vertices - 4); /* closed, without holes */
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_uniform), cmocka_unit_test(test_lever_arm_of_cap), cmocka_unit_test(slender_shapes_have_few_vertices))
