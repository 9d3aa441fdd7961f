/* Bodies made of nodes, for any loads: contact points, the assembled matrix, moving constraints, steps and totals. */
#include "nodal_fixture.h"
#include "vector_field_fixture.h"
#include "core/quaternion.h"
#include "discretize/fem/tetrahedra.h"
#include "geometry/tet_mesh/tet_mesh_primitives.h"
#include "discretize/material/material_registry.h"
#include "geometry/tet_mesh/tet_mesh.h"
#include "discretize/nodal/nodal_body.h"

typedef struct {
  double density, E, nu;
} parameters;

/* A cube of side 1 at the origin, 7 cells a side: 512 nodes, 216 of them inside. Masses differ. */
static material *jelly;
static body     *make(nodal_body **out)
{
  const double     min[3] = {0.0, 0.0, 0.0}, max[3] = {1.0, 1.0, 1.0};
  const parameters p = {10.0, 100.0, 0.3};
  double           mass[512];
  int32_t         *triangles;
  tet_mesh        *m;
  assert_ok(tet_mesh_box(min, max, 1.0 / 7.0, &m));
  assert_int_equal(m->n_vertices, 512);
  for (int i = 0; i < 512; ++i) mass[i] = uniform(0.5, 1.5);
  assert_ok(material_create("jelly", &material_law_fixed_corotated, &p, p.density, &jelly));
  assert_ok(nodal_body_create("cube", 512, m->x, mass, out));
  triangles = malloc(sizeof *triangles * (size_t)(3 * m->surface->n_triangles));
  for (int64_t i = 0; i < 3 * m->surface->n_triangles; ++i) triangles[i] = m->surface_vertex[m->surface->tri[i]];
  assert_ok(nodal_body_set_surface(*out, m->surface->n_triangles, triangles));
  assert_ok(tetrahedra_add(*out, jelly, NODAL_DAMPING_SPATIAL, 0.01, m->n_tets, m->tet));
  free(triangles);
  tet_mesh_destroy(&m);
  return &(*out)->base;
}

static void destroy(body *b)
{
  b->ops->destroy(&b);
  material_destroy(&jelly);
}

static void begin(body *b, double t, double dt)
{
  int64_t     n_blocks;
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(b->ops->begin_step(b, t, dt, &n_blocks, &status));
  assert_int_equal(n_blocks, 512);
  assert_int_equal(status.code, STEP_OK);
}

/* Every node of the surface is a contact point, once, within its cluster's ball, and moves as its node does; clusters are small. */
static void test_points(void **unused)
{
  (void)unused;
  nodal_body  *n;
  body        *b = make(&n);
  body_surface surface;
  int          seen[512] = {0}, n_points = 0;
  state = 31;
  assert_ok(nodal_body_finish(n));
  assert_close(b->ops->length(b), 1.0 / 7.0, 1e-15);
  random_state(n, 0.05, 1.0);
  begin(b, 0.0, 0.1);
  for (int64_t c = 0; c < b->ops->n_clusters(b); ++c) {
    double  center[3], radius, x[3], d[3], weight[POINT_MAX_WEIGHTS];
    int64_t first, end;
    int32_t block[POINT_MAX_WEIGHTS];
    b->ops->cluster(b, c, center, &radius, &first, &end);
    assert_true(end > first && end - first <= NODAL_CLUSTER);
    assert_true(radius < 0.5 * sqrt(3.0) * 1.1); /* of the whole cube, moved by 0.05 */
    for (int64_t i = first; i < end; ++i, ++n_points) {
      const int64_t id = b->ops->point(b, i, x);
      v3_sub(d, x, center);
      assert_true(v3_norm(d) <= radius);
      assert_int_equal(b->ops->point_row(b, i, block, weight), 1);
      assert_int_equal(block[0], id);
      assert_close(weight[0], 1.0, 0.0);
      assert_memory_equal(x, n->x + 3 * id, sizeof x);
      ++seen[id];
    }
  }
  assert_int_equal(n_points, 512 - 216);
  b->ops->surface(b, &surface);
  assert_int_equal(surface.n_nodes, 512);
  assert_int_equal(surface.n_triangles, 6 * 49 * 2);
  for (int64_t i = 0; i < 3 * surface.n_triangles; ++i) assert_int_equal(seen[surface.triangles[i]], 1);
  for (int i = 0; i < 512; ++i) {
    bool is_outer = false;
    for (int k = 0; k < 3; ++k) is_outer |= n->rest[3 * i + k] == 0.0 || n->rest[3 * i + k] == 1.0;
    assert_int_equal(seen[i], is_outer);
  }
  destroy(b);
  assert_no_leak();
}

/* The matrix that preconditioners get, at any place of the global one, multiplies as the tangent does. */
static void test_assembly(void **unused)
{
  (void)unused;
  enum { AT = 3, ALL = 512 + AT };
  nodal_body   *n;
  body         *b                  = make(&n);
  int64_t       row_start[ALL + 1] = {0};
  int32_t      *col                = malloc(sizeof *col * 512 * 64), other[BODY_MAX_COUPLINGS];
  static double x[3 * ALL], y[1536], z[1536], g[1536];
  state           = 32;
  n->mass_damping = 0.4;
  assert_ok(nodal_body_finish(n));
  random_state(n, 0.02, 1.0);
  begin(b, 0.0, 0.05);
  for (int is_wanted = 1; is_wanted >= 0; --is_wanted) b->ops->set_definite(b, is_wanted); /* the exact tangent again */
  residual(n, n->v, g, true);
  for (int i = 0; i < ALL; ++i) {
    row_start[i + 1] = row_start[i];
    const int count  = i < AT ? 0 : b->ops->couplings(b, i - AT, other);
    for (int k = 0; k < count; ++k) col[row_start[i + 1]++] = other[k] + AT;
  }
  double          *value = calloc(9 * (size_t)row_start[ALL], sizeof *value);
  const block_rows H     = {ALL, row_start, col, value};
  b->first_block         = AT;
  assert_ok(b->ops->assemble(b, &H));
  for (int i = 0; i < 3 * ALL; ++i) x[i] = uniform(-1.0, 1.0);
  memset(y, 0, sizeof y);
  memset(z, 0, sizeof z);
  assert_ok(b->ops->tangent(b, x + 3 * AT, y, false));
  for (int i = 0; i < 512; ++i)
    for (int64_t j = row_start[i + AT]; j < row_start[i + AT + 1]; ++j) {
      double term[3];
      m3_mulv(term, value + 9 * j, x + 3 * col[j]);
      v3_axpy(z + 3 * i, 1.0, term);
    }
  double scale = 0.0;
  for (int i = 0; i < 1536; ++i) scale = fmax(scale, fabs(y[i]));
  for (int i = 0; i < 1536; ++i) assert_close(z[i], y[i], 1e-14 * scale);
  free(col), free(value);
  destroy(b);
  assert_no_leak();
}

/* Constrained nodes follow a screw motion exactly, step after step; of two constraints of a component the later one applies. */
static void test_moving_constraints(void **unused)
{
  (void)unused;
  nodal_body       *n;
  body             *b    = make(&n);
  const motion_spec turn = {.pivot = {0.5, 0.5, 0.0}, .velocity = {0.0, 0.0, 0.3}, .angular_velocity = {0.0, 0.0, 2.0}};
  const double      dt   = 0.1;
  diagnostics      *d;
  nodal_constraint  held = {.n = 3, .axis = {true, true, true}}, pinned = {.n = 1, .axis = {false, false, true}},
                   pushed = {.n = 1, .axis = {true, false, false}};
  static double v[1536];
  assert_ok(diagnostics_create(&d));
  assert_ok(motion_create(&turn, NULL, "motion", d, &held.motion));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  pushed.displacement = field_of("0.2*t + X*t^2 + 10*(x - X)", "1", "1");
  assert_ok(memory_alloc("held", 3, sizeof *held.node, &held.node));
  assert_ok(memory_alloc("held", 1, sizeof *pinned.node, &pinned.node));
  assert_ok(memory_alloc("held", 1, sizeof *pushed.node, &pushed.node));
  held.node[0] = 7, held.node[1] = 400, held.node[2] = 63;
  pinned.node[0] = 400;
  pushed.node[0] = 100;
  assert_ok(nodal_body_add_constraint(n, &held));
  assert_ok(nodal_body_add_constraint(n, &pinned));
  assert_ok(nodal_body_add_constraint(n, &pushed));
  assert_ok(nodal_body_finish(n));
  for (int step = 0; step < 3; ++step) {
    const int64_t *dof;
    const double  *wanted;
    step_status    status = {STEP_OK, NULL, -1};
    begin(b, step * dt, dt);
    assert_int_equal(b->ops->prescribed(b, &dof, &wanted), 10);
    const double before = n->x[300] - n->rest[300], now = dt * (step + 1);
    memset(v, 0, sizeof v);
    for (int i = 0; i < 10; ++i) v[dof[i]] = wanted[i];
    assert_ok(b->ops->end_step(b, v, &status));
    const double angle = 2.0 * dt * (step + 1);
    for (int i = 0; i < 3; ++i) {
      const int64_t at = 3 * (i == 0 ? 7 : i == 1 ? 400 : 63);
      const double *r = n->rest + at, *x = n->x + at, a = r[0] - 0.5, c = r[1] - 0.5;
      assert_close(x[0], 0.5 + cos(angle) * a - sin(angle) * c, 1e-14);
      assert_close(x[1], 0.5 + sin(angle) * a + cos(angle) * c, 1e-14);
      assert_close(x[2], r[2] + (i == 1 ? 0.0 : 0.3 * dt * (step + 1)), 1e-14);
    }
    assert_close(n->x[300], n->rest[300] + 0.2 * now + n->rest[300] * now * now + 10.0 * before, 1e-14);
    assert_close(n->x[301], n->rest[301], 0.0);             /* only along x */
    assert_memory_equal(n->x, n->rest, 3 * sizeof(double)); /* node 0 is free and has zero velocity */
  }
  destroy(b);
  assert_no_leak();
}

/* Totals against sums that are known: a turning, flying body whose nodes have all masses 2 kg; and a step moves it. */
static void test_totals_and_step(void **unused)
{
  (void)unused;
  nodal_body   *n;
  body         *b    = make(&n);
  const double  w[3] = {0.0, 0.0, 3.0}, u[3] = {1.0, -2.0, 0.5}, gravity[3] = {0.0, 0.0, -9.81};
  static double v[1536], scale[1536];
  body_totals   sum;
  step_status   status = {STEP_OK, NULL, -1};
  assert_ok(nodal_body_finish(n));
  for (int i = 0; i < 512; ++i) {
    const double arm[3] = {n->x[3 * i] - 0.5, n->x[3 * i + 1] - 0.5, n->x[3 * i + 2] - 0.5};
    n->mass[i]          = 2.0;
    v3_cross(n->v + 3 * i, w, arm);
    v3_axpy(n->v + 3 * i, 1.0, u);
  }
  assert_ok(b->ops->totals(b, gravity, &sum));
  const double spread = (1.0 + 2.0 / 7.0) / 12.0; /* mean square of 0, 1/7, ... 1 about its middle: (n + 1) / (12 (n - 1)), n = 8 */
  assert_close(sum.mass, 1024.0, 1e-9);
  assert_close(sum.kinetic, 512.0 * (v3_dot(u, u) + 9.0 * 2.0 * spread), 1e-9);
  assert_close(sum.potential, 1024.0 * 9.81 * 0.5, 1e-8);
  assert_close(sum.elastic, 0.0, 1e-12);
  for (int k = 0; k < 3; ++k) assert_close(sum.momentum[k], 1024.0 * u[k], 1e-9);
  for (int k = 0; k < 3; ++k) assert_close(sum.center[k], 0.5, 1e-14);
  assert_close(sum.angular_momentum[0], 1024.0 * 0.5 * (u[2] - u[1]), 1e-9);
  assert_close(sum.angular_momentum[1], 1024.0 * 0.5 * (u[0] - u[2]), 1e-9);
  assert_close(sum.angular_momentum[2], 1024.0 * (0.5 * (u[1] - u[0]) + 3.0 * 2.0 * spread), 1e-9);
  begin(b, 0.0, 0.25);
  assert_ok(b->ops->velocity(b, v));
  assert_memory_equal(v, n->v, sizeof v);
  assert_ok(b->ops->mass(b, scale));
  for (int i = 0; i < 1536; ++i) assert_close(scale[i], 2.0, 0.0);
  for (int i = 0; i < 1536; ++i) v[i] = 0.5 * i;
  assert_ok(b->ops->end_step(b, v, &status));
  for (int i = 0; i < 1536; ++i) assert_close(n->x[i], n->rest[i] + 0.125 * i, 1e-13);
  assert_memory_equal(v, n->v, sizeof v);
  destroy(b);
  assert_no_leak();
}

/* Free fall with mass damping: v1 (1 + alpha dt) = v0 + (g + load) dt is where the residual vanishes; a load sees where its node was drawn and is
 * at the start of the step, and the time at its end. */
static void test_free_fall(void **unused)
{
  (void)unused;
  nodal_body   *n;
  body         *b     = make(&n);
  const double  alpha = 0.7, dt = 0.1;
  static double v[1536], g[1536];
  assert_ok(nodal_body_finish(n));
  n->mass_damping = alpha;
  v3_set(n->gravity, 0.0, 0.0, -9.81);
  assert_ok(nodal_body_set_load(n, field_of("1", "2 + (x - X)", "3*t/0.4")));
  for (int i = 0; i < 512; ++i) v3_set(n->v + 3 * i, 0.5, 0.0, -0.5);
  for (int i = 0; i < 512; ++i) n->x[3 * i] += 0.25;
  begin(b, 0.3, dt);
  for (int i = 0; i < 512; ++i)
    v3_set(v + 3 * i, (0.5 + dt) / (1.0 + alpha * dt), 2.25 * dt / (1.0 + alpha * dt), (-0.5 - 6.81 * dt) / (1.0 + alpha * dt));
  residual(n, v, g, false);
  for (int i = 0; i < 1536; ++i) assert_close(g[i], 0.0, 1e-13);
  v[3] += 1e-3;
  residual(n, v, g, false);
  assert_true(fabs(g[3]) > 1e-4);
  step_status status = {STEP_OK, NULL, -1};
  v[3 * 77 + 1]      = NAN;
  assert_ok(b->ops->residual(b, v, g, false, &status));
  assert_int_equal(status.code, STEP_NOT_FINITE);
  assert_int_equal(status.where, 77);
  destroy(b);
  assert_no_leak();
}

static void hold_node(nodal_body *n, int32_t node)
{
  nodal_constraint held = {.n = 1, .axis = {false, true, false}};
  assert_ok(memory_alloc("held", 1, sizeof *held.node, &held.node));
  held.node[0] = node;
  assert_ok(nodal_body_add_constraint(n, &held));
}

/* V and W from given changes of momenta and the inertia about the centre of mass: the totals change by these, to rounding, about
 * any point; about another centre as defined in the header. With one constrained component, nothing changes. */
static void test_rigid_velocity(void **unused)
{
  (void)unused;
  const double wanted_P[3] = {30.0, -20.0, 7.0}, wanted_L[3] = {-3.0, 11.0, 5.0}, none[3] = {0.0};
  nodal_body  *n;
  body        *b = make(&n);
  body_totals  before, after;
  double       inertia[9], inverse[9], V[3], W[3], moved[3], away[3], d[3], turn[3];
  state = 33;
  assert_ok(nodal_body_finish(n));
  random_state(n, 0.1, 2.0);
  assert_ok(b->ops->totals(b, none, &before));
  nodal_body_inertia(n, before.center, inertia);
  m3_inverse(inverse, inertia);
  v3_scale(V, 1.0 / before.mass, wanted_P);
  m3_mulv(W, inverse, wanted_L);
  assert_true(nodal_body_add_rigid_velocity(n, V, W, before.center));
  assert_ok(b->ops->totals(b, none, &after));
  v3_cross(moved, before.center, wanted_P);               /* L about the origin of what goes through the centre */
  const double eps = 512.0 * 2.2e-16 * before.mass * 2.0; /* of sums of 512 terms m v, lengths of 1 */
  for (int k = 0; k < 3; ++k) {
    assert_close(after.momentum[k] - before.momentum[k], wanted_P[k], eps);
    assert_close(after.angular_momentum[k] - before.angular_momentum[k], wanted_L[k] + moved[k], eps);
  }

  /* About another point at d: d x V + I W about that point, and m V + W x d. */
  before = after;
  v3_set(away, 2.0, -1.0, 0.5);
  nodal_body_inertia(n, away, inertia);
  assert_true(nodal_body_add_rigid_velocity(n, V, W, away));
  assert_ok(b->ops->totals(b, none, &after));
  v3_sub(d, before.center, away);
  v3_scale(d, before.mass, d);
  double P[3], L[3], term[3];
  v3_cross(P, W, d);
  v3_axpy(P, before.mass, V);
  v3_cross(L, d, V);
  m3_mulv(turn, inertia, W);
  v3_axpy(L, 1.0, turn);
  v3_cross(term, away, P);
  v3_axpy(L, 1.0, term);
  for (int k = 0; k < 3; ++k) {
    assert_close(after.momentum[k] - before.momentum[k], P[k], 5.0 * eps);
    assert_close(after.angular_momentum[k] - before.angular_momentum[k], L[k], 5.0 * eps);
  }
  destroy(b);

  b = make(&n);
  hold_node(n, 200);
  assert_ok(nodal_body_finish(n));
  assert_false(nodal_body_add_rigid_velocity(n, V, W, none));
  for (int i = 0; i < 1536; ++i) assert_close(n->v[i], 0.0, 0.0);
  destroy(b);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_points), cmocka_unit_test(test_assembly), cmocka_unit_test(test_moving_constraints),
          cmocka_unit_test(test_totals_and_step), cmocka_unit_test(test_free_fall), cmocka_unit_test(test_rigid_velocity))
