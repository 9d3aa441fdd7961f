/* Relaxation on triangle meshes: planes, ridges, borders, closest points, derivatives against differences. */
#include "relaxation_meshes.h"
#include "relax_plane.h"
#include <string.h>

static bool same_way(const mesh_relaxation *a, const mesh_relaxation *b)
{
  return a->n_places == b->n_places && memcmp(a->place, b->place, (size_t)a->n_places) == 0 && a->at.triangle == b->at.triangle;
}

/* In a single large triangle the mesh is a plane: the same Y, state and derivative as the plane's closed form. */
static void test_plane(void **unused)
{
  (void)unused;
  const double       x[9] = {-50.0, -40.0, 0.7, 60.0, -45.0, 0.7, 3.0, 70.0, 0.7}, n[3] = {0.0, 0.0, 1.0};
  const int32_t      tri[3] = {0, 1, 2};
  triangle_topology *t;
  mesh_relaxation    r;
  int                counts[4] = {0};
  assert_ok(triangle_topology_create(3, 1, tri, &t));
  for (int k = 0; k < 1000; ++k) {
    mesh_attachment X = {0, {uniform(0.3, 0.35), uniform(0.3, 0.35), 0.0}};
    double          X0[3], Z[3], Y[3], A[9], B[9];
    X.weight[2] = 1.0 - X.weight[0] - X.weight[1];
    point_of(t, x, &X, X0);
    random_near(X0, 1.0, Z);
    const double      mu       = uniform(0.0, 1.5);
    const relax_state expected = relax_plane(n, 0.7, mu, X0, Z, Y, A);
    relax_mesh(t, x, mu, &X, Z, true, &r);
    assert_int_equal(r.state, expected);
    ++counts[expected];
    if (expected == RELAX_INACTIVE) continue;
    for (int j = 0; j < 3; ++j) assert_close(r.Y[j], Y[j], 1e-13); /* positions are up to 70 */
    mesh_relaxation_block(t, x, &r, 0, B);
    for (int j = 0; j < 9; ++j) assert_close(B[j], A[j], 1e-11);
    mesh_relaxation again;
    relax_mesh(t, x, mu, &r.at, Z, false, &again); /* idempotent on a plane, up to the round-off of the cone */
    assert_close(distance(again.Y, r.Y), 0.0, 1e-13);
  }
  if (getenv("STICKSLIP_VERBOSE"))
    printf("inactive %d stick %d slide %d\n", counts[RELAX_INACTIVE], counts[RELAX_STICK], counts[RELAX_SLIDE]);
  assert_true(counts[RELAX_INACTIVE] > 50 && counts[RELAX_STICK] > 50 && counts[RELAX_SLIDE] > 50);
  triangle_topology_destroy(&t);
  assert_no_leak();
}

/* Derivatives by central differences with respect to Z and all nodes at once, in random directions. Relaxations whose chain
 * changes within the difference are kinks and are skipped. */
static int check_derivatives(const triangle_mesh *m, const triangle_topology *t, double mu, double size, uint64_t *seen)
{
  static mesh_relaxation r, p, q;
  mesh_attachment        X;
  double                 X0[3], Z[3], scale = 0.0;
  double                *x = malloc((size_t)(3 * m->n_vertices) * sizeof *x), *dx = malloc((size_t)(3 * m->n_vertices) * sizeof *dx);
  int                    checked = 0;
  random_attachment(t, &X);
  point_of(t, m->x, &X, X0);
  random_near(X0, size, Z);
  relax_mesh(t, m->x, mu, &X, Z, true, &r);
  for (int direction = 0; direction < 4; ++direction) {
    double       dZ[3], Y[2][3], predicted[3] = {0.0}, block[9], term[3];
    const double h = 1e-7;
    for (int j = 0; j < 3; ++j) dZ[j] = uniform(-1.0, 1.0);
    for (int64_t j = 0; j < 3 * m->n_vertices; ++j) dx[j] = uniform(-1.0, 1.0);
    for (int side = 0; side < 2; ++side) {
      const double s = side ? h : -h;
      double       Zs[3];
      for (int64_t j = 0; j < 3 * m->n_vertices; ++j) x[j] = m->x[j] + s * dx[j];
      v3_copy(Zs, Z);
      v3_axpy(Zs, s, dZ);
      relax_mesh(t, x, mu, &X, Zs, false, side ? &q : &p);
      v3_copy(Y[side], side ? q.Y : p.Y);
    }
    if (!same_way(&p, &r) || !same_way(&q, &r) || (p.state == RELAX_STICK) != (q.state == RELAX_STICK)) continue;
    for (int j = 0; j <= r.n_nodes; ++j) {
      mesh_relaxation_block(t, m->x, &r, j, block);
      m3_mulv(term, block, j == 0 ? dZ : dx + 3 * (int64_t)r.node[j - 1]);
      v3_axpy(predicted, 1.0, term);
      for (int k = 0; k < 9; ++k) scale = fmax(scale, fabs(block[k]));
    }
    for (int j = 0; j < 3; ++j) assert_close((Y[1][j] - Y[0][j]) / (2.0 * h), predicted[j], 1e-6 * (1.0 + scale * scale));
    ++checked;
  }
  if (checked) {
    uint64_t chain = 0;
    for (int k = 0; k < r.n_places && k < 20; ++k) chain = chain * 5 + r.place[k];
    for (int k = 0; k < 256; ++k) {
      if (seen[k] == chain) break;
      if (seen[k]) continue;
      seen[k] = chain;
      break;
    }
  }
  free(x);
  free(dx);
  return checked;
}

static void test_derivatives(void **unused)
{
  (void)unused;
  triangle_mesh     *ball, *sheet;
  triangle_topology *ball_t, *sheet_t;
  uint64_t           seen[256] = {0};
  int                checked = 0, chains = 0;
  state = 2;
  bumpy_ball(0.7, 0.3, &ball, &ball_t);
  bumpy_sheet(4, 0.3, &sheet, &sheet_t);
  for (int k = 0; k < 8000; ++k) {
    const double mu = k % 3 == 0 ? 0.0 : uniform(0.0, 0.6), size = uniform(0.05, 0.9);
    if (k % 2) checked += check_derivatives(ball, ball_t, mu, size, seen);
    else checked += check_derivatives(sheet, sheet_t, mu, 0.5 * size, seen);
  }
  while (chains < 256 && seen[chains]) ++chains;
  if (getenv("STICKSLIP_VERBOSE")) printf("%d derivatives, %d distinct chains\n", checked, chains);
  assert_true(checked > 25000);
  assert_true(chains >= 40); /* 1, 1-2, 1-2-3, 1-4, 1-2-3-4-2 ...: all of them met */
  triangle_mesh_destroy(&ball);
  triangle_mesh_destroy(&sheet);
  triangle_topology_destroy(&ball_t);
  triangle_topology_destroy(&sheet_t);
  assert_no_leak();
}

/* Without friction the end is a local minimum of the distance: on a convex body the nearest point itself, and the separation test
 * is inside or outside. */
static void test_closest_point(void **unused)
{
  (void)unused;
  const double           center[3] = {0.0, 0.0, 0.0};
  triangle_mesh         *m;
  triangle_topology     *t;
  static mesh_relaxation r;
  state = 4;
  assert_ok(triangle_mesh_sphere(center, 1.0, 0.5, &m));
  assert_ok(triangle_topology_create(m->n_vertices, m->n_triangles, m->tri, &t));
  for (int k = 0; k < 3000; ++k) {
    double          Z[3], best = INFINITY;
    mesh_attachment X;
    for (int j = 0; j < 3; ++j) Z[j] = uniform(-1.2, 1.2);
    if (v3_norm(Z) < 0.99) continue; /* outside: the nearest point of a convex body is the only local minimum */
    double X0[3];
    do { /* from the far side there are others: feet of perpendiculars onto faces with opposite normals */
      random_attachment(t, &X);
      point_of(t, m->x, &X, X0);
    } while (v3_dot(X0, Z) < 0.5 * v3_norm(Z));
    relax_mesh(t, m->x, 0.0, &X, Z, false, &r);
    double deepest = -INFINITY;
    for (int64_t i = 0; i < t->n_triangles; ++i) {
      const double *P = m->x + 3 * (int64_t)t->tri[3 * i], *Q = m->x + 3 * (int64_t)t->tri[3 * i + 1],
                   *R = m->x + 3 * (int64_t)t->tri[3 * i + 2];
      double e1[3], e2[3], n[3], z[3];
      v3_sub(e1, Q, P);
      v3_sub(e2, R, P);
      v3_cross(n, e1, e2);
      v3_sub(z, Z, P);
      deepest = fmax(deepest, v3_dot(z, n) / v3_norm(n));
      for (int s = 0; s < 200; ++s) { /* the distance to a triangle from above: dense samples */
        const double a = (s % 15) / 14.0, b = (s / 15) / 14.0 * (1.0 - a);
        double       y[3];
        v3_copy(y, P);
        v3_axpy(y, a, e1);
        v3_axpy(y, b, e2);
        best = fmin(best, distance(y, Z));
      }
    }
    if (deepest > 1e-9) {
      assert_true(distance(r.Y, Z) <= best + 1e-12);
      assert_int_equal(r.state, RELAX_INACTIVE);
    } else if (deepest < -1e-9) assert_int_not_equal(r.state, RELAX_INACTIVE);
  }
  triangle_mesh_destroy(&m);
  triangle_topology_destroy(&t);
  assert_no_leak();
}

/* On a wire of two triangles (a ridge) the attachment may end along the ridge: Coulomb against the whole pull across it. */
static void test_ridge(void **unused)
{
  (void)unused;
  /* a long valley along x, open to +z: the triangles share the concave edge 0-1 */
  const double       x[12]  = {0.0, 0.0, 0.0, 10.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0, -5.0, 5.0};
  const int32_t      tri[6] = {0, 1, 2, 1, 0, 3};
  triangle_topology *t;
  mesh_relaxation    r;
  assert_ok(triangle_topology_create(4, 2, tri, &t));
  const mesh_attachment X    = {0, {0.6, 0.2, 0.2}};
  const double          Z[3] = {6.0, 0.0, -1.0}, mu = 0.3; /* below the valley: both triangles attract it */
  relax_mesh(t, x, mu, &X, Z, true, &r);
  assert_int_equal(r.place[r.n_places - 1], ALONG_EDGE);
  assert_close(r.Y[0], 6.0 - mu * 1.0, 1e-14); /* from the left, stops where mu h = r */
  assert_close(r.Y[1], 0.0, 0.0);
  assert_close(r.Y[2], 0.0, 0.0);
  assert_close(fabs(r.normal[2]), 1.0, 1e-15); /* of both sides together */
  assert_int_equal(r.state, RELAX_SLIDE);
  triangle_topology_destroy(&t);
  assert_no_leak();
}

/* At the bottom of a pit of four triangles the normal is that of all four, whichever corner of its triangle the bottom is. */
static void test_pit(void **unused)
{
  (void)unused;
  const double x[15] = {0.0, 0.0, 0.0, 5.0, 5.0, 5.0, -5.0, 5.0, 5.0, -5.0, -5.0, 5.0, 5.0, -5.0, 5.0};
  for (int first = 0; first < 3; ++first) {
    triangle_topology *t;
    mesh_relaxation    r;
    int32_t            tri[12];
    for (int k = 0; k < 4; ++k) {
      const int32_t corner[3] = {0, 1 + k, 1 + (k + 1) % 4};
      for (int c = 0; c < 3; ++c) tri[3 * k + (c + first) % 3] = corner[c];
    }
    assert_ok(triangle_topology_create(5, 4, tri, &t));
    mesh_attachment X    = {0, {0.1, 0.1, 0.1}};
    const double    Z[3] = {0.02, 0.01, -1.0};
    X.weight[first]      = 0.8;
    relax_mesh(t, x, 0.1, &X, Z, false, &r);
    assert_int_equal(r.place[r.n_places - 1], AT_VERTEX);
    assert_close(v3_norm(r.Y), 0.0, 0.0);
    assert_close(hypot(r.normal[0], r.normal[1]), 0.0, 1e-15);
    triangle_topology_destroy(&t);
  }
  assert_no_leak();
}

/* A border vertex in the middle of an edge of a flat sheet, and its corner: pulled outwards the attachment leaves unless
 * friction prevents it, pulled inwards it slides in. In a valley that ends at the border, friction at the vertex is enough where
 * neither side of the valley alone would be. */
static void test_border(void **unused)
{
  (void)unused;
  /* three triangles on the square (0, -1) ... (2, 0), around the vertex (1, 0); the second time with the middle one's far side as valley */
  const double       x[15]      = {0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 2.0, -1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0};
  const int32_t      tri[9]     = {0, 1, 4, 1, 2, 4, 2, 3, 4};
  const double       valley[12] = {-1.0, 1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0};
  const int32_t      sides[6]   = {0, 1, 2, 1, 3, 2}; /* steep slopes with the common edge 1-2, which ends at 2 on the border */
  triangle_topology *t;
  mesh_relaxation    r;
  const double       mu = 0.5;
  const struct {
    double dx, dy;
    bool   has_left;
  } list[] = {{0.0, 0.2, true},    {0.3, 0.01, true},   {-0.3, 0.01, true}, {0.0, 0.049, false},
              {0.04, 0.02, false}, {0.3, -0.01, false}, {0.0, -0.2, false}};
  assert_ok(triangle_topology_create(5, 3, tri, &t));
  for (int i = 0; i < 7; ++i)
    for (int k = 0; k < 3; ++k) { /* whichever triangle the vertex is named by */
      const mesh_attachment X    = {k, {0.0, 0.0, 1.0}};
      const double          Z[3] = {1.0 + list[i].dx, list[i].dy, -0.1}, pull = sqrt(list[i].dx * list[i].dx + list[i].dy * list[i].dy);
      relax_mesh(t, x, mu, &X, Z, true, &r);
      assert_int_equal(r.has_left, list[i].has_left);
      if (list[i].has_left) assert_int_equal(r.state, RELAX_INACTIVE);
      else assert_close(distance(r.Y, Z), 0.1 * sqrt(1.0 + fmin(mu * mu, 100.0 * pull * pull)), 1e-14);
    }
  const mesh_attachment corner   = {0, {1.0, 0.0, 0.0}};
  const double          aside[3] = {-0.2, 0.1, -0.1}, along[3] = {0.3, 0.01, -0.1}, held[3] = {-0.03, 0.03, -0.1};
  relax_mesh(t, x, mu, &corner, aside, false, &r);
  assert_true(r.has_left);
  relax_mesh(t, x, mu, &corner, along, false, &r);
  assert_true(r.has_left);
  relax_mesh(t, x, mu, &corner, held, false, &r);
  assert_int_equal(r.state, RELAX_STICK);
  triangle_topology_destroy(&t);
  assert_ok(triangle_topology_create(4, 2, sides, &t));
  for (int k = 0; k < 2; ++k) {
    mesh_attachment X                           = {k, {0.0, 0.0, 0.0}};
    X.weight[triangle_topology_corner(t, k, 2)] = 1.0;
    const double inside[3] = {0.01, -0.04, -0.1}, out[3] = {0.01, -0.06, -0.1};
    relax_mesh(t, valley, mu, &X, inside, false, &r);
    assert_false(r.has_left);
    assert_close(v3_norm(r.Y), 0.0, 0.0);
    relax_mesh(t, valley, mu, &X, out, false, &r);
    assert_true(r.has_left);
  }
  triangle_topology_destroy(&t);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_border), cmocka_unit_test(test_plane), cmocka_unit_test(test_derivatives),
          cmocka_unit_test(test_closest_point), cmocka_unit_test(test_ridge), cmocka_unit_test(test_pit))
