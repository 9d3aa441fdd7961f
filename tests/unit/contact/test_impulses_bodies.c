/* Geometric impulses on vertices, rigid bodies that carry vertices, constrained vertices, and walls. */
#include "core/quaternion.h"
#include "core/team.h"
#include "flying_boxes.h"

static boxes  w;
static double ends_of[3 * MOST * BOX_NODES];

static void all_laws(double friction, double restitution)
{
  for (int k = 0; k < (MOST + 1) * (MOST + 1); ++k) w.law[k] = (impulse_law){friction, restitution};
}

/* Box b becomes rigid: mass and inertia any, the motion that of its throw, without the noise. */
static void make_rigid(int b, double speed, uint64_t seed, bool is_held)
{
  impulse_rigid *r    = &w.carrier[w.n_rigid];
  const int      from = b * BOX_NODES;
  double         D[9], R[9], RD[9], turn[3], V[3] = {0.0};
  *r = (impulse_rigid){.is_cayley = b % 2};
  for (int i = 0; i < BOX_NODES; ++i) {
    w.rigid[from + i] = w.n_rigid;
    v3_axpy(r->center, 1.0 / BOX_NODES, w.x + 3 * (from + i));
    v3_axpy(V, 1.0 / BOX_NODES, w.v + 3 * (from + i));
    w.v[3 * (from + i)]      = NAN; /* these must not be read */
    w.inverse_mass[from + i] = NAN;
  }
  ++w.n_rigid;
  if (is_held) return;
  v3_copy(r->v, V);
  for (int k = 0; k < 3; ++k) r->w[k] = 0.5 * speed * random_normal(seed, (uint64_t)b, 10 + (uint64_t)k);
  r->inverse_mass = 1.0 / BOX_NODES;
  random_direction(seed, (uint64_t)b, 20, turn);
  rotation_exp(R, turn);
  m3_zero(D);
  for (int k = 0; k < 3; ++k) D[4 * k] = random_range(seed, (uint64_t)b, 30 + (uint64_t)k, 3.0, 9.0) / BOX_NODES;
  m3_mul(RD, R, D);
  m3_mul_nt(r->inverse_inertia, RD, R);
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < p; ++q) r->inverse_inertia[3 * p + q] = r->inverse_inertia[3 * q + p];
}

static void hold(int b)
{
  for (int i = b * BOX_NODES; i < (b + 1) * BOX_NODES; ++i) w.inverse_mass[i] = 0.0, v3_set(w.v + 3 * i, 0.0, 0.0, 0.0);
}

/* A corner of two planes below the boxes, of the body after the last. */
static void add_walls(void)
{
  w.n_walls = 2;
  w.wall[0] = (impulse_wall){.point = {0.0, 0.0, -0.1}, .normal = {0.0, 0.0, 1.0}, .body = w.n};
  w.wall[1] = (impulse_wall){.point = {-0.1, 0.0, 0.0}, .normal = {0.8, 0.6, 0.0}, .body = w.n};
  v3_axpy(w.wall[1].point, -0.1, w.wall[1].normal);
}

static double lowest_over_walls(const double *x)
{
  double lowest = INFINITY, d[3];
  for (int k = 0; k < w.n_walls; ++k)
    for (int i = 0; i < w.n * BOX_NODES; ++i) {
      v3_sub(d, x + 3 * i, w.wall[k].point);
      lowest = fmin(lowest, v3_dot(d, w.wall[k].normal));
    }
  return lowest;
}

/* Momentum of each free body. */
static void body_momenta(double *P)
{
  memset(P, 0, 3 * MOST * sizeof *P);
  for (int i = 0; i < w.n * BOX_NODES; ++i)
    if (w.rigid[i] < 0 && w.inverse_mass[i] > 0.0) v3_axpy(P + 3 * w.body[i], 1.0 / w.inverse_mass[i], w.v + 3 * i);
    else if (w.rigid[i] >= 0 && i % BOX_NODES == 0 && w.carrier[w.rigid[i]].inverse_mass > 0.0)
      v3_axpy(P + 3 * w.body[i], 1.0 / w.carrier[w.rigid[i]].inverse_mass, w.carrier[w.rigid[i]].v);
}

static bool is_mobile(int b)
{
  const int i = b * BOX_NODES;
  return w.rigid[i] >= 0 ? w.carrier[w.rigid[i]].inverse_mass > 0.0 : w.inverse_mass[i] > 0.0;
}

/* Each contact is inside its cone; without zones, the impulses of a body's contacts equal its change of momentum. */
static void check_contacts(const impulses *a, const double *P0, double mu, bool has_zones)
{
  double                 given[3 * MOST] = {0.0}, P1[3 * MOST];
  int64_t                n;
  const impulse_contact *c = impulses_contacts(a, &n);
  assert_true(n > 0);
  for (int64_t i = 0; i < n; ++i) {
    double normal_part[3];
    v3_sub(normal_part, c[i].impulse, c[i].friction);
    assert_true(c[i].pressed > 0.0);
    assert_close(v3_norm(c[i].normal), 1.0, 1e-14);
    assert_true(v3_norm(normal_part) <= c[i].pressed * (1 + 1e-14));
    assert_true(v3_norm(c[i].friction) <= mu * c[i].pressed * (1 + 1e-14));
    assert_true(v3_dot(normal_part, c[i].normal) > 0.0);
    for (int side = 0; side < 2; ++side)
      if (c[i].body[side] < w.n) v3_axpy(given + 3 * c[i].body[side], side ? -1.0 : 1.0, c[i].impulse);
  }
  body_momenta(P1);
  for (int b = 0; b < w.n && !has_zones; ++b)
    for (int k = 0; k < 3 && is_mobile(b); ++k) assert_close(P1[3 * b + k] - P0[3 * b + k], given[3 * b + k], 1e-10);
}

/* Boxes of every kind, with walls in every other case; flying_boxes.h defines the checks of trajectories. */
static void no_collision_remains_for_any_kind_of_body(void **state)
{
  (void)state;
  int n_with_zones = 0, n_without = 0;
  for (uint64_t c = 0; c < 16; ++c) {
    const impulse_options o  = {.thickness = c % 3 ? 0.02 : 0.0, .stiffness = 10.0, .max_iterations = c % 4 == 3 ? 2 : 60};
    const double          mu = c % 2 ? 0.4 : 0.0;
    const int             n  = 2 + (int)(c % 4) * 2;
    double                P0[3], L0[3], P1[3], L1[3], of_bodies[3 * MOST];
    impulses             *a;
    bool                  has_held = false;
    throw(&w, n, 4.0, 100 + c);
    all_laws(mu, 0.0);
    if (c % 5 == 3) hold(0), has_held = true;
    for (int b = c % 5 == 3; b < n; ++b)
      if (c < 4 || (b + (int)c) % 3 == 1) make_rigid(b, 4.0, c, c % 5 == 4 && b == n - 1 && (has_held = true));
    if (c % 4 == 2) add_walls(), has_held = true;
    momentum(&w, P0, L0);
    body_momenta(of_bodies);
    const double         energy = kinetic(&w), lowest = fmin(lowest_over_walls(w.x), 1e-3 * o.thickness);
    const impulse_report r = solve_and_check(&w, &o, ends_of, &a);
    print_message("%d boxes, %d rigid: %lld rounds, %lld collisions, %lld near, %lld zones of %lld nodes in %lld rounds; "
                  "energy %.4f, work %.4g of normal, %.4g of friction, %.4g of zones\n",
                  n, w.n_rigid, (long long)r.n_iterations, (long long)r.n_collisions, (long long)r.n_near, (long long)r.n_zones,
                  (long long)r.n_zone_nodes, (long long)r.n_zone_rounds, kinetic(&w) / energy, r.normal_work / energy,
                  r.friction_work / energy, r.zone_work / energy);
    momentum(&w, P1, L1);
    for (int k = 0; k < 3 && !has_held; ++k) assert_close(P1[k], P0[k], 1e-12 * n * BOX_NODES);
    /* Constrained vertices are fixed here, so all work is done on free ones. */
    assert_close(kinetic(&w), energy + r.normal_work + r.friction_work + r.zone_work, 1e-11 * energy);
    assert_true(r.friction_work <= 0.0);
    if (o.thickness == 0.0) assert_true(kinetic(&w) <= energy * (1 + 1e-12));
    if (w.n_walls > 0) assert_true(lowest_over_walls(ends_of) >= 0.5 * lowest);
    check_contacts(a, of_bodies, mu, r.n_zones > 0);
    n_with_zones += r.n_zones > 0, n_without += r.n_zones == 0;
    impulses_destroy(&a);
  }
  assert_true(n_with_zones > 0 && n_without > 0);
  assert_no_leak();
}

/* End positions of box r for the motion v, V: rotation by exp(dt V) about its centre. */
static int  n_placed;
static void place_box(void *context, int32_t r, const double v[3], const double V[3], double *x1)
{
  const boxes *b = context;
  double       R[9], turn[3];
  v3_scale(turn, 0.1, V);
  rotation_exp(R, turn);
  for (int i = 0; i < b->n * BOX_NODES; ++i) {
    double arm[3];
    if (b->rigid[i] != r) continue;
    v3_sub(arm, b->x + 3 * i, b->carrier[r].center);
    m3_mulv(x1 + 3 * i, R, arm);
    v3_add(x1 + 3 * i, x1 + 3 * i, b->carrier[r].center);
    v3_axpy(x1 + 3 * i, 0.1, v);
  }
  ++n_placed;
}

/* The caller's placement of rigid bodies, here the default one written out, gives the same motion. */
static void rigid_bodies_are_placed_by_the_caller(void **state)
{
  (void)state;
  static double v[3 * MOST * BOX_NODES];
  impulse_rigid carrier[MOST];
  for (int way = 0; way < 2; ++way) {
    const impulse_options o = {.thickness = 0.02, .stiffness = 10.0, .max_iterations = 60};
    throw(&w, 4, 4.0, 100);
    all_laws(0.3, 0.0);
    for (int b = 0; b < 4; ++b) make_rigid(b, 4.0, 3, false), w.carrier[b].is_cayley = false;
    impulse_scene scene = scene_of(&w);
    if (way) scene.place = place_box, scene.context = &w;
    const impulse_step step = {.dt = 0.1, .x0 = w.x, .v = w.v, .rigid = w.carrier, .wall = w.wall};
    impulses          *a;
    impulse_report     r;
    step_status        status = {STEP_OK, NULL, -1};
    assert_ok(impulses_create(&scene, &a));
    assert_ok(impulses_solve(a, &o, &step, &status, &r));
    assert_int_equal(status.code, STEP_OK);
    assert_true(r.n_collisions > 0);
    if (!way) memcpy(carrier, w.carrier, sizeof carrier), memcpy(v, w.v, sizeof v);
    for (int b = 0; b < 4; ++b)
      for (int k = 0; k < 3; ++k) {
        assert_close(w.carrier[b].v[k], carrier[b].v[k], 1e-9);
        assert_close(w.carrier[b].w[k], carrier[b].w[k], 1e-9);
      }
    for (int i = 0; i < 3 * 4 * BOX_NODES; ++i) assert_close(w.v[i], v[i], 1e-9);
    impulses_destroy(&a);
  }
  assert_true(n_placed > 4);
  assert_no_leak();
}

/* Testing only changed pairs, on any number of threads, finds the same as testing every pair, in every round. */
static void same_bits_for_all_searches_and_threads(void **state)
{
  (void)state;
  static double  first_v[3 * MOST * BOX_NODES];
  static uint8_t first_contacts[1 << 20];
  impulse_rigid  first_rigid[MOST];
  impulse_report first     = {0};
  const int      threads   = team_threads();
  int64_t        n_queries = 0;
  for (int t = 0; t <= 3; ++t) {
    const impulse_options o = {.thickness = 0.19, .stiffness = 1.0, .max_iterations = 6, .is_thorough = t == 0};
    int64_t               n;
    impulses             *a;
    team_set_threads(t == 0 ? 1 : t);
    throw(&w, 8, 7.0, 11);
    all_laws(0.3, 0.2);
    for (int b = 0; b < 8; b += 3) make_rigid(b, 7.0, 11, false);
    add_walls();
    impulse_report         r = solve_and_check(&w, &o, ends_of, &a);
    const impulse_contact *c = impulses_contacts(a, &n);
    if (t == 0) n_queries = r.n_queries;
    else assert_true(r.n_queries < n_queries);
    r.n_queries = r.n_searches = 0;
    if (t == 0) {
      first = r;
      memcpy(first_v, w.v, sizeof first_v), memcpy(first_rigid, w.carrier, sizeof first_rigid);
      assert_true(n > 0 && (size_t)n * sizeof *c <= sizeof first_contacts);
      memcpy(first_contacts, c, (size_t)n * sizeof *c);
      print_message("%lld rounds, %lld collisions, %lld near, %lld zones of %lld in %lld rounds\n", (long long)r.n_iterations,
                    (long long)r.n_collisions, (long long)r.n_near, (long long)r.n_zones, (long long)r.n_zone_nodes,
                    (long long)r.n_zone_rounds);
      assert_true(r.n_collisions > 1000 && r.n_near > 0 && r.n_zones > 0); /* or there would be neither colours nor zones */
    } else {
      assert_memory_equal(&first, &r, sizeof r);
      assert_memory_equal(first_v, w.v, sizeof first_v);
      assert_memory_equal(first_rigid, w.carrier, sizeof first_rigid);
      assert_memory_equal(first_contacts, c, (size_t)n * sizeof *c);
    }
    impulses_destroy(&a);
  }
  team_set_threads(threads);
  assert_no_leak();
}

/* Plane scenes: velocity components across the plane do not change, pair by pair or in zones; then components of single
 * vertices. */
static void constrained_components_keep_every_bit(void **state)
{
  (void)state;
  static double before[3 * MOST * BOX_NODES];
  int           n_zones = 0;
  for (uint64_t c = 0; c < 6; ++c) {
    const impulse_options o     = {.thickness = c % 2 ? 0.02 : 0.0, .stiffness = 10.0, .max_iterations = c < 2 ? 0 : c < 4 ? 3 : 100};
    const bool            plane = c < 4;
    double                P0[3], L0[3], P1[3], L1[3];
    throw(&w, 6, 4.0, 200 + c);
    all_laws(c % 2 ? 0.3 : 0.0, 0.0);
    for (int i = 0; i < 6 * BOX_NODES; ++i) {
      if (plane) w.held[i] = 4, w.v[3 * i + 2] = 0.7;
      else if (random_u01(300 + c, (uint64_t)i, 0) < 0.2) w.held[i] = (uint8_t)(1 + i % 6);
    }
    memcpy(before, w.v, sizeof before);
    momentum(&w, P0, L0);
    const double         energy = kinetic(&w);
    const impulse_report r      = solve_and_check(&w, &o, ends_of, NULL);
    momentum(&w, P1, L1);
    for (int k = 0; k < 2 && plane; ++k) assert_close(P1[k], P0[k], 1e-11 * 6 * BOX_NODES);
    if (plane) assert_close(L1[2], L0[2], c < 2 ? 1e-10 : INFINITY);
    for (int i = 0; i < 3 * 6 * BOX_NODES; ++i)
      if (w.held[i / 3] >> i % 3 & 1) assert_true(w.v[i] == before[i]);
    int base = -1; /* without a second pass there is one zone of all that moves otherwise, and it is rigid in the plane */
    for (int i = 0; i < 6 * BOX_NODES && c < 2; ++i) {
      const double *x = w.x + 3 * i, *v = w.v + 3 * i, *y = w.x + 3 * (base < 0 ? i : base), *u = w.v + 3 * (base < 0 ? i : base);
      if (v[0] == before[3 * i]) continue;
      if (base < 0) base = i;
      else assert_close((v[0] - u[0]) * (x[0] - y[0]) + (v[1] - u[1]) * (x[1] - y[1]), 0.0, 1e-11);
    }
    if (plane && o.thickness == 0.0) assert_true(kinetic(&w) <= energy * (1 + 1e-12));
    print_message("%lld rounds, %lld collisions, %lld zones of %lld; energy %.4f\n", (long long)r.n_iterations, (long long)r.n_collisions,
                  (long long)r.n_zones, (long long)r.n_zone_nodes, kinetic(&w) / energy);
    n_zones += r.n_zones > 0;
  }
  assert_true(n_zones >= 2);
  assert_no_leak();
}

/* A zone with a rigid body has a finite rotation. Momentum is conserved to rounding, angular momentum changes by the known term,
 * and the remaining change is of second order in the step. A zone on a wall moves with the wall. */
static void zones_with_a_rigid_body(void **state)
{
  (void)state;
  const int32_t              triangle[3] = {1, 2, 3}, point[1] = {0}, body[4] = {0, 1, 1, 1}, carrier[4] = {-1, 0, 0, 0};
  const bool                 can_touch[4]    = {false, true, true, false};
  const double               inverse_mass[4] = {1.0 / 1.5, NAN, NAN, NAN}, c[3] = {0.1, -0.1, -0.2};
  const broad_phase_surfaces s = {.n_vertices  = 4,
                                  .n_points    = 1,
                                  .n_triangles = 1,
                                  .point       = point,
                                  .triangle    = triangle,
                                  .n_bodies    = 2,
                                  .body        = body,
                                  .can_touch   = can_touch};
  const impulse_options      o = {.max_iterations = 0};
  double                     rest[2];
  for (int half = 0; half < 4; ++half) {
    const double        dt       = half & 1 ? 0.005 : 0.01;
    const bool          has_wall = half > 1;
    const double        x[12]    = {0.3, 0.2, 2.0 * dt, -3, -3, 0, 3, -3, 0, 0, 6, 0};
    double              v[12]    = {1.0, 0.5, -4.0}, P[2][3], L[2][3], center[3], inertia[9], r[3], l[3];
    const impulse_wall  wall     = {.point = {0.0, 0.0, -1e-4 * dt}, .normal = {0.0, 0.0, 1.0}, .v = {0.3, 0.2, 0.1}, .body = 1};
    const impulse_scene scene    = {.surfaces = s, .inverse_mass = inverse_mass, .n_rigid = 1, .n_walls = has_wall, .rigid = carrier};
    impulse_rigid       b        = {.center          = {c[0], c[1], c[2]},
                                    .inverse_mass    = 0.5,
                                    .inverse_inertia = {1.0, 0.1, 0, 0.1, 0.7, 0.2, 0, 0.2, 0.4},
                                    .v               = {0.1, 0.2, 0.3},
                                    .w               = {0.5, -0.4, 0.3},
                                    .is_cayley       = has_wall};
    const impulse_step  step     = {.dt = dt, .x0 = x, .v = v, .rigid = &b, .wall = &wall};
    step_status         status   = {STEP_OK, NULL, -1};
    impulse_report      report;
    impulses           *a;
    int64_t             n;
    m3_inverse(inertia, b.inverse_inertia);
    assert_ok(impulses_create(&scene, &a));
    for (int end = 0; end < 2; ++end) {
      if (end) assert_ok(impulses_solve(a, &o, &step, &status, &report));
      for (int k = 0; k < 3; ++k) P[end][k] = 1.5 * v[k] + 2.0 * b.v[k];
      m3_mulv(L[end], inertia, b.w);
      v3_cross(l, x, v), v3_axpy(L[end], 1.5, l);
      v3_cross(l, c, b.v), v3_axpy(L[end], 2.0, l);
    }
    assert_int_equal(status.code, STEP_OK);
    assert_int_equal(report.n_zones, 1);
    assert_int_equal(report.n_zone_nodes, has_wall ? 3 : 2);
    assert_ok(impulses_count_collisions(a, x, impulses_ends(a), &n));
    assert_int_equal(n, 0);
    impulses_destroy(&a);
    for (int k = 0; k < 3 && has_wall; ++k) {
      assert_true(v[k] == wall.v[k] && b.w[k] == 0.0);
      assert_close(b.v[k], wall.v[k], 1e-15);
    }
    if (has_wall) continue;
    for (int k = 0; k < 3; ++k) {
      assert_close(P[1][k], P[0][k], 1e-14);
      center[k] = (1.5 * x[k] + 2.0 * c[k]) / 3.5;
    }
    for (int part = 0; part < 2; ++part) { /* dt/2 (W . r) r x W of each mass */
      v3_sub(r, part ? c : x, center);
      v3_cross(l, r, b.w);
      v3_axpy(L[0], 0.5 * dt * (part ? 2.0 : 1.5) * v3_dot(b.w, r), l);
    }
    v3_sub(r, L[1], L[0]);
    rest[half] = v3_norm(r);
  }
  print_message("beyond the first order: %g, at half the step %g\n", rest[0], rest[1]);
  assert_true(rest[0] > 1e-9 && rest[0] < 1e-3 && rest[1] < 0.3 * rest[0]);
  assert_no_leak();
}

/* A rigid body slides onto a wall with a corner. Friction turns it, which moves the corner down again. Normal impulses and
 * friction alternate until less than a thousandth of the speed remains, within one round. The gap is a hundredth of the
 * displacement, so a larger remainder would cause another round. */
static void friction_on_a_rigid_body_converges_within_one_round(void **state)
{
  (void)state;
  const double dt = 1e-6, gap = 1e-8;
  int          n_rubbed = 0;
  for (uint64_t c = 0; c < 40; ++c) {
    const impulse_options o = {.thickness = 0.0, .stiffness = 1.0, .max_iterations = 50};
    double                n[3], along[3], d[3], lowest = INFINITY;
    int                   corner = 0;
    impulses             *a;
    impulse_report        r;
    step_status           status = {STEP_OK, NULL, -1};
    throw(&w, 1, 0.0, 500 + c);
    all_laws(0.8, 0.0);
    make_rigid(0, 0.0, 500 + c, false);
    for (int k = 0; k < 3; ++k) n[k] = random_range(500 + c, 1, (uint64_t)k, 0.5, 1.0);
    v3_scale(n, 1.0 / v3_norm(n), n);
    for (int i = 0; i < BOX_NODES; ++i)
      if (v3_dot(w.x + 3 * i, n) < lowest) lowest = v3_dot(w.x + 3 * i, n), corner = i;
    w.n_walls = 1;
    w.wall[0] = (impulse_wall){.body = 1};
    v3_copy(w.wall[0].normal, n);
    v3_scale(w.wall[0].point, lowest - gap, n);
    random_direction(500 + c, 2, 0, along);
    v3_axpy(along, -v3_dot(along, n), n);
    v3_scale(w.carrier[0].v, -1.0, n);
    v3_axpy(w.carrier[0].v, 2.0 / v3_norm(along), along);
    const impulse_scene scene = scene_of(&w);
    const impulse_step  step  = {.dt = dt, .x0 = w.x, .v = w.v, .rigid = w.carrier, .wall = w.wall};
    assert_ok(impulses_create(&scene, &a));
    assert_ok(impulses_solve(a, &o, &step, &status, &r));
    assert_int_equal(status.code, STEP_OK);
    assert_int_equal(r.n_iterations, 1);
    v3_sub(d, impulses_ends(a) + 3 * corner, w.x + 3 * corner);
    assert_true(v3_dot(d, n) / dt > -1.1e-3); /* of 1 m/s */
    n_rubbed += r.friction_work < -1e-3;
    impulses_destroy(&a);
  }
  assert_int_equal(n_rubbed, 40);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rigid_bodies_are_placed_by_the_caller), cmocka_unit_test(no_collision_remains_for_any_kind_of_body),
          cmocka_unit_test(zones_with_a_rigid_body), cmocka_unit_test(constrained_components_keep_every_bit),
          cmocka_unit_test(same_bits_for_all_searches_and_threads), cmocka_unit_test(friction_on_a_rigid_body_converges_within_one_round))
