/* Rigid contacts by themselves and through a liquid. */
#include "flow_fixture.h"

static const fixture_spec box_of_water = {.n = {3, 4, 2}, .h = 0.1, .dt = 0.02, .rho = 1000, .M = 0, .is_orthonormal = true};
static bool               is_nothing(const int p[3], const int n[3])
{
  (void)p, (void)n;
  return false;
}

/* Contact at `arm` from the centre of `upper`, whose other side is `lower` (-1: prescribed) with its centre `below` under the
 * point; normal +y. */
static void add_contact(fixture *w, int upper, int lower, const double arm[3], double below, double mu)
{
  static const double direction[3][3] = {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}};
  granular_contact   *c               = &w->contact[w->f.n_contacts++];
  *c                                  = (granular_contact){.body = {upper, lower}, .mu = mu};
  for (int k = 0; k < 3; ++k) {
    const double *d = direction[k], under[3] = {arm[0], below, arm[2]};
    for (int i = 0; i < 3; ++i) c->row[k][0][i] = d[i], c->row[k][1][i] = -d[i];
    for (int i = 0; i < 3; ++i) {
      c->row[k][0][3 + i] = arm[(i + 1) % 3] * d[(i + 2) % 3] - arm[(i + 2) % 3] * d[(i + 1) % 3];
      c->row[k][1][3 + i] = -(under[(i + 1) % 3] * d[(i + 2) % 3] - under[(i + 2) % 3] * d[(i + 1) % 3]);
    }
  }
}
static void add_corners(fixture *w, int upper, int lower, double a, double height, double below, double mu)
{
  for (int k = 0; k < 4; ++k) {
    const double arm[3] = {k & 1 ? a : -a, -height, k & 2 ? a : -a};
    add_contact(w, upper, lower, arm, below, mu);
  }
}
static double sum_lambda(const fixture *w)
{
  double sum = 0.0;
  for (int64_t j = 0; j < w->f.n_contacts; ++j) sum += w->x.lambda[j];
  return sum;
}

/* A block on four points of a slope and no continuum at all, by both solvers of friction: sticks below atan mu, slides above, with
 * the forces of the textbook; down along either tangent. */
static void a_block_on_a_slope_sticks_or_slides(void **state)
{
  (void)state;
  const double mass = 3.0, mu = 0.5, angles[2] = {0.4, 0.6};
  for (int method = 0; method < 2; ++method)
    for (int k = 0; k < 4; ++k) {
      fixture      w;
      fixture_spec spec = box_of_water;
      spec.is_material  = is_nothing;
      fixture_create(&w, &spec);
      fixture_tighten(&w, 1e-10);
      w.friction.method = method;
      const int    body = fixture_add_body(&w, mass, 0.1), along = k / 2, down = 2 * along; /* tangent and axis of the slope */
      const double angle = angles[k % 2], g[2] = {FIXTURE_G * sin(angle), -FIXTURE_G * cos(angle)};
      w.v_star[body][down] = spec.dt * g[0], w.v_star[body][1] = spec.dt * g[1];
      add_corners(&w, body, -1, 0.1, 0.02, 0.0, mu);
      const granular_report r    = fixture_solve(&w);
      double                z[2] = {0.0};
      for (int j = 0; j < 4; ++j) {
        z[0] += w.x.z[2 * j], z[1] += w.x.z[2 * j + 1];
        assert_true(hypot(w.x.z[2 * j], w.x.z[2 * j + 1]) <= mu * w.x.lambda[j] * (1.0 + 1e-6) + 1e-8);
      }
      const bool   sticks = tan(angle) < mu;
      const double weight = mass * FIXTURE_G, force = sticks ? weight * sin(angle) : mu * weight * cos(angle);
      assert_true(r.is_converged);
      assert_close(sum_lambda(&w), weight * cos(angle), 1e-6 * weight);
      assert_close(z[along], -force, 1e-6 * weight);
      assert_close(z[1 - along], 0.0, 1e-6 * weight);
      assert_close(w.x.v[down], sticks ? 0.0 : spec.dt * (g[0] - mu * FIXTURE_G * cos(angle)), 1e-7);
      for (int i = 0; i < 6; ++i)
        if (i != down) assert_close(w.x.v[i], 0.0, 1e-6);
      assert_true(r.kkt.kkt < 1e-6 && r.kkt.energy < 0.0);
      fixture_destroy(&w);
    }
  assert_no_leak();
}

/* Friction of a body with one contact at which impulses do not turn it. The body moves along a tangent or between the tangents. Both contact solvers
 * are compared with the exact impulse: it stops the body, or it has the largest size that friction permits and is opposite to the velocity. They are
 * also tested without the final contact solve, which would replace their result. */
static void friction_of_a_single_contact(void **state)
{
  (void)state;
  const double mass = 2.0, mu = 0.5, push = 3.0, normal = push / box_of_water.dt * mass;
  for (int method = 0; method < 2; ++method)
    for (int coupling = GRANULAR_MONOLITHIC; coupling <= GRANULAR_C_PF; ++coupling)
      for (int k = 0; k < 8; ++k) {
        const double angle = k / 2 * M_PI / 6.0, speed = push * mu * (k % 2 ? 1.6 : 0.7), slip = fmax(0.0, speed - mu * push);
        const double v[2] = {speed * sin(angle), k / 2 == 3 ? 0.0 : speed * cos(angle)}; /* tangents z and x */
        fixture      w;
        fixture_spec spec = box_of_water;
        spec.is_material  = is_nothing;
        fixture_create(&w, &spec);
        fixture_tighten(&w, 1e-10);
        w.friction.method = method, w.o.coupling = coupling;
        fixture_add_body(&w, mass, 0.1);
        granular_contact *c = &w.contact[0];
        *c                  = (granular_contact){.body = {0, -1}, .mu = mu};
        for (int i = 0; i < 3; ++i) c->row[i][0][(i + 1) % 3] = 1.0; /* normal y, tangents z and x */
        w.f.n_contacts = 1, w.f.contact_scale = normal;
        w.v_star[0][1] = -push, w.v_star[0][2] = v[0], w.v_star[0][0] = v[1];
        const granular_report r = fixture_solve(&w);
        assert_true(r.is_converged);
        assert_close(w.x.lambda[0], normal, 1e-8 * normal);
        for (int i = 0; i < 2; ++i) {
          assert_close(w.x.z[i], -(speed - slip) / speed * v[i] * mass / spec.dt, 1e-7 * normal);
          assert_close(w.x.v[i ? 0 : 2], slip / speed * v[i], 1e-7 * push);
        }
        fixture_destroy(&w);
      }
  assert_no_leak();
}

/* The residual of friction at one contact of a body that is easier to move along one tangent: natural map with the larger of both diagonal entries of
 * the Hessian. */
static void the_residual_of_friction_is_the_natural_map(void **state)
{
  (void)state;
  for (int k = 0; k < 2; ++k) {
    fixture             w;
    fixture_spec        spec = box_of_water;
    granular_kkt_report r;
    spec.is_material = is_nothing;
    fixture_create(&w, &spec);
    fixture_add_body(&w, 2.0, 0.1);
    granular_contact *c = &w.contact[0];
    *c                  = (granular_contact){.body = {0, -1}, .mu = 0.9, .known = {0.0, 0.05, -0.02}};
    for (int i = 0; i < 3; ++i) c->row[i][0][(i + 1) % 3] = 1.0; /* normal y, tangents z and x */
    w.f.n_contacts = 1, w.f.contact_scale = 2.0;
    w.inverse_mass[0][0] = k ? 0.2 : 0.05, w.inverse_mass[0][14] = k ? 0.05 : 0.2;
    w.v_star[0][0] = 0.03, w.v_star[0][2] = -0.01;
    w.x.lambda[0] = 3.0, w.x.z[0] = 0.1, w.x.z[1] = -0.2;
    assert_ok(granular_kkt(&w.f, &w.x, &r));
    const double rate[2] = {-0.01 + w.inverse_mass[0][14] * 0.1 + 0.05, 0.03 + w.inverse_mass[0][0] * -0.2 - 0.02};
    assert_close(r.z, hypot(rate[0], rate[1]) / 0.2 / (0.9 * 3.0), 1e-15); /* inside the disc of radius 0.9 * 3 */
    fixture_destroy(&w);
  }
  assert_no_leak();
}

/* A body that nothing but one contact touches: it leaves with the rates that are known of the other side, restitution among them. */
static void known_rates_of_a_contact_are_met(void **state)
{
  (void)state;
  for (int coupling = GRANULAR_MONOLITHIC; coupling <= GRANULAR_C_P; ++coupling) {
    fixture w;
    fixture_create(&w, &box_of_water);
    fixture_tighten(&w, 1e-10);
    fixture_add_body(&w, 2.0, 0.1);
    granular_contact *c = &w.contact[0];
    *c                  = (granular_contact){.body = {0, -1}, .mu = 0.9, .known = {-0.3, 0.05, -0.02}};
    for (int k = 0; k < 3; ++k) c->row[k][0][(k + 1) % 3] = 1.0; /* normal y, tangents z and x */
    w.f.n_contacts = 1, w.f.contact_scale = 2.0 * FIXTURE_G;
    w.o.coupling            = coupling;
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_converged && r.kkt.kkt < 1e-7);
    assert_close(w.x.v[1], 0.3, 1e-8);
    assert_close(w.x.v[2], -0.05, 1e-8);
    assert_close(w.x.v[0], 0.02, 1e-8);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

/* A lid that floats on a full box of water, a block on four points of the lid. */
static void lid_and_block(fixture *w, double mass_of_lid, double mass_of_block)
{
  fixture_create(w, &box_of_water);
  fixture_tighten(w, 1e-10);
  const double h = box_of_water.h, center[2] = {0.5 * h * box_of_water.n[0], 0.5 * h * box_of_water.n[2]};
  const int    lid = fixture_add_body(w, mass_of_lid, 0.1), n_top = box_of_water.n[0] * box_of_water.n[2];
  assert_ok(memory_alloc("samples", n_top, sizeof(int32_t), &w->coupled_sample[0]));
  assert_ok(memory_alloc("bodies", n_top, sizeof(int32_t), &w->coupled_body[0]));
  assert_ok(memory_alloc("wrenches", n_top, 6 * sizeof(double), &w->coupled_wrench[0]));
  int n = 0;
  for (int64_t c = 0; c < w->f.n_cells; ++c)
    if (w->ijk[c][1] == box_of_water.n[1] - 1) {
      const double up = h * h, x = h * (w->ijk[c][0] + 0.5) - center[0], z = h * (w->ijk[c][2] + 0.5) - center[1],
                   wrench[6]  = {0, up, 0, -z * up, 0, x * up};
      w->coupled_sample[0][n] = (int32_t)c, w->coupled_body[0][n] = lid;
      memcpy(w->coupled_wrench[0][n++], wrench, sizeof wrench);
    }
  w->f.F_p = (granular_coupling){n, w->coupled_sample[0], w->coupled_body[0], (const double(*)[6])w->coupled_wrench[0]};
  if (mass_of_block > 0.0) {
    const int block = fixture_add_body(w, mass_of_block, 0.1);
    add_corners(w, block, lid, 0.05, 0.05, 0.0, 0.3);
  }
  w->f.contact_scale = FIXTURE_G * mass_of_block / 4.0;
}
static double top_pressure(const fixture *w)
{
  const double area = box_of_water.h * box_of_water.h * box_of_water.n[0] * box_of_water.n[2];
  double       mass = 0.0;
  for (int64_t b = 0; b < w->f.n_bodies; ++b) mass += box_of_water.dt / w->inverse_mass[b][0];
  return mass * FIXTURE_G / area;
}
static void expect_rest(const fixture *w)
{
  const double top = top_pressure(w), rho_g_h = box_of_water.rho * FIXTURE_G * box_of_water.h;
  for (int64_t c = 0; c < w->f.n_cells; ++c) /* the lid carries the pressure of its row: no water of its own */
    assert_close(w->x.p[c], top + rho_g_h * (box_of_water.n[1] - 1 - w->ijk[c][1]), 1e-6 * (top + 4.0 * rho_g_h));
  for (int64_t i = 0; i < w->f.n_faces; ++i) assert_close(w->x.u[i], 0.0, 1e-7);
  for (int64_t i = 0; i < 6 * w->f.n_bodies; ++i) assert_close(w->x.v[i], 0.0, 1e-6);
}

/* p = weight above / area + rho g depth, whether p and lambda are iterated or solved together. */
static void water_carries_a_lid_and_a_block(void **state)
{
  (void)state;
  for (int coupling = GRANULAR_MONOLITHIC; coupling <= GRANULAR_UNIFIED; ++coupling)
    for (int has_block = 0; has_block < 2; ++has_block) {
      fixture w;
      lid_and_block(&w, 20.0, has_block ? 15.0 : 0.0);
      w.o.coupling            = coupling;
      const granular_report r = fixture_solve(&w);
      assert_true(r.is_converged && r.kkt.kkt < 1e-7);
      assert_true((r.pn_iterations > 0) == (coupling == GRANULAR_UNIFIED && has_block));
      expect_rest(&w);
      if (has_block) assert_close(sum_lambda(&w), 15.0 * FIXTURE_G, 1e-5 * 15.0 * FIXTURE_G);
      fixture_destroy(&w);
    }
  assert_no_leak();
}

/* A light lid under a heavy block: sweeps hardly move the block's weight through it, and are given up for one solve. */
static void slow_sweeps_become_one_solve(void **state)
{
  (void)state;
  fixture w;
  lid_and_block(&w, 0.05, 40.0);
  const granular_report r = fixture_solve(&w);
  assert_true(r.became_unified && r.is_converged && r.kkt.kkt < 1e-7);
  expect_rest(&w);
  fixture_destroy(&w);
  assert_no_leak();
}

/* Coulomb's law is satisfied by the resulting velocities at any tolerance of the water: a block slides and turns on the lid. */
static void contacts_obey_the_law_at_any_tolerance(void **state)
{
  (void)state;
  for (int coupling = GRANULAR_MONOLITHIC; coupling <= GRANULAR_UNIFIED; ++coupling)
    for (int is_fast = 0; is_fast < 2; ++is_fast) {
      fixture w;
      lid_and_block(&w, 20.0, 15.0);
      fixture_tighten(&w, 1e-2);
      w.o.coupling   = coupling;
      w.v_star[1][0] = is_fast ? 0.3 : 0.02, w.v_star[1][4] = 0.5; /* block: along x, about y */
      const granular_report r = fixture_solve(&w);
      assert_true(r.is_converged && r.kkt.p > 1e-9);
      assert_true(r.kkt.lambda < 1e-10 && r.kkt.z < 1e-10);
      for (int64_t j = 0; j < w.f.n_contacts; ++j)
        assert_true(hypot(w.x.z[2 * j], w.x.z[2 * j + 1]) <= w.f.contact[j].mu * w.x.lambda[j] * (1.0 + 1e-14));
      fixture_destroy(&w);
    }
  assert_no_leak();
}

/* Thousands of near points without contact cost neither time nor memory, and change nothing but rounding: W of all would have 9
 * million blocks of 72 bytes. */
static void those_that_come_near_take_no_part(void **state)
{
  (void)state;
  enum { NEAR = 3000, BEAR = 4 };
  double            v[2][12];
  granular_contact *all;
  assert_ok(memory_alloc("contacts", NEAR, sizeof *all, &all));
  for (int is_near = 0; is_near < 2; ++is_near) {
    fixture w;
    lid_and_block(&w, 20.0, 15.0);
    fixture_tighten(&w, 1e-8);
    w.v_star[1][0] = 0.3, w.v_star[1][3] = 0.4;
    for (int64_t j = 0; j < NEAR; ++j) {
      all[j] = w.contact[j % 4];
      if (j >= BEAR) all[j].known[0] += 5.0 + (double)j; /* gap over dt [m/s] */
    }
    if (is_near) {
      memory_free(&w.x.lambda), memory_free(&w.x.z);
      assert_ok(memory_alloc("lambda", NEAR, sizeof(double), &w.x.lambda));
      assert_ok(memory_alloc("z", 2 * NEAR, sizeof(double), &w.x.z));
      w.f.contact = all, w.f.n_contacts = NEAR;
    }
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_converged && r.kkt.lambda < 1e-9 && r.kkt.z < 1e-9);
    memcpy(v[is_near], w.x.v, sizeof v[is_near]);
    for (int64_t j = BEAR; j < w.f.n_contacts; ++j) assert_true(w.x.lambda[j] == 0.0 && w.x.z[2 * j] == 0.0 && w.x.z[2 * j + 1] == 0.0);
    fixture_destroy(&w);
  }
  for (int i = 0; i < 12; ++i) assert_close(v[0][i], v[1][i], 1e-7);
  assert_true(memory_peak() < 64 << 20);
  memory_free(&all);
  assert_no_leak();
}

/* Where a block strikes the lid, a coarse solution transmits less than a thousandth of its momentum through the water, relative
 * to a pressure without the block. */
static void a_blow_compresses_nothing(void **state)
{
  (void)state;
  fixture w;
  lid_and_block(&w, 20.0, 15.0);
  fixture_tighten(&w, 3e-2);
  w.v_star[1][1]             = -2.0;
  const granular_report r    = fixture_solve(&w);
  const double          area = box_of_water.h * box_of_water.h * box_of_water.n[0] * box_of_water.n[2];
  assert_true(r.is_converged && r.kkt.lambda < 1e-8);
  assert_true(r.kkt.volume_rate < 1e-3 * area * 2.0 * 15.0 / 35.0);
  fixture_destroy(&w);
  assert_no_leak();
}

/* Weak couplings fail as they must: pressure that does not know the block's weight lets volume go, contacts that do not know the
 * water's support do not hold the block. */
static void weak_couplings_lose_what_they_do_not_know(void **state)
{
  (void)state;
  for (int coupling = GRANULAR_P_C; coupling <= GRANULAR_C_PF; ++coupling) {
    fixture w;
    lid_and_block(&w, 20.0, 15.0);
    w.o.coupling                            = coupling;
    const bool            is_pressure_first = coupling == GRANULAR_P_C || coupling == GRANULAR_PF_C;
    const granular_report r                 = fixture_solve(&w);
    const double free_fall = box_of_water.dt * FIXTURE_G, area = box_of_water.h * box_of_water.h * box_of_water.n[0] * box_of_water.n[2];
    if (is_pressure_first) { /* the lid was at rest, then shares the block's momentum */
      const double v = -free_fall * 15.0 / 35.0;
      assert_close(w.x.v[1], v, 1e-6);
      assert_close(w.x.v[7], v, 1e-6);
      assert_close(r.kkt.volume_rate, -v * area, 1e-6 * area);
    } else { /* both fell alike, nothing touched; then the lid was held, and the block falls into it */
      assert_close(w.x.v[1], 0.0, 1e-6);
      assert_close(w.x.v[7], -free_fall, 1e-6);
      assert_close(r.kkt.volume_rate, 0.0, 1e-8);
      assert_true(r.kkt.lambda > 0.1);
    }
    fixture_destroy(&w);
  }
  assert_no_leak();
}

/* All features at once with non-zero values: bodies under pressure and stress, contacts, prescribed rates, cohesion. All
 * solution orders and both cone solvers end in states that the independent residual accepts, with the same velocities. */
static bool is_corner(const int p[3], const int n[3]) { return p[0] + p[1] < n[0]; }
static void everything_at_once(void **state)
{
  (void)state;
  double *u[2] = {NULL, NULL}, v[2][12]; /* random wrenches mean something else in the other basis */
  for (int kind = 0; kind < 6; ++kind) {
    const fixture_spec spec = {.n              = {3, 3, 2},
                               .h              = 0.1,
                               .dt             = 0.02,
                               .rho            = 1500,
                               .M              = 0.4,
                               .is_orthonormal = kind & 1,
                               .is_open_wall   = true,
                               .is_material    = is_corner};
    fixture            w;
    uint64_t           count = 0;
    double             p_known[64], s_known[400], cohesion[64];
    fixture_create(&w, &spec);
    fixture_complicate(&w, p_known, s_known, &count);
    for (int64_t c = 0; c < w.f.n_cells; ++c) cohesion[c] = 10.0 * (double)(c % 3);
    w.f.cohesion = cohesion;
    fixture_forget(&w);
    fixture_tighten(&w, kind & 2 ? 1e-8 : 1e-9);
    w.lagrangian.damping    = 0.2; /* bodies couple all components: five blocks at once need less than the published 0.5 */
    w.o.stress              = kind & 2 ? GRANULAR_STRESS_LAGRANGIAN : GRANULAR_STRESS_GRADIENT;
    w.o.coupling            = kind & 4 ? GRANULAR_UNIFIED : GRANULAR_MONOLITHIC;
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_converged);
    if (!(r.kkt.kkt < 1e-6))
      fail_msg("kind %d: residual %g (p %g, s %g, lambda %g, z %g)", kind, r.kkt.kkt, r.kkt.p, r.kkt.s, r.kkt.lambda, r.kkt.z);
    assert_true(r.kkt.energy < 0.0 && sum_lambda(&w) > 0.0);
    const int basis = kind & 1;
    if (!u[basis]) {
      assert_ok(memory_alloc("velocities", w.f.n_faces, sizeof(double), &u[basis]));
      memcpy(u[basis], w.x.u, (size_t)w.f.n_faces * sizeof(double)), memcpy(v[basis], w.x.v, sizeof v[basis]);
    }
    for (int64_t i = 0; i < w.f.n_faces; ++i) assert_close(w.x.u[i], u[basis][i], 1e-5);
    for (int i = 0; i < 12; ++i) assert_close(w.x.v[i], v[basis][i], 1e-5);
    fixture_destroy(&w);
  }
  memory_free(&u[0]), memory_free(&u[1]);
  assert_no_leak();
}

/* Contacts that are settled in the end move p: where the outer loop has converged, that leaves no stress outside its cone by more than
 * the loop itself tolerates. */
static void settled_contacts_leave_stress_in_its_cone(void **state)
{
  (void)state;
  const fixture_spec spec = {
      .n = {3, 3, 2}, .h = 0.1, .dt = 0.02, .rho = 1500, .M = 0.4, .is_orthonormal = true, .is_open_wall = true, .is_material = is_corner};
  const double tolerance = 1e-2;
  for (uint64_t scene = 1; scene <= 20; ++scene) {
    fixture  w;
    uint64_t count = 1000 * scene;
    double   p_known[64], s_known[400];
    fixture_create(&w, &spec);
    fixture_complicate(&w, p_known, s_known, &count);
    fixture_forget(&w);
    fixture_tighten(&w, tolerance);
    w.o.max_outer_iterations = 200;
    const granular_report r  = fixture_solve(&w);
    assert_true(r.is_converged && r.kkt.lambda < 1e-9 && r.kkt.z < 1e-9);
    if (!(r.kkt.yield <= 1.0 + 2.0 * tolerance)) fail_msg("scene %d: |s| is %g of its bound", (int)scene, r.kkt.yield);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(a_block_on_a_slope_sticks_or_slides), cmocka_unit_test(friction_of_a_single_contact),
          cmocka_unit_test(the_residual_of_friction_is_the_natural_map), cmocka_unit_test(known_rates_of_a_contact_are_met),
          cmocka_unit_test(water_carries_a_lid_and_a_block), cmocka_unit_test(slow_sweeps_become_one_solve),
          cmocka_unit_test(contacts_obey_the_law_at_any_tolerance), cmocka_unit_test(those_that_come_near_take_no_part),
          cmocka_unit_test(a_blow_compresses_nothing), cmocka_unit_test(weak_couplings_lose_what_they_do_not_know),
          cmocka_unit_test(everything_at_once), cmocka_unit_test(settled_contacts_leave_stress_in_its_cone))
