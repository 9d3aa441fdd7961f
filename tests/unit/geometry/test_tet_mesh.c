/* Tetrahedral meshes: volumes, surface, mass, quality, and all kinds of defects. */
#include "core/math3.h"
#include "core/random.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "test.h"
#include "tet_mesh_quality.h"
#include <float.h>
#include <string.h>

static tet_mesh *mesh_of(int64_t n_vertices, const double *x, int64_t n_tets, const int32_t *tet)
{
  tet_mesh *m = NULL;
  assert_ok(tet_mesh_create(n_vertices, n_tets, &m));
  if (n_vertices) memcpy(m->x, x, 3 * (size_t)n_vertices * sizeof *x);
  if (n_tets) memcpy(m->tet, tet, 4 * (size_t)n_tets * sizeof *tet);
  return m;
}

/* A cube of side 1 in n^3 bricks, with inner vertices displaced by up to 0.1 bricks: no tetrahedron is inverted. */
static tet_mesh *bumpy_cube(int n)
{
  const double a[3] = {0}, b[3] = {1, 1, 1};
  tet_mesh    *m = NULL;
  assert_ok(tet_mesh_box(a, b, 1.0 / n, &m));
  for (int64_t i = 0; i < m->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) {
      const double s = m->x[3 * i + k];
      if (s > 1e-6 && s < 1.0 - 1e-6) m->x[3 * i + k] += random_range(11, (uint64_t)i, (uint64_t)k, -0.1, 0.1) / n;
    }
  assert_ok(tet_mesh_finish(m));
  return m;
}

/* Regular: all dihedral angles are acos(1/3), the volume edge^3 / (6 sqrt 2). */
static void test_regular_tetrahedron(void **state)
{
  (void)state;
  const double     x[12]  = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1}; /* edge 2 sqrt 2 */
  const int32_t    tet[4] = {0, 1, 3, 2};
  tet_mesh        *m      = mesh_of(4, x, 1, tet);
  tet_mesh_defects d;
  tet_mesh_quality q;
  assert_ok(tet_mesh_finish(m));
  assert_ok(tet_mesh_check(m, &d));
  assert_true(tet_mesh_is_sound(&d, false));
  assert_close(m->volume[0], 8.0 / 3.0, 4 * DBL_EPSILON);
  for (int i = 0; i < 4; ++i) assert_close(m->vertex_volume[i], 2.0 / 3.0, 4 * DBL_EPSILON);
  assert_ok(tet_mesh_measure(m, &q));
  assert_close(q.min_dihedral_deg, acos(1.0 / 3.0) * 180.0 / M_PI, 1e-12);
  assert_close(q.max_dihedral_deg, acos(1.0 / 3.0) * 180.0 / M_PI, 1e-12);
  assert_close(q.area, 8.0 * sqrt(3.0), 1e-13);
  assert_close(q.min_edge, 2.0 * sqrt(2.0), 1e-14);
  assert_int_equal(q.euler, 2);
  assert_int_equal(q.n_boundary_edges, 6);
  assert_int_equal(q.n_sharp_edges, 6);
  assert_int_equal(q.n_locked_tets, 1);
  tet_mesh_destroy(&m);
  assert_no_leak();
}

/* The divergence theorem: integrals over the tetrahedra are those over the surface; every vertex inside is inside. */
static void test_surface_and_mass(void **state)
{
  (void)state;
  tet_mesh             *m = bumpy_cube(4);
  triangle_mesh_defects s;
  tet_mesh_quality      q;
  double                sum = 0.0, vertex_sum = 0.0;
  const double          c[3] = {3.0, -20.0, 7.0}, R[9] = {0, -1, 0, 0, 0, -1, 1, 0, 0};
  for (int pose = 0; pose < 2; ++pose) {
    const mass_properties p = tet_mesh_mass(m), surface = triangle_mesh_mass(m->surface);
    assert_ok(triangle_mesh_check(m->surface, &s));
    assert_true(triangle_mesh_is_sound(&s));
    assert_close(p.volume, pose ? 8.0 : 1.0, 1e-12);
    assert_close(surface.volume, p.volume, 1e-12);
    for (int k = 0; k < 3; ++k) assert_close(p.center[k], surface.center[k], 1e-11);
    for (int k = 0; k < 9; ++k) assert_close(p.inertia[k], surface.inertia[k], 1e-9); /* of up to 5.4, twenty away */
    assert_close(p.inertia[0], pose ? 32.0 / 6.0 : 1.0 / 6.0, 1e-9);
    for (int64_t i = 0; i < m->surface->n_vertices; ++i) {
      assert_memory_equal(&m->surface->x[3 * i], &m->x[3 * (int64_t)m->surface_vertex[i]], 3 * sizeof(double));
      if (i) assert_true(m->surface_vertex[i] > m->surface_vertex[i - 1]);
    }
    for (int64_t t = 0; t < m->surface->n_triangles; ++t) /* the triangle's corners belong to the tetrahedron behind it */
      for (int k = 0; k < 3; ++k) {
        const int32_t  v = m->surface_vertex[m->surface->tri[3 * t + k]];
        const int32_t *w = &m->tet[4 * (int64_t)m->surface_tet[t]];
        assert_true(v == w[0] || v == w[1] || v == w[2] || v == w[3]);
      }
    if (pose == 0) {
      tet_mesh_scale(m, 2.0);
      tet_mesh_transform(m, c, R);
    }
  }
  for (int64_t t = 0; t < m->n_tets; ++t) sum += m->volume[t];
  for (int64_t i = 0; i < m->n_vertices; ++i) vertex_sum += m->vertex_volume[i];
  assert_close(sum, 8.0, 1e-12);
  assert_close(vertex_sum, 8.0, 1e-12);
  assert_ok(tet_mesh_measure(m, &q));
  assert_close(q.area, 24.0, 1e-11);
  assert_int_equal(q.euler, 2);
  assert_int_equal(q.n_sharp_edges, 12 * 4);
  assert_int_equal(q.n_boundary_vertices, 6 * 16 + 2);
  tet_mesh_destroy(&m);
  assert_no_leak();
}

/* ---- defects ---- */

static const double  pair_x[15]  = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
static const int32_t pair_tet[8] = {0, 1, 2, 3, 1, 2, 3, 4};

static void assert_refused(tet_mesh *m, const tet_mesh_names *names, const char *expected)
{
  assert_int_equal(tet_mesh_require("body", m, false, names), PETSC_ERR_USER_INPUT);
  if (!strstr(error_message(), expected)) fail_msg("\"%s\" does not contain \"%s\"", error_message(), expected);
  error_clear();
  tet_mesh_destroy(&m);
}

static void test_orientation(void **state)
{
  (void)state;
  const int64_t        vertex[5] = {10, 20, 30, 40, 50}, tet[2] = {700, 800};
  const tet_mesh_names names = {vertex, tet};
  tet_mesh_defects     d;
  int64_t              n = 0;
  /* the second one is listed in mirrored order: detected, reported, repaired */
  const int32_t flipped[8] = {0, 1, 2, 3, 1, 2, 4, 3};
  tet_mesh     *m          = mesh_of(5, pair_x, 2, flipped);
  assert_ok(tet_mesh_check(m, &d));
  assert_int_equal(d.n_flipped, 1);
  assert_int_equal(d.n_inverted, 0);
  assert_ok(tet_mesh_orient(m, &n));
  assert_int_equal(n, 1);
  assert_ok(tet_mesh_check(m, &d));
  assert_true(tet_mesh_is_sound(&d, false));
  tet_mesh_destroy(&m);
  assert_refused(mesh_of(5, pair_x, 2, flipped), &names,
                 "1 tetrahedra list their vertices in mirrored order, the first is tetrahedron 800");
  /* the tip lies on the wrong side of the common face: reordering cannot repair it */
  double folded[15];
  memcpy(folded, pair_x, sizeof folded);
  v3_set(&folded[12], 0.1, 0.1, 0.1);
  m = mesh_of(5, folded, 2, flipped);
  assert_ok(tet_mesh_orient(m, &n));
  assert_refused(m, &names, "1 tetrahedra are inverted: they lie on the wrong side of a face, the first is tetrahedron 800");
  /* many randomly flipped tetrahedra, and one inner vertex moved through its neighbours */
  m              = bumpy_cube(5);
  int64_t n_made = 0, inner = -1;
  for (int64_t t = 0; t < m->n_tets; ++t)
    if (random_index(5, (uint64_t)t, 0, 3) == 0) {
      const int32_t swap = m->tet[4 * t];
      m->tet[4 * t] = m->tet[4 * t + 1], m->tet[4 * t + 1] = swap, ++n_made;
    }
  assert_ok(tet_mesh_check(m, &d));
  assert_int_equal(d.n_flipped, n_made);
  assert_int_equal(d.n_inverted, 0);
  assert_ok(tet_mesh_orient(m, &n));
  assert_int_equal(n, n_made);
  assert_ok(tet_mesh_check(m, &d));
  assert_true(tet_mesh_is_sound(&d, false));
  for (int64_t i = 0; i < m->n_vertices && inner < 0; ++i)
    if (fabs(m->x[3 * i] - 0.4) < 0.05 && fabs(m->x[3 * i + 1] - 0.4) < 0.05 && fabs(m->x[3 * i + 2] - 0.4) < 0.05) inner = i;
  m->x[3 * inner] += 0.5;
  assert_ok(tet_mesh_orient(m, &n));
  assert_int_equal(n, 0);
  assert_ok(tet_mesh_check(m, &d));
  assert_true(d.n_inverted > 0 && d.n_inverted < 30 && d.n_flipped == 0);
  assert_refused(m, NULL, "tetrahedra are inverted");
  assert_no_leak();
}

static void test_defects(void **state)
{
  (void)state;
  const int64_t        vertex[8] = {10, 20, 30, 40, 50, 60, 70, 80}, tet[3] = {700, 800, 900};
  const tet_mesh_names names = {vertex, tet};
  double               x[24];
  memcpy(x, pair_x, sizeof pair_x);
  v3_set(&x[15], 2, 2, 0), v3_set(&x[18], 3, 0, 5), v3_set(&x[21], -1, -1, -1);
  const int32_t beyond[8] = {0, 1, 2, 3, 1, 2, 3, 5}, negative[8] = {0, 1, 2, 3, 1, 2, 3, -1}, twice[8] = {0, 1, 2, 3, 1, 2, 3, 3};
  assert_refused(mesh_of(5, x, 2, beyond), &names, "1 tetrahedra refer to vertices that do not exist, the first is tetrahedron 800");
  assert_refused(mesh_of(5, x, 2, negative), NULL, "the first is tetrahedron 1");
  assert_refused(mesh_of(5, x, 2, twice), &names, "1 tetrahedra have no volume, the first is tetrahedron 800");
  assert_refused(mesh_of(0, x, 0, beyond), NULL, "there are no tetrahedra");
  assert_refused(mesh_of(6, x, 2, pair_tet), &names, "1 vertices belong to no tetrahedron and would have no mass, the first is vertex 60");
  double bad[15];
  memcpy(bad, x, sizeof bad);
  bad[7] = NAN;
  assert_refused(mesh_of(5, bad, 2, pair_tet), &names, "1 vertices are not finite numbers, the first is vertex 30");
  memcpy(bad, x, sizeof bad); /* a sliver: the tip 1e-10 off the plane of its face, then 1e-8: only thin */
  v3_set(&bad[12], (1.0 + 1e-10) / 3.0, (1.0 + 1e-10) / 3.0, (1.0 + 1e-10) / 3.0);
  assert_refused(mesh_of(5, bad, 2, pair_tet), &names, "the first is tetrahedron 800; remesh");
  v3_set(&bad[12], (1.0 + 1e-7) / 3.0, (1.0 + 1e-7) / 3.0, (1.0 + 1e-7) / 3.0);
  tet_mesh *thin = mesh_of(5, bad, 2, pair_tet);
  assert_ok(tet_mesh_require("body", thin, false, NULL));
  tet_mesh_destroy(&thin);
  /* a third one on a face that has two already */
  const int32_t crowded[12] = {0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 5};
  assert_refused(mesh_of(6, x, 3, crowded), &names, "1 faces belong to more than two tetrahedra, the first has the vertices 20, 30 and 40");
  /* two apart; two that share an edge, or a vertex; two that only seem to share a face */
  const int32_t apart[8] = {0, 1, 2, 3, 4, 5, 6, 7}, edge[8] = {0, 1, 2, 3, 2, 3, 4, 7}, corner[8] = {0, 1, 2, 3, 3, 4, 5, 6};
  tet_mesh     *m = mesh_of(8, x, 2, apart);
  assert_ok(tet_mesh_orient(m, NULL));
  assert_ok(tet_mesh_require("body", m, true, NULL));
  assert_refused(m, &names, "2 separate parts, tetrahedron 800 is not in the first");
  const double edge_x[24] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 9, 9, 9, 9, 9, 9, -1, -1, 0};
  m                       = mesh_of(8, edge_x, 2, edge);
  assert_ok(tet_mesh_orient(m, NULL));
  assert_ok(tet_mesh_compact(m, NULL));
  assert_int_equal(m->n_vertices, 6);
  assert_refused(m, NULL, "the boundary touches itself at 1 places, the first is the edge between vertices 2 and 3");
  m = mesh_of(7, x, 2, corner);
  assert_ok(tet_mesh_orient(m, NULL));
  assert_refused(m, &names, "the boundary touches itself at 1 vertices, the first is vertex 40");
  const double  seam_x[24]  = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  const int32_t seam_tet[8] = {0, 1, 2, 3, 5, 6, 7, 4};
  assert_refused(mesh_of(8, seam_x, 2, seam_tet), &names,
                 "3 vertices coincide with another vertex, the first is vertex 60 with vertex 20; merge");
  double gap_x[24]; /* a gap of a millionth of the mesh's size is a gap */
  memcpy(gap_x, seam_x, sizeof gap_x);
  for (int k = 0; k < 9; ++k) gap_x[15 + k] += 1e-6;
  m = mesh_of(8, gap_x, 2, seam_tet);
  assert_ok(tet_mesh_require("body", m, true, NULL));
  tet_mesh_destroy(&m);
  assert_no_leak();
}

/* A ring of prisms, each cut into eight around its middle; closed with two corners exchanged it is a solid Klein bottle. */
static tet_mesh *prism_ring(bool is_twisted)
{
  enum { N = 6 };
  tet_mesh *m  = NULL;
  int64_t   at = 0;
  assert_ok(tet_mesh_create(4 * N, 8 * N, &m));
  for (int64_t i = 0; i < 12 * N; ++i) m->x[i] = random_range(2, (uint64_t)i, 0, -1.0, 1.0);
  for (int l = 0; l < N; ++l) {
    int32_t   a[3], b[3];
    const int next = (l + 1) % N;
    for (int k = 0; k < 3; ++k) a[k] = 4 * l + k, b[k] = 4 * next + (is_twisted && next == 0 && k ? 3 - k : k);
    const int32_t middle    = 4 * l + 3;
    int32_t       tri[8][3] = {{a[0], a[1], a[2]}, {b[0], b[1], b[2]}};
    for (int k = 0; k < 3; ++k) { /* the side along edge k: its diagonal starts at the smallest vertex */
      const int32_t quad[4] = {a[k], a[(k + 1) % 3], b[(k + 1) % 3], b[k]};
      int           least   = 0;
      for (int q = 1; q < 4; ++q) least = quad[q] < quad[least] ? q : least;
      for (int q = 0; q < 2; ++q)
        tri[2 + 2 * k + q][0] = quad[least], tri[2 + 2 * k + q][1] = quad[(least + 1 + q) % 4],
                        tri[2 + 2 * k + q][2] = quad[(least + 2 + q) % 4];
    }
    for (int t = 0; t < 8; ++t) {
      memcpy(&m->tet[4 * at], tri[t], sizeof tri[t]);
      m->tet[4 * at++ + 3] = middle;
    }
  }
  return m;
}

static void test_mirror_image(void **state)
{
  (void)state;
  tet_mesh_defects d;
  tet_mesh        *m = prism_ring(false);
  assert_ok(tet_mesh_check(m, &d));
  assert_int_equal(d.n_nonmanifold + d.n_twisted, 0);
  assert_int_equal(d.n_parts, 1);
  tet_mesh_destroy(&m);
  assert_refused(prism_ring(true), NULL, "the mesh is not orientable");
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_regular_tetrahedron), cmocka_unit_test(test_surface_and_mass), cmocka_unit_test(test_orientation),
          cmocka_unit_test(test_defects), cmocka_unit_test(test_mirror_image))
