/* Relaxation on triangle meshes with anisotropic friction: the plane's law in a triangle and across coplanar ones, also after
 * deformation; the law on an edge; derivatives; termination, approach to Z, and the cone. */
#include "relaxation_meshes.h"
#include <float.h>
#include <string.h>

static double eval_plane(const void *context, const double x[3], double gradient[3], double hessian[9])
{
  const double z = *(const double *)context;
  if (gradient) v3_set(gradient, 0.0, 0.0, 1.0);
  if (hessian) m3_zero(hessian);
  return x[2] - z;
}

static relax_cone random_cone(double least)
{
  return (relax_cone){uniform(least, 1.5), uniform(0.05, 1.5), {uniform(-1.0, 1.0), uniform(-1.0, 1.0), uniform(-1.0, 1.0)}};
}

/* Is the unit square, moved by A, more than `far` away from Y? Below 0: or is Y within that of its border? */
static bool off_sheet(const double A[4], const double Y[3], double far)
{
  const double det = A[0] * A[3] - A[1] * A[2], u = (A[3] * Y[0] - A[1] * Y[1]) / det, v = (A[0] * Y[1] - A[2] * Y[0]) / det;
  return u < -far || u > 1.0 + far || v < -far || v > 1.0 + far;
}

/* A flat sheet, sheared and turned in its plane since the direction was laid on it tilted: the closed form with the direction as it lies now, state,
 * place and derivative, whether the attachment stays in its triangle or crosses others. */
static void test_plane(void **unused)
{
  (void)unused;
  const double           z = 0.0, n[3] = {0.0, 0.0, 1.0};
  const relax_surface    plane = {eval_plane, &z};
  triangle_mesh         *m;
  triangle_topology     *t;
  static mesh_relaxation r;
  int                    n_crossed = 0, n_left = 0, counts[4] = {0};
  double                *rest, A[4];
  state = 3;
  bumpy_sheet(6, 0.0, &m, &t);
  rest = malloc((size_t)(3 * m->n_vertices) * sizeof *rest);
  memcpy(rest, m->x, (size_t)(3 * m->n_vertices) * sizeof *rest);
  for (int k = 0; k < 3000; ++k) {
    for (int i = 0; i < 4; ++i) A[i] = (i % 3 == 0) + uniform(-0.4, 0.4);
    for (int64_t i = 0; i < m->n_vertices; ++i)
      for (int row = 0; row < 2; ++row) m->x[3 * i + row] = A[2 * row] * rest[3 * i] + A[2 * row + 1] * rest[3 * i + 1];
    const relax_cone cone = random_cone(0.05);
    const double    *d    = cone.direction;
    relax_cone       now  = cone;
    v3_set(now.direction, A[0] * d[0] + A[1] * d[1], A[2] * d[0] + A[3] * d[1], uniform(-1.0, 1.0));
    mesh_attachment X;
    double          X0[3], Z[3], Y[3], expected[9], block[9];
    random_attachment(t, &X);
    point_of(t, m->x, &X, X0);
    random_near(X0, 0.5, Z);
    relax_mesh_cone(t, m->x, &cone, rest, &X, Z, true, &r);
    const relax_state s = relax_implicit_cone(&plane, &now, X0, Z, Y, expected);
    if (s != RELAX_INACTIVE && off_sheet(A, Y, 1e-9)) { /* where the sheet has ended */
      assert_true(r.has_left && r.state == RELAX_INACTIVE && off_sheet(A, r.Y, -1e-9));
      ++n_left;
      continue;
    }
    if (s != RELAX_INACTIVE && !off_sheet(A, Y, -1e-9)) assert_false(r.has_left);
    if (s == RELAX_INACTIVE || r.state == RELAX_INACTIVE) {
      assert_int_equal(r.state, s);
      continue;
    }
    ++counts[s];
    n_crossed += r.n_places > 1;
    assert_close(distance(r.Y, Y), 0.0, 1e-12);
    mesh_relaxation_block(t, m->x, &r, 0, block);
    if (r.n_places == 1)
      for (int j = 0; j < 9; ++j) assert_close(block[j], expected[j], 1e-11 * (1.0 + 1.0 / cone.mu_across));
    const relax_cone in = relax_mesh_cone_in(t, m->x, &cone, rest, r.at.triangle);
    double           held[3];
    v3_sub(held, Y, Z);
    held[2] = 0.0;
    assert_close(relax_cone_length(&in, n, held), relax_cone_length(&now, n, held), 1e-12 * (1.0 + 1.0 / cone.mu_across));
  }
  if (getenv("STICKSLIP_VERBOSE"))
    printf("stick %d slide %d crossed %d left %d\n", counts[RELAX_STICK], counts[RELAX_SLIDE], n_crossed, n_left);
  assert_true(n_left > 200 && counts[RELAX_STICK] > 200 && counts[RELAX_SLIDE] > 300 && n_crossed > 100);
  free(rest);
  triangle_mesh_destroy(&m);
  triangle_topology_destroy(&t);
  assert_no_leak();
}

/* Equal coefficients, and a direction normal to the surface: circles. */
static void test_circles(void **unused)
{
  (void)unused;
  triangle_mesh         *m;
  triangle_topology     *t;
  static mesh_relaxation r, round;
  state = 5;
  bumpy_sheet(5, 0.0, &m, &t);
  for (int k = 0; k < 2000; ++k) {
    relax_cone cone = random_cone(0.05);
    if (k % 2) cone.mu_across = cone.mu;
    else v3_set(cone.direction, 0.0, 0.0, 2.0);
    mesh_attachment X;
    double          X0[3], Z[3];
    random_attachment(t, &X);
    point_of(t, m->x, &X, X0);
    random_near(X0, 0.4, Z);
    relax_mesh_cone(t, m->x, &cone, m->x, &X, Z, false, &r);
    relax_mesh(t, m->x, fmin(cone.mu, cone.mu_across), &X, Z, false, &round);
    assert_close(distance(r.Y, round.Y), 0.0, 1e-13);
    assert_int_equal(r.state, round.state);
  }
  triangle_mesh_destroy(&m);
  triangle_topology_destroy(&t);
  assert_no_leak();
}

/* In a valley the attachment ends on the edge: the radius of the ellipse along it is its coefficient. */
static void test_edge(void **unused)
{
  (void)unused;
  const double           x[12]  = {0.0, 0.0, 0.0, 10.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0, -5.0, 5.0};
  const int32_t          tri[6] = {0, 1, 2, 1, 0, 3};
  triangle_topology     *t;
  static mesh_relaxation r;
  assert_ok(triangle_topology_create(4, 2, tri, &t));
  const mesh_attachment X    = {0, {0.6, 0.2, 0.2}};
  const double          Z[3] = {6.0, 0.0, -1.0}, mu = 0.3, across = 0.7;
  const struct {
    double direction[3], mu;
  } list[] = {{{2.0, 0.0, 0.0}, mu},
              {{0.0, -1.0, 0.0}, across},
              {{1.0, 1.0, 0.0}, mu / sqrt(0.5 * (1.0 + mu * mu / (across * across)))},
              {{1.0, 1.0, 9.0}, mu / sqrt(0.5 * (1.0 + mu * mu / (across * across)))}, /* counts as projected */
              {{0.0, 0.0, 1.0}, mu}};
  for (int i = 0; i < 5; ++i) {
    relax_cone cone = {mu, across, {list[i].direction[0], list[i].direction[1], list[i].direction[2]}};
    relax_mesh_cone(t, x, &cone, x, &X, Z, true, &r);
    assert_int_equal(r.place[r.n_places - 1], ALONG_EDGE);
    assert_close(r.Y[0], 6.0 - list[i].mu, 1e-14);
    assert_close(r.Y[1], 0.0, 0.0);
  }
  triangle_topology_destroy(&t);
  assert_no_leak();
}

static bool same_way(const mesh_relaxation *a, const mesh_relaxation *b)
{
  return a->n_places == b->n_places && memcmp(a->place, b->place, (size_t)a->n_places) == 0 && a->at.triangle == b->at.triangle &&
         (a->state == RELAX_STICK) == (b->state == RELAX_STICK);
}

/* Derivatives by Z and all nodes at once against central differences, the direction laid on another shape of the mesh. Returns 1, and
 * notes the chain, if no kink lay in between. */
static int check_derivative(const triangle_mesh *m, const triangle_topology *t, const double *rest, double size, uint8_t seen[4])
{
  static mesh_relaxation r, p, q;
  const relax_cone       cone = random_cone(0.02);
  const int64_t          n    = 3 * m->n_vertices;
  const double           h    = 1e-6;
  mesh_attachment        X;
  double                 X0[3], Z[3], dZ[3], scale = 0.0, predicted[3] = {0.0};
  double                *x = malloc((size_t)n * sizeof *x), *dx = malloc((size_t)n * sizeof *dx);
  random_attachment(t, &X);
  point_of(t, m->x, &X, X0);
  random_near(X0, size, Z);
  relax_mesh_cone(t, m->x, &cone, rest, &X, Z, true, &r);
  for (int j = 0; j < 3; ++j) dZ[j] = uniform(-1.0, 1.0);
  for (int64_t j = 0; j < n; ++j) dx[j] = uniform(-1.0, 1.0);
  for (int side = -1; side <= 1; side += 2) {
    double Zs[3];
    for (int64_t j = 0; j < n; ++j) x[j] = m->x[j] + side * h * dx[j];
    v3_copy(Zs, Z);
    v3_axpy(Zs, side * h, dZ);
    relax_mesh_cone(t, x, &cone, rest, &X, Zs, false, side < 0 ? &p : &q);
  }
  const bool is_smooth = same_way(&p, &r) && same_way(&q, &r) && r.state == RELAX_SLIDE;
  for (int j = 0; j <= r.n_nodes && is_smooth; ++j) {
    double block[9], term[3];
    mesh_relaxation_block(t, m->x, &r, j, block);
    m3_mulv(term, block, j == 0 ? dZ : dx + 3 * (int64_t)r.node[j - 1]);
    v3_axpy(predicted, 1.0, term);
    for (int k = 0; k < 9; ++k) scale = fmax(scale, fabs(block[k]));
  }
  for (int j = 0; j < 3 && is_smooth; ++j) assert_close((q.Y[j] - p.Y[j]) / (2.0 * h), predicted[j], 3e-6 * (1.0 + scale * scale * scale));
  if (is_smooth) seen[r.place[r.n_places - 1] - 1] = 1;
  free(x);
  free(dx);
  return is_smooth;
}

static void test_derivatives(void **unused)
{
  (void)unused;
  triangle_mesh     *ball, *sheet;
  triangle_topology *ball_t, *sheet_t;
  uint8_t            seen[4] = {0};
  int                checked = 0;
  state                      = 12;
  bumpy_ball(0.7, 0.25, &ball, &ball_t);
  bumpy_sheet(4, 0.25, &sheet, &sheet_t);
  triangle_mesh *const     mesh[2]     = {ball, sheet};
  triangle_topology *const topology[2] = {ball_t, sheet_t};
  for (int i = 0; i < 2; ++i) {
    const int64_t n    = 3 * mesh[i]->n_vertices;
    double       *rest = malloc((size_t)n * sizeof *rest);
    for (int64_t j = 0; j < n; ++j) rest[j] = mesh[i]->x[j] + uniform(-0.08, 0.08);
    for (int k = 0; k < 8000; ++k) checked += check_derivative(mesh[i], topology[i], rest, uniform(0.05, 0.6), seen);
    free(rest);
  }
  if (getenv("STICKSLIP_VERBOSE")) printf("%d derivatives\n", checked);
  assert_true(checked > 3000 && seen[0] && seen[1] && seen[2] && seen[3]);
  for (int i = 0; i < 2; ++i) {
    triangle_mesh     *gone = mesh[i];
    triangle_topology *t    = topology[i];
    triangle_mesh_destroy(&gone);
    triangle_topology_destroy(&t);
  }
  assert_no_leak();
}

/* No triangle around the vertex of the attachment lets it move. */
static void assert_held(const triangle_mesh *m, const triangle_topology *t, const relax_cone *cone, const mesh_relaxation *r,
                        const double Z[3])
{
  static mesh_relaxation again;
  const int              v      = r->at.weight[0] == 1.0 ? 0 : r->at.weight[1] == 1.0 ? 1 : 2;
  const int32_t          vertex = t->tri[3 * (int64_t)r->at.triangle + v];
  for (int32_t j = t->fan_start[vertex]; j < t->fan_start[vertex + 1]; ++j) {
    mesh_attachment X                                        = {t->fan[j], {0.0, 0.0, 0.0}};
    X.weight[triangle_topology_corner(t, t->fan[j], vertex)] = 1.0;
    relax_mesh_cone(t, m->x, cone, m->x, &X, Z, false, &again);
    assert_close(distance(again.Y, r->Y), 0.0, 1e-9);
  }
}

/* Every relaxation terminates, none moves Y away from Z, and a result in a triangle satisfies the ellipse there and is unchanged
 * by a repetition. */
static void test_fuzz(void **unused)
{
  (void)unused;
  triangle_mesh         *m;
  triangle_topology     *t;
  static mesh_relaxation r, again;
  int                    n_on_edge = 0, longest = 0;
  state = 21;
  bumpy_ball(0.5, 0.25, &m, &t);
  for (int k = 0; k < 60000; ++k) {
    const relax_cone cone = random_cone(0.01);
    mesh_attachment  X;
    double           X0[3], Z[3], pull[3], e1[3], e2[3], n[3];
    random_attachment(t, &X);
    point_of(t, m->x, &X, X0);
    random_near(X0, uniform(0.02, 0.8), Z);
    relax_mesh_cone(t, m->x, &cone, m->x, &X, Z, false, &r);
    assert_false(r.is_capped);
    assert_true(distance(r.Y, Z) <= distance(X0, Z) + 1e-13);
    longest = r.n_places > longest ? r.n_places : longest;
    if (r.place[r.n_places - 1] == ALONG_EDGE || r.place[r.n_places - 1] == AT_VERTEX) {
      ++n_on_edge;
      if (r.place[r.n_places - 1] == AT_VERTEX) assert_held(m, t, &cone, &r, Z);
      continue;
    }
    const int32_t   *v  = t->tri + 3 * (int64_t)r.at.triangle;
    const relax_cone in = relax_mesh_cone_in(t, m->x, &cone, m->x, r.at.triangle);
    v3_sub(e1, m->x + 3 * (int64_t)v[1], m->x + 3 * (int64_t)v[0]);
    v3_sub(e2, m->x + 3 * (int64_t)v[2], m->x + 3 * (int64_t)v[0]);
    v3_cross(n, e1, e2);
    v3_scale(n, 1.0 / v3_norm(n), n);
    v3_sub(pull, r.Y, Z);
    const double h = v3_dot(pull, n);
    v3_axpy(pull, -h, n);
    assert_close(fmax(0.0, relax_cone_length(&in, n, pull) - cone.mu * fabs(h)), 0.0, 1e-12 * (1.0 + cone.mu / cone.mu_across));
    relax_mesh_cone(t, m->x, &cone, m->x, &r.at, Z, false, &again);
    assert_close(distance(again.Y, r.Y), 0.0, 1e-11 * (1.0 + cone.mu_across / cone.mu));
  }
  assert_true(n_on_edge > 1000 && longest > 4);
  triangle_mesh_destroy(&m);
  triangle_topology_destroy(&t);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_plane), cmocka_unit_test(test_circles), cmocka_unit_test(test_edge), cmocka_unit_test(test_derivatives),
          cmocka_unit_test(test_fuzz))
