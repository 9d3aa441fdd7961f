/* Steps of formulation `monolith` without a continuum: its rigid bodies. */
#include "formulation_fixture.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "sim/monolith/monolith_bodies.h"

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: monolith\n"                                                                                      \
  "materials:\n  wood: {model: rigid, density: 1000}\n"
#define FLOOR "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}\n"
#define TIGHT "solver: {monolith: {tolerance: 1.0e-12, max_outer_iterations: 400, pressure: {tolerance: 1.0e-13}}}\n"

/* A fast tumbling brick: without forces both momenta are preserved; with a wrench they change accordingly, to rounding. */
static void test_momentum(void **state)
{
  (void)state;
  world           w;
  step_layout     l;
  monolith_bodies b      = {0};
  step_status     status = {STEP_OK, NULL, -1};
  const double    dt = 0.01, wrench[1][6] = {{3, -2, 1, 0.02, 0.01, -0.03}};
  double          v[1][6], moment[3], arm[3];
  open_world(HEAD "gravity: [0, 0, 0]\ntime: {end: 1, step: 0.01}\ncontact: {friction: 0.5}\nbodies:\n"
                  "  brick: {kind: rigid, material: wood, shape: {box: {min: [1, 2, 3], max: [1.1, 2.2, 3.3]}}, velocity: [1, 2, "
                  "3], angular_velocity: [10, 20, -5]}\n",
             &w);
  assert_ok(step_layout_create(w.s, &l));
  const body_totals before = totals(&w);
  assert_ok(step_layout_begin(&l, 0.0, dt, &status));
  assert_ok(monolith_bodies_begin(&b, &l, &status));
  assert_int_equal(b.n, 1);
  memcpy(v, b.v_free, sizeof v);
  assert_ok(monolith_bodies_push(&b, dt, wrench, v, &status));
  assert_int_equal(status.code, STEP_OK);
  memcpy(l.v, v, sizeof v);
  assert_ok(step_layout_end(&l, &status));
  const body_totals after = totals(&w);
  const double      size  = v3_norm(before.angular_momentum);
  v3_cross(arm, before.center, wrench[0]); /* v is along the displacement of the centre, c1 x m v = c0 x m v */
  v3_add(moment, arm, wrench[0] + 3);
  for (int k = 0; k < 3; ++k) {
    assert_close(after.momentum[k] - before.momentum[k], dt * wrench[0][k], 1e-14 * v3_norm(before.momentum));
    assert_close(after.angular_momentum[k] - before.angular_momentum[k], dt * moment[k], 1e-13 * size);
  }
  monolith_bodies_destroy(&b);
  step_layout_destroy(&l);
  close_world(&w);
  assert_no_leak();
}

/* inverse_mass is the derivative of the velocity by the wrench. */
static void test_mobility(void **state)
{
  (void)state;
  world           w;
  step_layout     l;
  monolith_bodies b      = {0};
  step_status     status = {STEP_OK, NULL, -1};
  open_world(HEAD "time: {end: 1, step: 0.01}\ncontact: {friction: 0.5}\nbodies:\n"
                  "  brick: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [0.1, 0.2, 0.3]}}, velocity: [1, 2, 3]}\n",
             &w);
  assert_ok(step_layout_create(w.s, &l));
  assert_ok(step_layout_begin(&l, 0.0, 0.01, &status));
  assert_ok(monolith_bodies_begin(&b, &l, &status));
  assert_close(b.v_free[0][2], 3.0 - 0.0981, 1e-14);
  for (int j = 0; j < 6; ++j) {
    double wrench[1][6] = {{0}}, v[1][6];
    wrench[0][j]        = 1e-3;
    memcpy(v, b.v_free, sizeof v);
    assert_ok(monolith_bodies_push(&b, 0.01, (const double(*)[6])wrench, v, &status));
    for (int i = 0; i < 6; ++i) assert_close((v[0][i] - b.v_free[0][i]) / 1e-3, b.inverse_mass[0][6 * i + j], 1e-8 * b.inverse_mass[0][21]);
  }
  monolith_bodies_destroy(&b);
  step_layout_destroy(&l);
  close_world(&w);
  assert_no_leak();
}

/* A box on a slope of tan 0.4: it sticks with friction 0.41, and slides with g (sin - 0.3 cos). */
static void test_slope(void **state)
{
  (void)state;
  for (int slides = 0; slides < 2; ++slides) {
    world w;
    char  text[1000];
    snprintf(text, sizeof text,
             HEAD "gravity: [%.17g, 0, %.17g]\ntime: {end: 1, step: 0.01}\ncontact: {friction: %g}\nbodies:\n" FLOOR
                  "  box: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.1]}}}\n" TIGHT,
             9.81 * 0.4 / sqrt(1.16), -9.81 / sqrt(1.16), slides ? 0.3 : 0.41);
    open_world(text, &w);
    for (int k = 0; k < 10; ++k) step(&w);
    double       force[3], moment[3];
    const double weight = 4.0 * 9.81 / sqrt(1.16);
    contact_forces_between(w.f->forces, 1, 0, force, moment);
    assert_close(force[2], weight, 1e-7 * weight);
    assert_close(force[0], -(slides ? 0.3 : 0.4) * weight, 1e-6 * weight);
    assert_close(rigid(&w, "box")->v[0], slides ? 0.1 * 9.81 / sqrt(1.16) * 0.1 : 0.0, 1e-7);
    assert_true(w.report.contact.contacts >= 3);
    close_world(&w);
  }
  assert_no_leak();
}

/* Separate bodies close exactly their gap; with restitution bodies leave with that share of their speed. */
static void test_impact(void **state)
{
  (void)state;
  world w;
  open_world(HEAD
             "gravity: [0, 0, 0]\ntime: {end: 1, step: 0.01}\ncontact: {friction: 0, pairs: [{between: [rubber, floor], restitution: "
             "0.5}]}\nbodies:\n" FLOOR
             "  lead: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0.101], radius: 0.1}}, velocity: [0, 0, -0.5]}\n"
             "  rubber: {kind: rigid, material: wood, shape: {sphere: {center: [1, 0, 0.1], radius: 0.1}}, velocity: [0, 0, -1]}\n" TIGHT,
             &w);
  step(&w);
  assert_close(rigid(&w, "lead")->c[2], 0.1, 1e-12);
  assert_close(rigid(&w, "rubber")->v[2], 0.5, 1e-10);
  step(&w);
  assert_close(rigid(&w, "lead")->v[2], 0.0, 1e-10);
  close_world(&w);
  assert_no_leak();
}

/* Without a continuum the accurate contact solve determines the result: a step is accepted if the contact law is satisfied, although the outer
 * iterations, its initial guess, have not converged. A box slides on its face and comes to rest. */
static void test_few_outer_iterations(void **state)
{
  (void)state;
  world w;
  open_world(HEAD "gravity: [0, 0, -10]\ntime: {end: 1, step: 0.01}\ncontact: {friction: 0.5}\nbodies:\n" FLOOR
                  "  box: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [0.2, 0.2, 0.1]}}, velocity: [0.2, 0.1, 0]}\n"
                  "solver: {monolith: {max_outer_iterations: 1}}\n",
             &w);
  for (int k = 0; k < 8; ++k) {
    step(&w);
    assert_int_equal(w.report.unconverged, 0);
    assert_true(w.report.residual <= 1e-9);
    assert_close(hypot(rigid(&w, "box")->v[0], rigid(&w, "box")->v[1]), fmax(0.0, hypot(0.2, 0.1) - 0.05 * (k + 1)), 1e-9);
  }
  close_world(&w);
  assert_no_leak();
}

/* Overlapping initial bodies are rejected with their depth, to a thousandth of their size, also if no corner of one is inside
 * the other: crossing bars, a plate through a block. An overlap of a millimetre is accepted. */
static void test_start(void **state)
{
  (void)state;
  static const struct {
    const char *bodies;
    double      depth; /* 0: accepted */
  } cases[] = {
      {"  a: {kind: rigid, material: wood, shape: {box: {min: [-1, -0.1, -0.1], max: [1, 0.1, 0.1]}}}\n"
       "  b: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -1, 0], max: [0.1, 1, 0.2]}}}\n",
       0.1},
      {"  a: {kind: rigid, material: wood, shape: {box: {min: [-0.3, -0.3, -0.3], max: [0.3, 0.3, 0.3]}}}\n"
       "  b: {kind: rigid, material: wood, shape: {box: {min: [-0.05, -1, -1], max: [0.05, 1, 1]}}}\n",
       0.25},
      {"  a: {kind: static, shape: {box: {min: [-1, -1, -1], max: [1, 1, 0]}}}\n"
       "  b: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, -0.02], max: [0.1, 0.1, 0.18]}}}\n",
       0.02},
      {"  a: {kind: rigid, material: wood, shape: {box: {min: [-1, -0.1, -0.1], max: [1, 0.1, 0.1]}}}\n"
       "  b: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -1, 0.099], max: [0.1, 1, 0.2]}}}\n",
       0.0},
      {"  a: {kind: rigid, material: wood, shape: {box: {min: [-1, -0.1, -0.1], max: [1, 0.1, 0.1]}}}\n"
       "  b: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -1, 0.101], max: [0.1, 1, 0.2]}}}\n",
       0.0},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    char         text[2000];
    diagnostics *d;
    job         *j = NULL;
    scene       *s = NULL;
    snprintf(text, sizeof text, HEAD "time: {end: 1, step: 0.01}\ncontact: {friction: 0.5}\nbodies:\n%s", cases[k].bodies);
    assert_ok(diagnostics_create(&d));
    assert_ok(job_read_text("job", text, 0, NULL, d, &j));
    if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
    assert_int_equal(diagnostics_count(d), cases[k].depth > 0.0);
    if (cases[k].depth > 0.0) {
      double      depth;
      const char *said = strstr(diagnostics_text(d, 0), "bodies.b: starts ");
      assert_non_null(said);
      assert_int_equal(sscanf(said, "bodies.b: starts %lg m deep in \"a\"", &depth), 1);
      assert_close(depth, cases[k].depth, 1.5e-3);
    }
    scene_destroy(&s);
    job_destroy(&j);
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

/* Balls that overlap by a tenth of their radius at the start: separated by a share per step, with unchanged velocities. */
static void test_overlap(void **state)
{
  (void)state;
  world  w;
  double before = 0.002;
  open_world(HEAD "gravity: [0, 0, 0]\ntime: {end: 1, step: 0.01}\ncontact: {friction: 0.5, overlap_correction: 0.5, "
                  "overlap_correction_speed: 1}\nbodies:\n"
                  "  a: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}}\n"
                  "  b: {kind: rigid, material: wood, shape: {sphere: {center: [0.198, 0, 0], radius: 0.1}}}\n",
             &w);
  for (int k = 0; k < 3; ++k, before *= 0.5) {
    const double *a = rigid(&w, "a")->c, *b = rigid(&w, "b")->c;
    assert_close(0.2 - (b[0] - a[0]), before, 1e-12);
    step(&w);
    assert_close(a[0] + b[0], 0.198, 1e-12);
    assert_close(v3_norm(rigid(&w, "a")->v) + v3_norm(rigid(&w, "b")->v), 0.0, 1e-15);
  }
  close_world(&w);
  assert_no_leak();
}

/* A collision without restitution: momenta are preserved, the balls continue together along the normal. */
static void test_collision(void **state)
{
  (void)state;
  world w;
  open_world(HEAD "gravity: [0, 0, 0]\ntime: {end: 1, step: 0.01}\ncontact: {friction: 0.2}\nbodies:\n"
                  "  a: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}, velocity: [1, 0.2, 0], "
                  "angular_velocity: [0, 3, 9]}\n"
                  "  b: {kind: rigid, material: wood, shape: {sphere: {center: [0.205, 0.02, 0], radius: 0.1}}}\n" TIGHT,
             &w);
  const body_totals before = totals(&w);
  for (int k = 0; k < 5; ++k) step(&w);
  const body_totals after = totals(&w);
  double            n[3], dv[3];
  for (int k = 0; k < 3; ++k) {
    assert_close(after.momentum[k], before.momentum[k], 1e-14 * v3_norm(before.momentum));
    assert_close(after.angular_momentum[k], before.angular_momentum[k], 1e-13 * v3_norm(before.angular_momentum));
  }
  assert_true(after.kinetic < before.kinetic);
  v3_sub(n, rigid(&w, "b")->c, rigid(&w, "a")->c);
  v3_sub(dv, rigid(&w, "b")->v, rigid(&w, "a")->v);
  assert_true(v3_norm(rigid(&w, "b")->v) > 0.3);
  assert_true(fabs(v3_dot(dv, n)) < 0.02 * v3_norm(n)); /* separated afterwards according to their rotation about each other */
  close_world(&w);
  assert_no_leak();
}

/* Rigid bodies and the sides of the domain of a continuum: bodies come to rest on them, slide without friction on smooth sides,
 * and pass through sides in which they started. */
static void test_walls(void **state)
{
  (void)state;
  for (int is_smooth = 0; is_smooth < 2; ++is_smooth) {
    world  w;
    char   text[2000];
    double force[3], moment[3];
    snprintf(text, sizeof text,
             HEAD "  sand: {model: granular, density: 1600, friction_angle_deg: 30}\n"
                  "gravity: [0, 0, -10]\ntime: {end: 1, step: 0.01}\ncontact: {friction: 0.5}\n"
                  "mac: {domain: {min: [-1, 0, 0.5], max: [2, 1, 1.5]}, spacing: 0.1, walls: {lower_z: %s}}\n"
                  "bodies:\n  grains: {kind: mac, material: sand, shape: {box: {min: [-1, 0, 0.5], max: [-0.8, 0.2, 0.6]}}}\n"
                  "  ring: {kind: rigid, material: wood, velocity: [1, 0, 0], shape: {difference: {from: {box: "
                  "{min: [0, 0.4, 0.5], max: [0.2, 0.6, 0.6]}}, minus: [{box: {min: [0.05, 0.45, 0.4], max: [0.15, 0.55, 0.7]}}]}}}\n"
                  "  box: {kind: rigid, material: wood, velocity: [1, 0, -0.5], shape: {box: {min: [1.7, 0.4, 0.51], "
                  "max: [1.9, 0.6, 0.61]}}}\n"
                  "  through: {kind: rigid, material: wood, shape: {sphere: {center: [1, 0.5, 0.52], radius: 0.1}}}\n" TIGHT,
             is_smooth ? "smooth" : "rough");
    open_world(text, &w);
    for (int k = 0; k < 8; ++k) step(&w);
    assert_close(rigid(&w, "ring")->v[0], is_smooth ? 1.0 : 1.0 - 0.8 * 0.5, 1e-5);
    assert_close(rigid(&w, "ring")->c[2], 0.55, 1e-6);
    assert_close(rigid(&w, "through")->v[2], -0.8, 1e-9);
    for (int k = 0; k < 27; ++k) step(&w);
    assert_close(rigid(&w, "box")->c[2], 0.55, 1e-6);
    assert_true(is_smooth == (fabs(rigid(&w, "box")->c[0] - 1.9) < 1e-5)); /* it stops at the side */
    contact_forces_between(w.f->forces, scene_find_body(w.s, "box"), scene_find_body(w.s, "walls.lower_z"), force, moment);
    assert_close(force[2], 4.0 * 10.0, 1e-4);
    close_world(&w);
  }
  assert_no_leak();
}

#define LUMP "  lump: {kind: mac, material: wood, shape: {box: {min: [0.1, 0.1, 0.1], max: [0.5, 0.5, 0.5]}}}\n"
static void test_refusals(void **state)
{
  (void)state;
  static const char *const cases[][2] = {
      {"contact: {friction: 0.1}\nsolver: {monolith: {expert: {component_solver: {}}}}\nbodies:\n" FLOOR,
       "job:8:48: solver.monolith.expert.component_solver: has no effect when solver.monolith.stress is projected_gradient; remove it"},
      {"contact: {friction: 0.1}\nsolver: {monolith: {pressure: {method: tao, preconditioner: mic}}}\nbodies:\n" FLOOR,
       "solver.monolith.pressure.preconditioner: has no effect when solver.monolith.pressure.method is tao"},
      /* the value of the other key may be a default */
      {"contact: {friction: 0.1}\nsolver: {monolith: {pressure: {expert: {trials: 2}}}}\nbodies:\n" FLOOR,
       "solver.monolith.pressure.expert.trials: has no effect when solver.monolith.pressure.method is active_set"},
      {"contact: {friction: 0.1}\nsolver: {monolith: {stress: augmented_lagrangian, expert: {augmented_lagrangian: {damping: 0.4, "
       "line_search: true}}}}\nbodies:\n" FLOOR,
       "expert.augmented_lagrangian.damping: has no effect when solver.monolith.expert.augmented_lagrangian.line_search is true"},
      {"contact: {friction: 0.1}\nmac: {domain: {min: [0, 0, 0], max: [1, 1, 1]}, spacing: 0.1, arrangement: staggered, expert: "
       "{hourglass: 0}}\nbodies:\n" FLOOR LUMP,
       "mac.expert.hourglass: has no effect when mac.arrangement is staggered; remove it"},
      {"contact: {friction: 0.1}\nmpm: {transfer: apic}\nbodies:\n" FLOOR,
       "job:8:6: mpm: has no effect, because no bodies.NAME.kind is mpm; remove it"},
      {"contact: {friction: 0.1}\nbodies:\n  a: {kind: cloth, sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, "
       "2]}, mass_per_area: 1, stretch: 1, bending: 1}\n",
       "bodies.a.kind: formulation monolith does not support kind cloth"},
      {"contact: {friction: 0.1}\nbodies:\n  a: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 1}}}\n"
       "  b: {kind: rigid, material: wood, shape: {sphere: {center: [1.5, 0, 0], radius: 1}}}\n",
       "bodies.b: starts 0.4"},
      /* edges through faces: no vertex of either is inside the other */
      {"contact: {friction: 0.1}\nbodies:\n"
       "  a: {kind: rigid, material: wood, shape: {box: {min: [-1, -0.1, 0], max: [1, 0.1, 0.2]}}}\n"
       "  b: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -1, 0.05], max: [0.1, 1, 0.25]}}}\n",
       "bodies.b: starts 0.099"},
      /* an obstacle completely inside a body */
      {"contact: {friction: 0.1}\nbodies:\n  a: {kind: static, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}}\n"
       "  b: {kind: rigid, material: wood, shape: {box: {min: [-1, -1, -1], max: [1, 1, 1]}}}\n",
       "bodies.b: starts 0.94"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    world w;
    char  text[2000];
    bool  is_said = false;
    memset(&w, 0, sizeof w);
    snprintf(text, sizeof text, HEAD "time: {end: 1, step: 0.01}\n%s", cases[i][0]);
    assert_ok(diagnostics_create(&w.d));
    assert_ok(job_read_text("job", text, 0, NULL, w.d, &w.j));
    if (w.j) assert_ok(scene_create(PETSC_COMM_SELF, &w.j->scene, w.d, &w.s));
    for (int k = 0; k < diagnostics_count(w.d); ++k) is_said |= strstr(diagnostics_text(w.d, k), cases[i][1]) != NULL;
    if (!is_said) fail_msg("not said: %s; but: %s", cases[i][1], diagnostics_count(w.d) ? diagnostics_text(w.d, 0) : "nothing");
    close_world(&w);
  }
  assert_no_leak();
}

/* Coulomb's law is satisfied by the velocities from the bodies' own equations, which are nonlinear for a tumbling brick. */
static void test_law(void **state)
{
  (void)state;
  world  w;
  double worst   = 0.0;
  int    n_steps = 0;
  open_world(HEAD "time: {end: 1, step: 0.005}\ncontact: {friction: 0.4}\nbodies:\n" FLOOR
                  "  brick: {kind: rigid, material: wood, shape: {box: {min: [-0.05, -0.1, 0.2], max: [0.05, 0.1, 0.5]}}, "
                  "velocity: [1, 0.5, -1], angular_velocity: [5, 8, -3]}\n",
             &w);
  for (int k = 0; k < 80; ++k) {
    step(&w);
    n_steps += w.report.contact.contacts > 0;
    worst = fmax(worst, w.report.contact.contact_law_error);
  }
  assert_true(n_steps > 10);
  assert_close(worst, 0.0, 1e-8);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_momentum), cmocka_unit_test(test_mobility), cmocka_unit_test(test_slope), cmocka_unit_test(test_impact),
          cmocka_unit_test(test_few_outer_iterations), cmocka_unit_test(test_start), cmocka_unit_test(test_overlap),
          cmocka_unit_test(test_collision), cmocka_unit_test(test_walls), cmocka_unit_test(test_law), cmocka_unit_test(test_refusals))
