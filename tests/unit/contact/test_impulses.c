/* Geometric impulses and rigid impact zones of vertices [BridsonEtAl2002]: no collision remains, and momenta are conserved. */
#include "core/team.h"
#include "flying_boxes.h"

static double ends_of[3 * MOST * BOX_NODES];

static void no_collision_remains_and_momentum_is_conserved(void **state)
{
  (void)state;
  static boxes w;
  for (uint64_t c = 0; c < 12; ++c) {
    const impulse_options o = {.thickness = c % 3 ? 0.02 : 0.0, .stiffness = 10.0, .max_iterations = c % 4 == 3 ? 2 : 30};
    double                P0[3], L0[3], P1[3], L1[3];
    throw(&w, 2 + (int)(c % 4) * 2, 4.0, c);
    for (int k = 0; k < (MOST + 1) * (MOST + 1); ++k) w.law[k].friction = c % 2 ? 0.4 : 0.0;
    assert_int_equal(intersections(&w, w.x), 0);
    for (int i = 0; i < 3 * w.n * BOX_NODES; ++i) ends_of[i] = w.x[i] + 0.1 * w.v[i];
    assert_true(intersections(&w, ends_of) > 0); /* else it would be no test */
    momentum(&w, P0, L0);
    const double         energy = kinetic(&w);
    const impulse_report r      = solve_and_check(&w, &o, ends_of, NULL);
    momentum(&w, P1, L1);
    for (int k = 0; k < 3; ++k) assert_close(P1[k], P0[k], 1e-12 * w.n * BOX_NODES);
    if (o.thickness == 0.0) assert_true(kinetic(&w) <= energy * (1 + 1e-12)); /* inelastic, without a spring */
    print_message("%d boxes: %lld rounds, %lld collisions, %lld near, %lld zones of %lld nodes in %lld rounds\n", w.n,
                  (long long)r.n_iterations, (long long)r.n_collisions, (long long)r.n_near, (long long)r.n_zones,
                  (long long)r.n_zone_nodes, (long long)r.n_zone_rounds);
    if (o.max_iterations == 2) assert_true(r.n_zones > 0);
  }
  assert_no_leak();
}

/* Zones alone: momentum and angular momentum about the start are conserved to rounding, and no collision remains. */
static void zones_keep_angular_momentum(void **state)
{
  (void)state;
  static boxes          w;
  const impulse_options o = {.max_iterations = 0};
  double                P0[3], L0[3], P1[3], L1[3];
  throw(&w, 4, 4.0, 77);
  momentum(&w, P0, L0);
  const impulse_report r = solve_and_check(&w, &o, ends_of, NULL);
  momentum(&w, P1, L1);
  assert_true(r.n_zones > 0);
  for (int k = 0; k < 3; ++k) {
    assert_close(P1[k], P0[k], 1e-11);
    assert_close(L1[k], L0[k], 1e-11);
  }
  assert_no_leak();
}

/* Constrained vertices keep every bit; others do not penetrate them. */
static void constrained_vertices_do_not_move(void **state)
{
  (void)state;
  static boxes          w;
  const impulse_options o = {.thickness = 0.01, .stiffness = 10.0, .max_iterations = 20};
  static double         held[3 * BOX_NODES];
  throw(&w, 2, 5.0, 5);
  for (int i = 0; i < BOX_NODES; ++i) w.inverse_mass[i] = 0.0, v3_set(w.v + 3 * i, 1.0, 0.0, 0.0);
  memcpy(held, w.v, sizeof held);
  solve_and_check(&w, &o, ends_of, NULL);
  assert_memory_equal(held, w.v, sizeof held);
  assert_no_leak();
}

/* A box between two approaching constrained ones: no motion is free of collisions, and the step status reports it. */
static void unresolvable_collision_sets_the_step_status(void **state)
{
  (void)state;
  static boxes          w;
  const impulse_options o = {.max_iterations = 5};
  impulses             *a;
  impulse_report        r;
  step_status           status = {STEP_OK, NULL, -1};
  throw(&w, 3, 0.0, 5);
  for (int i = 0; i < 3 * BOX_NODES; ++i)
    if (i / BOX_NODES != 1) w.inverse_mass[i] = 0.0, v3_set(w.v + 3 * i, i / BOX_NODES == 0 ? 9.0 : -9.0, 0.0, 0.0);
  const impulse_scene scene = scene_of(&w);
  const impulse_step  step  = {.dt = 0.1, .x0 = w.x, .v = w.v};
  assert_ok(impulses_create(&scene, &a));
  assert_ok(impulses_solve(a, &o, &step, &status, &r));
  assert_int_equal(status.code, STEP_COLLISION_UNRESOLVED);
  impulses_destroy(&a);
  assert_no_leak();
}

/* One point on a large fixed triangle at an angle: friction is mu times the normal impulse, and at most stops it. */
static void friction_is_coulombs(void **state)
{
  (void)state;
  const double               x[12] = {0.1, 0.2, 0.05, -9, -9, 0, 9, -9, 0, 0, 18, 0}, mu[] = {0.0, 0.3, 2.0};
  const int32_t              triangle[3] = {1, 2, 3}, point[1] = {0}, body[4] = {0, 1, 1, 1};
  const bool                 can_touch[4]    = {false, true, true, false};
  const double               inverse_mass[4] = {0.5, 0, 0, 0};
  const broad_phase_surfaces s               = {.n_vertices  = 4,
                                                .n_points    = 1,
                                                .n_triangles = 1,
                                                .point       = point,
                                                .triangle    = triangle,
                                                .n_bodies    = 2,
                                                .body        = body,
                                                .can_touch   = can_touch};
  impulse_law                law[4]          = {{9.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}, {9.0, 0.0}};
  const impulse_scene        scene           = {.surfaces = s, .inverse_mass = inverse_mass, .law = law};
  impulses                  *a;
  assert_ok(impulses_create(&scene, &a));
  for (int c = 0; c < 3; ++c) {
    double                v[12] = {3.0, 0.0, -2.0};
    impulse_report        r;
    step_status           status = {STEP_OK, NULL, -1};
    const impulse_options o      = {.max_iterations = 3};
    const impulse_step    step   = {.dt = 0.1, .x0 = x, .v = v};
    law[1].friction = law[2].friction = mu[c];
    assert_ok(impulses_solve(a, &o, &step, &status, &r));
    assert_close(v[0], fmax(0.0, 3.0 - 2.0 * mu[c]), 1e-13);
    assert_close(v[2], 0.0, 1e-13);
  }
  /* Within the thickness the spring gives: dt k overlap over the mass, at most a tenth of the overlap in a step. */
  for (int c = 0; c < 2; ++c) {
    double                v[12] = {0.0, 0.0, -2.0};
    impulse_report        r;
    step_status           status = {STEP_OK, NULL, -1};
    const impulse_options o      = {.thickness = 0.08, .stiffness = c ? 1e9 : 0.5, .max_iterations = 3};
    const impulse_step    step   = {.dt = 0.1, .x0 = x, .v = v};
    assert_ok(impulses_solve(a, &o, &step, &status, &r));
    assert_close(v[2], c ? 0.1 * 0.03 / 0.1 : 0.1 * 0.5 * 0.03 * 0.5, 1e-12);
    assert_int_equal(r.n_near, 1);
  }
  impulses_destroy(&a);
  assert_no_leak();
}

/* One point on a large fixed triangle: it rebounds with e times its speed, and the reported impulses, energy and sliding are
 * exact. */
static void restitution_and_reported_values(void **state)
{
  (void)state;
  const double               x[12] = {0.1, 0.2, 0.05, -9, -9, 0, 9, -9, 0, 0, 18, 0}, mass = 2.0, v_in = 2.0, slip = 3.0;
  const int32_t              triangle[3] = {1, 2, 3}, point[1] = {0}, body[4] = {0, 1, 1, 1};
  const bool                 can_touch[4]    = {false, true, true, false};
  const double               inverse_mass[4] = {1.0 / mass, 0, 0, 0};
  const broad_phase_surfaces s               = {.n_vertices  = 4,
                                                .n_points    = 1,
                                                .n_triangles = 1,
                                                .point       = point,
                                                .triangle    = triangle,
                                                .n_bodies    = 2,
                                                .body        = body,
                                                .can_touch   = can_touch};
  impulse_law                law[4] = {{9.0, 0.9}, {0.0, 0.0}, {0.0, 0.0}, {9.0, 0.9}}; /* those of a body and itself count for nothing */
  const impulse_scene        scene  = {.surfaces = s, .inverse_mass = inverse_mass, .law = law};
  impulses                  *a;
  assert_ok(impulses_create(&scene, &a));
  for (int c = 0; c < 4; ++c) {
    const double   e = c % 2 ? 0.6 : 0.0, mu = c / 2 ? 2.0 : 0.3, j = mass * (1.0 + e) * v_in, left = fmax(0.0, slip - mu * j / mass);
    double         v[12] = {slip, 0.0, -v_in};
    int64_t        n;
    impulse_report r;
    step_status    status      = {STEP_OK, NULL, -1};
    const impulse_options o    = {.max_iterations = 3};
    const impulse_step    step = {.dt = 0.1, .x0 = x, .v = v};
    law[1] = law[2] = (impulse_law){mu, e};
    assert_ok(impulses_solve(a, &o, &step, &status, &r));
    assert_close(v[0], left, 1e-13);
    assert_close(v[2], e * v_in, 1e-13);
    assert_int_equal(r.n_iterations, 1);
    assert_close(r.normal_work, -0.5 * mass * (1.0 - e * e) * v_in * v_in, 1e-12);
    assert_close(r.friction_work, -0.5 * mass * (slip * slip - left * left), 1e-12);
    const impulse_contact *told = impulses_contacts(a, &n);
    assert_int_equal(n, 1);
    assert_close(told->pressed, j, 1e-12);
    assert_close(told->impulse[2], j, 1e-12);
    assert_close(told->friction[0], -mass * (slip - left), 1e-12);
    assert_close(told->gap, 0.05 + 0.1 * e * v_in, 1e-13);
    assert_true(told->is_sliding == (left > 0.0));
  }
  impulses_destroy(&a);
  assert_no_leak();
}

static void same_bits_on_any_number_of_threads(void **state)
{
  (void)state;
  static boxes          w;
  static double         first[3 * MOST * BOX_NODES];
  const int             threads = team_threads();
  const impulse_options o       = {.thickness = 0.02, .stiffness = 10.0, .max_iterations = 3};
  for (int t = 1; t <= 3; ++t) {
    team_set_threads(t);
    throw(&w, 8, 4.0, 11);
    solve_and_check(&w, &o, ends_of, NULL);
    if (t == 1) memcpy(first, w.v, sizeof first);
    assert_memory_equal(first, w.v, sizeof first);
  }
  team_set_threads(threads);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(no_collision_remains_and_momentum_is_conserved), cmocka_unit_test(zones_keep_angular_momentum),
          cmocka_unit_test(constrained_vertices_do_not_move), cmocka_unit_test(unresolvable_collision_sets_the_step_status),
          cmocka_unit_test(friction_is_coulombs), cmocka_unit_test(restitution_and_reported_values),
          cmocka_unit_test(same_bits_on_any_number_of_threads))
