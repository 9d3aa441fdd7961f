/* Steps of formulation `exact`: rest, sliding, momentum, energy, impact, constrained nodes, number of threads; its contact rows
 * and its matrix. */
#include "formulation_fixture.h"
#include <float.h>
#include <stdio.h>
#include <string.h>
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "app/run/run_history.h"
#include "sim/step/step_frame.h"
#include "optim/friction/friction.h"
#include "optim/friction/mass_factor.h"

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: exact\n"                                                                                         \
  "materials:\n  wood: {model: rigid, density: 1000}\n  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e4, "           \
  "poisson_ratio: 0.3}\n"                                                                                                                  \
  "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 1.0e5, poisson_ratio: 0.3, friction_angle_deg: 30}\n"
#define FLOOR "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}\n"
#define TIGHT "solver: {newton: {tolerance: 1.0e-11}, friction: {tolerance: 1.0e-12}}\n"

/* Friction determines where a block stops, and backward Euler when: v_k = v - k mu g h until the velocity would change sign. */
static void test_slip_distance(void **state)
{
  (void)state;
  world  w;
  double v = 1.0, x = 0.0;
  open_world(
      HEAD "time: {end: 1, step: 1.0e-2}\nbodies:\n" FLOOR
           "  block: {kind: rigid, material: wood, shape: {box: {min: [-0.2, -0.1, 0], max: [0.2, 0.1, 0.05]}}, velocity: [0.8, 0.6, 0]}\n"
           "contact: {friction: 0.3}\n" TIGHT,
      &w);
  for (int k = 0; k < 60; ++k) {
    step(&w);
    v = fmax(0.0, v - 0.3 * 9.81 * 1e-2);
    x += 1e-2 * v;
    assert_close(w.report.contact.cone_violation, 0.0, 1e-12);
    assert_close(w.report.contact.contact_law_error, 0.0, 1e-8);
  }
  const rigid_body *b = rigid(&w, "block");
  assert_true(v == 0.0);
  assert_close(b->c[0], 0.8 * x, 1e-9);
  assert_close(b->c[1], 0.6 * x, 1e-9);
  assert_close(b->c[2], 0.025, 1e-9);
  assert_close(v3_norm(b->v), 0.0, 1e-9);
  close_world(&w);
  assert_no_leak();
}

/* The report states the method that solved the friction problem, by its number in the table of methods; automatic: that of its
 * sequence. A step without contact has none. */
static void test_friction_method_is_reported(void **state)
{
  (void)state;
  for (int k = 0; k < FRICTION_N_METHODS; ++k)
    for (int touches = 0; touches < 2; ++touches) {
      world w;
      char  text[2000];
      snprintf(text, sizeof text,
               HEAD "time: {end: 1, step: 1.0e-2}\nbodies:\n" FLOOR
                    "  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, %s], radius: 0.1}}, velocity: [1, 0, -0.1]}\n"
                    "contact: {friction: 0.3}\nsolver: {friction: {method: %s}}\n",
               touches ? "0.1" : "1.0", friction_solvers[k].name);
      open_world(text, &w);
      step(&w);
      assert_int_equal(w.report.friction_iterations > 0, touches);
      assert_int_equal(w.report.friction_method, !touches ? -1 : k == FRICTION_METHOD_AUTOMATIC ? FRICTION_METHOD_SPLITTING : k);
      close_world(&w);
    }
}

/* All contacts slide at 1 m/s against their friction; one slides at `slow` and is turned by `angle`: that is the largest angle,
 * weighted with its work. */
static contact_summary turn_one(const world *w, double slow, double angle, double *all)
{
  step_frame        *f = (step_frame *)w->f; /* the formulation is its first member */
  const int64_t      n = f->contacts.rows.n;
  double             r[12], u[12], W[36];
  const step_outcome law = {.r = r, .u = u, .scale = W};
  contact_summary    sum;
  assert_int_equal(n, 4);
  for (int64_t i = 0; i < n; ++i) {
    const double mu = f->contacts.mu[i], speed = i == 2 ? slow : 1.0, turn = i == 2 ? angle : 0.0;
    v3_set(r + 3 * i, 2.0, -2.0 * mu, 0.0);
    v3_set(u + 3 * i, 0.0, speed * cos(turn), speed * sin(turn));
    m3_identity(W + 9 * i);
  }
  assert_ok(step_contact_report(&f->contacts, &f->layout, &law, NULL, &f->record, &sum));
  *all = 2.0 * f->contacts.mu[0] * (3.0 + slow);
  return sum;
}

static void test_friction_angle(void **state)
{
  (void)state;
  world  w;
  double all, values[HISTORY_N_QUANTITIES];
  open_world(
      HEAD "time: {end: 1, step: 1.0e-2}\nbodies:\n" FLOOR
           "  block: {kind: rigid, material: wood, shape: {box: {min: [-0.2, -0.1, 0], max: [0.2, 0.1, 0.05]}}, velocity: [0.8, 0.6, 0]}\n"
           "contact: {friction: 0.3}\n" TIGHT,
      &w);
  step(&w);
  assert_close(w.report.contact.friction_work_deficit, 0.0, 1e-15 * w.report.contact.friction_work_done);
  const double slow[] = {1.0, 1e-6, 1e-6, 5e-8}, angle[] = {1e-3, 6e-3, M_PI, M_PI};
  for (int k = 0; k < 4; ++k) {
    const contact_summary sum = turn_one(&w, slow[k], angle[k], &all);
    const double share = slow[k] / (3.0 + slow[k]), expected = slow[k] * 1e-2 > 1e-9 ? 2.0 * asin(sqrt(share) * sin(0.5 * angle[k])) : 0.0;
    step_report  report = {.contact = sum};
    run_history_add_friction(sum.friction_work_done, sum.friction_work_deficit, &report);
    assert_close(sum.friction_work_done + sum.friction_work_deficit, all, expected > 0.0 ? 1e-12 : 1e-7);
    assert_close(sum.friction_angle_error, expected > 0.0 ? angle[k] : 0.0, 1e-12);
    body_totals totals;
    assert_ok(scene_totals(w.s, &totals));
    history_values(&totals, 1, 0.01, 0.01, &report, 0, 0.0, values);
    assert_close(values[HISTORY_friction_angle_rms], expected, 1e-10);
  }
  /* All work is against the law. */
  step_report wrong = {0};
  run_history_add_friction(-3.0, 6.0, &wrong);
  body_totals totals;
  assert_ok(scene_totals(w.s, &totals));
  history_values(&totals, 1, 0.01, 0.01, &wrong, 0, 0.0, values);
  assert_close(values[HISTORY_friction_angle_rms], M_PI, 1e-12);
  close_world(&w);
  assert_no_leak();
}

/* A block on a slope, just below and just above the angle of friction: tan = 0.5. */
static void test_threshold(void **state)
{
  (void)state;
  for (int slides = 0; slides < 2; ++slides) {
    world w;
    char  text[2000];
    snprintf(text, sizeof text,
             HEAD "gravity: [4.387165, 0, -8.77433]\ntime: {end: 1, step: 1.0e-2}\nbodies:\n" FLOOR
                  "  block: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.1]}}}\ncontact: {friction: "
                  "%g}\n" TIGHT,
             slides ? 0.499 : 0.501);
    open_world(text, &w);
    for (int k = 0; k < 50; ++k) step(&w);
    const rigid_body *b = rigid(&w, "block");
    if (slides) assert_close(b->v[0], 0.5 * (4.387165 - 0.499 * 8.77433), 1e-9);
    else assert_close(v3_norm(b->v), 0.0, 1e-9);
    assert_close(v3_norm(b->w), 0.0, 1e-9);
    assert_int_equal(w.report.contact.sliding > 0, slides);
    close_world(&w);
  }
  assert_no_leak();
}

/* Collision without other forces: rigid bodies with spin, an elastic body, fibres. Momentum is preserved to rounding, and at e =
 * 0 the energy decreases. Angular momentum is preserved for rigid bodies only: backward Euler rotates deformable bodies with
 * forces of the end and lever arms of the start. */
#define RIGID                                                                                                                              \
  "  a: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, -0.1], max: [0.1, 0.1, 0.1]}}, velocity: [1, 0.2, 0], "              \
  "angular_velocity: [0, 3, 1]}\n"                                                                                                         \
  "  b: {kind: rigid, material: wood, shape: {sphere: {center: [0.24, 0.05, 0.02], radius: 0.1}}, velocity: [-1, 0, 0], "                  \
  "angular_velocity: [0, 0, -5]}\n"
#define ALONE HEAD "gravity: [0, 0, 0]\ntime: {end: 1, step: 2.0e-3}\n"
#define CONVERGED "solver: {newton: {tolerance: 1.0e-12, stall_tolerance: 1.0e-9}, friction: {tolerance: 1.0e-10}}\n"
static const char *const pair  = ALONE "contact: {friction: 0.5}\n" CONVERGED "bodies:\n" RIGID;
static const char *const crowd = ALONE CONVERGED
    "bodies:\n" RIGID "  c: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [-0.1, -0.1, 0.12], max: [0.1, 0.1, 0.32]}}, "
    "velocity: [0, 0, -2]}\n"
    "  d: {kind: rod, material: rubber, section: {circle: 0.01}, curve: {line: {from: [-0.3, 0.5, 0], to: [0.3, 0.5, 0]}}, segments: 8}\n"
    "  e: {kind: rod, material: rubber, section: {circle: 0.01}, curve: {line: {from: [0.02, 0.3, 0.03], to: [0.0, 0.8, 0.03]}}, segments: "
    "8, velocity: [0.5, 0, -1]}\n"
    "contact: {friction: 0.5, pairs: [{between: [c, d], contact: false}, {between: [c, e], contact: false}]}\n";

static void check_momentum(const char *text, int64_t least_contacts, bool has_moment)
{
  world w;
  open_world(text, &w);
  const body_totals before   = totals(&w);
  double            last     = energy(&w);
  int64_t           contacts = 0;
  for (int k = 0; k < 40; ++k) {
    step(&w);
    contacts += w.report.contact.contacts;
    const double now = energy(&w);
    assert_true(now <= last + 1e-9 * last);
    last = now;
  }
  assert_true(contacts >= least_contacts);
  const body_totals after = totals(&w);
  for (int k = 0; k < 3; ++k) {
    assert_close(after.momentum[k], before.momentum[k], 1e-11);
    if (has_moment) assert_close(after.angular_momentum[k], before.angular_momentum[k], 1e-11);
  }
  assert_true(last < 0.95 * (before.kinetic + before.elastic + before.potential));
  close_world(&w);
  assert_no_leak();
}
static void test_momentum_and_energy(void **state)
{
  (void)state;
  check_momentum(pair, 1, true);
  check_momentum(crowd, 40, false);
}

static void test_threads(void **state)
{
  (void)state;
  world     w[2];
  const int n = team_threads();
  for (int i = 0; i < 2; ++i) {
    team_set_threads(i + 1);
    open_world(crowd, &w[i]);
    for (int k = 0; k < 20; ++k) step(&w[i]);
  }
  team_set_threads(n);
  const body_totals one = totals(&w[0]), two = totals(&w[1]);
  assert_true(w[0].report.contact_candidates > 0);
  assert_memory_equal(&one, &two, sizeof one);
  for (int i = 0; i < 2; ++i) close_world(&w[i]);
  assert_no_leak();
}

/* Newton's law of impact: heights of a ball falling on the floor decrease with e^2, after correction for backward Euler's free
 * fall. */
static void test_restitution(void **state)
{
  (void)state;
  world  w;
  double before = 0.0, after = 0.0;
  open_world(HEAD "time: {end: 1, step: 1.0e-3}\nbodies:\n" FLOOR
                  "  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0.3], radius: 0.1}}, velocity: [0, 0, "
                  "-1]}\ncontact: {friction: 0.3, restitution: 0.6}\n" TIGHT,
             &w);
  const rigid_body *b = rigid(&w, "ball");
  for (int k = 0; k < 200 && after <= 0.0; ++k) {
    before = b->v[2];
    step(&w);
    after = b->v[2];
  }
  assert_close(after, -0.6 * before, 1e-9);
  close_world(&w);
  assert_no_leak();
}

/* Overlaps are corrected slowly and stay closed: no energy beyond that of the correction, no hop. */
static void test_overlap(void **state)
{
  (void)state;
  world w;
  open_world(HEAD "time: {end: 1, step: 1.0e-2}\nbodies:\n" FLOOR "  block: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, "
                  "-0.01], max: [0.1, 0.1, 0.09]}}}\ncontact: {friction: 0.3, initial_overlap: permit}\n" TIGHT,
             &w);
  const rigid_body *b       = rigid(&w, "block");
  double            highest = 0.0;
  for (int k = 0; k < 100; ++k) {
    step(&w);
    highest = fmax(highest, b->c[2]);
    assert_true(v3_norm(b->v) <= 9.81e-2 * (1.0 + 1e-9));
  }
  assert_true(highest <= 0.05 + 1e-9);
  assert_close(b->c[2], 0.05, 1e-5);
  close_world(&w);
  assert_no_leak();
}

/* Constrained nodes follow their prescribed motion to the last bit of their velocity, while the rest lies on a rising floor. */
static void test_held(void **state)
{
  (void)state;
  world w;
  open_world(HEAD "time: {end: 1, step: 5.0e-3}\nbodies:\n"
                  "  floor: {kind: kinematic, shape: {plane: {normal: [0, 0, 1]}}, motion: {velocity: [0, 0, 0.02]}}\n"
                  "  beam: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [0, -0.05, 0.002], max: [0.3, 0.05, 0.102]}},\n"
                  "    hold: [{inside: {box: {min: [-0.01, -1, -1], max: [0.01, 1, 1]}}, motion: {velocity: [0, 0.1, 0.02]}}]}\n"
                  "contact: {friction: 0.4}\n" TIGHT,
             &w);
  const body  *b = w.s->systems[0];
  body_surface surface;
  int64_t      n_held = 0;
  for (int k = 0; k < 30; ++k) step(&w);
  b->ops->surface(b, &surface);
  for (int64_t i = 0; i < surface.n_nodes; ++i) {
    const double *x = surface.x + 3 * i, *rest = surface.rest + 3 * i;
    assert_true(x[2] >= 0.02 * 0.15 - 1e-6); /* above the floor */
    if (fabs(rest[0]) > 1e-9) continue;
    ++n_held;
    assert_close(x[0], rest[0], 1e-14);
    assert_close(x[1], rest[1] + 0.1 * 0.15, 1e-14);
    assert_close(x[2], rest[2] + 0.02 * 0.15, 1e-14);
  }
  assert_true(n_held > 3);
  assert_true(w.report.contact.contacts > 3);
  close_world(&w);
  assert_no_leak();
}

/* A bundle of strands of radius 1 mm lands: only the lowest have candidate contacts at their initial velocities; the others
 * collide with strands that the impact stops within the same step. */
static void land(double height, double radius, double speed, double most_overlap)
{
  world  w;
  char   text[2000];
  double overlap = 0.0, map = 0.0;
  snprintf(
      text, sizeof text,
      "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 2.0e-3}\n"
      "materials: {hair: {model: linear_corotated, density: 1300, youngs_modulus: 1.0e7, poisson_ratio: 0.3}}\nbodies:\n" FLOOR
      "  hair:\n    kind: rod\n    model: mass_spring\n    material: hair\n    section: {circle: 1.0e-3}\n    segments: 4\n"
      "    curve: {line: {from: [0, 0, %g], to: [0.04, 0, %g]}}\n    copies: {count: 24, pattern: grid, radius: %g}\n    velocity: [0, 0, "
      "%g]\n"
      "contact: {friction: 0.3, pairs: [{between: [hair, hair]}]}\nsolver: {newton: {tolerance: 1.0e-4}, friction: {tolerance: 1.0e-6}}\n",
      height, height, radius, -speed);
  open_world(text, &w);
  for (int k = 0; k < 8; ++k) {
    step(&w);
    overlap = fmax(overlap, w.report.contact.contact_depth);
    map     = fmax(map, w.report.contact.contact_law_error);
  }
  assert_true(w.report.contact.contacts > 24);
  if (overlap > most_overlap) fail_msg("overlap %g", overlap);
  assert_true(map <= 1e-5);
  close_world(&w);
}
/* Contacts within the margin of a radius are detected but excluded. */
static void test_left_out(void **state)
{
  (void)state;
  land(8e-3, 6.63e-3, 0.25, 1e-7);
  assert_no_leak();
}
/* Farther apart: detected only when it is known which strands stop. */
static void test_stopped(void **state)
{
  (void)state;
  land(10.5e-3, 9.4e-3, 1.0, 1e-6);
  assert_no_leak();
}

/* The tip of a strand leaves one bump and reaches the next within a step; that contact must be detected during the step. */
static void test_bumps(void **state)
{
  (void)state;
  world w;
  open_world("stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 2.0e-3}\n"
             "materials: {hair: {model: linear_corotated, density: 1300, youngs_modulus: 1.0e7, poisson_ratio: 0.3}}\nbodies:\n"
             "  bumps: {kind: static, shape: {union: [{sphere: {center: [0, 0, 0], radius: 0.005}}, {sphere: {center: [0.014, 0, 0], "
             "radius: 0.005}}]}}\n"
             "  hair:\n    kind: rod\n    model: mass_spring\n    material: hair\n    section: {circle: 3.0e-4}\n    segments: 4\n"
             "    curve: {line: {from: [5.4e-3, 0, 0.02], to: [5.4e-3, 0, 0]}}\n    velocity: [2, 0, 0]\n"
             "contact: {friction: 0}\n",
             &w);
  for (int k = 0; k < 5; ++k) {
    step(&w);
    if (k == 0) assert_true(w.report.contact.contacts > 0);
    assert_true(w.report.contact.contact_depth <= 3e-4); /* the radius; three times that without repeated detection */
  }
  close_world(&w);
  assert_no_leak();
}

/* One end of a stiff strand jumps within a step: the solution is far from the linearisation at the start. */
static void jump(const char *model, const char *to, const char *others, int64_t least_contacts)
{
  world   w;
  char    text[2000];
  int64_t most = 0;
  snprintf(
      text, sizeof text,
      "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 1.0e-2}\n"
      "materials: {rope: {model: linear_corotated, density: 1000, youngs_modulus: 1.0e7, poisson_ratio: 0.3}}\nbodies:\n%s"
      "  rope:\n    kind: rod\n    model: %s\n    material: rope\n    curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}\n    segments: 20\n"
      "    section: {circle: 0.01784}\n    start: clamped\n" /* E A = 1e4 N */
      "    end: {support: pinned, motion: {keyframes: [{time: 0, translate: [0, 0, 0]}, {time: 0.01, translate: %s}, {time: 1, translate: "
      "%s}]}}\n"
      "contact: {friction: 0.3}\n",
      others, model, to, to);
  open_world(text, &w);
  for (int k = 0; k < 10; ++k) {
    step(&w);
    assert_true(w.report.residual <= 1e-3);
    assert_close(w.report.contact.cone_violation, 0.0, 1e-9);
    assert_true(w.report.contact.contact_law_error <= 1e-6);
    if (w.report.contact.contacts > most) most = w.report.contact.contacts;
  }
  assert_true(most >= least_contacts);
  close_world(&w);
}
static void test_jump(void **state)
{
  (void)state;
  jump("mass_spring", "[-0.1, 0, 0.02]", "", 0);
  jump("mass_spring", "[-0.3, 0.2, 0.1]", "", 0);
  jump("mass_spring", "[-0.5, 0, 0.3]", "", 0);
  jump("mass_spring", "[0, 0, 0.5]", "", 0);
  jump("mass_spring", "[-1, 0.1, 0]", "", 0);
  jump("mass_spring", "[-0.3, 0, -0.4]",
       "  bar: {kind: static, shape: {capsule: {from: [0.4, -1, -0.1], to: [0.4, 1, -0.1], radius: 0.05}}}\n", 1);
  jump("discrete_elastic_rod", "[-0.5, 0, 0.3]", "", 0);
  assert_no_leak();
}

/* A stiff wire that descends almost level touches with one end first, and with the rest before the end of the step: no part of
 * it penetrates the floor. */
static void test_landing_wire(void **state)
{
  (void)state;
  world  w;
  double deepest = 0.0, before = 0.0;
  open_world(HEAD "time: {end: 1, step: 2.0e-3}\nbodies:\n" FLOOR
                  "  wire: {kind: rod, material: rubber, section: {circle: 0.002}, curve: {line: {from: [-0.1, 0, 0.0025], to: [0.1, 0, "
                  "0.0055]}}, segments: 20, velocity: [0, 0, -2]}\n"
                  "contact: {friction: 0.3}\n" TIGHT,
             &w);
  for (int k = 0; k < 5; ++k) {
    step(&w);
    deepest = fmax(deepest, w.report.contact.contact_depth);
    before  = fmax(before, (double)w.report.contact.contacts);
  }
  assert_true(before > 15.0);
  assert_close(deepest, 0.0, 2e-5);
  close_world(&w);
  assert_no_leak();
}

/* ---- parts ----------------------------------------------------------------------------------------------------------- */

static const char *const close_by =
    ALONE "contact: {friction: 0.5}\nbodies:\n"
          "  floor: {kind: kinematic, shape: {plane: {normal: [0, 0, 1]}}, motion: {velocity: [0.3, 0, 0.1]}}\n"
          "  a: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.2]}}}\n"
          "  b: {kind: rigid, material: wood, shape: {box: {min: [0.101, -0.05, 0], max: [0.2, 0.15, 0.3]}}}\n"
          "  c: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [-0.1, -0.1, 0.2], max: [0.1, 0.1, 0.4]}}}\n";

/* Displacement of a point of body i, by the poses. */
static void follow(const step_contacts *c, const step_layout *l, int32_t i, const double x[3], double moved[3])
{
  const rigid_frame *f0 = &l->frames0[c->frame[i]], *f1 = &l->frames[c->frame[i]];
  double             arm[3], X[3];
  v3_sub(arm, x, f0->c);
  m3_mulv_t(X, f0->R, arm);
  m3_mulv(moved, f1->R, X);
  v3_axpy(moved, 1.0, f1->c);
}

/* Forces and moments about the origin of blocks y. */
static void sum_up(const scene *s, const double *y, double force[3], double moment[3])
{
  for (int k = 0; k < s->n_systems; ++k) {
    const body *b = s->systems[k];
    body_nodes  nodes;
    rigid_frame f;
    double      m[3];
    if (!b->ops->frame) b->ops->nodes(b, &nodes); /* node i is block i */
    else b->ops->frame(b, 0.0, 0.0, NULL, &f);
    for (int64_t i = 0; i < (b->ops->frame ? 1 : b->n_blocks); ++i) {
      v3_axpy(force, 1.0, y + 3 * (b->first_block + i));
      v3_cross(m, b->ops->frame ? f.c : nodes.x + 3 * i, y + 3 * (b->first_block + i));
      v3_axpy(moment, 1.0, m);
    }
    if (b->ops->frame) v3_axpy(moment, 1.0, y + 3 * (b->first_block + 1));
  }
}

/* Contact rows against small motions of the bodies; H^T r exerts no total force or moment. */
static void test_rows(void **state)
{
  (void)state;
  world         w;
  step_layout   l;
  step_unknowns u;
  step_contacts c;
  step_status   status  = {STEP_OK, NULL, -1};
  const double  dt      = 1e-6;
  int64_t       n_rigid = 0, n_soft = 0, n_floor = 0;
  double       *rows, *r, *y, force[3] = {0}, moment[3] = {0};
  open_world(close_by, &w);
  assert_ok(step_layout_create(w.s, &l));
  assert_ok(step_layout_begin(&l, 0.0, dt, &status));
  for (int64_t i = 0; i < 3 * l.n_blocks; ++i) l.v0[i] = random_range(3, (uint64_t)i, 0, -1.0, 1.0);
  memcpy(l.v, l.v0, (size_t)(3 * l.n_blocks) * sizeof *l.v);
  assert_ok(step_layout_update_poses(&l));
  assert_ok(step_unknowns_create(&l, &u));
  assert_ok(step_contacts_create(w.s, w.s->options->contact->overlap_correction, &c));
  assert_ok(step_contacts_find(&c, &l, &u, &status));
  const int64_t n = step_contacts_size(&c);
  assert_ok(memory_alloc("test", 3 * n, sizeof *rows, &rows));
  assert_ok(memory_alloc("test", 3 * n, sizeof *r, &r));
  assert_ok(memory_alloc("test", 3 * l.n_blocks, sizeof *y, &y));
  contact_jacobian_velocity(&c.rows, l.v0, rows);
  for (int64_t i = 0; i < n; ++i) {
    const contact_spot *s        = &step_contacts_spots(&c)[i];
    const bool          on_floor = w.s->bodies[s->body_a].kind->ops->residual == NULL || w.s->bodies[s->body_b].kind->ops->residual == NULL;
    double              moved[2][3], way[3], u_i[3];
    n_floor += on_floor;
    for (int k = 0; k < 3 && !on_floor; ++k) r[3 * i + k] = random_range(4, (uint64_t)(3 * i + k), 0, -1.0, 1.0);
    if (c.frame[s->body_a] < 0 || c.frame[s->body_b] < 0) {
      ++n_soft;
      continue;
    }
    ++n_rigid;
    follow(&c, &l, s->body_a, s->a.x, moved[0]);
    follow(&c, &l, s->body_b, s->b.x, moved[1]);
    v3_sub(way, moved[0], moved[1]);
    m3_mulv(u_i, c.rows.frame + 9 * i, way);
    for (int k = 0; k < 3; ++k) assert_close(u_i[k] / dt, rows[3 * i + k], 1e-5);
  }
  assert_true(n_rigid > 8 && n_soft > 8 && n_floor >= 8);
  contact_jacobian_scatter(&c.rows, 1.0, r, y);
  sum_up(w.s, y, force, moment);
  for (int k = 0; k < 3; ++k) {
    assert_close(force[k], 0.0, 1e-13);
    assert_close(moment[k], 0.0, 1e-13);
  }
  memory_free(&rows);
  memory_free(&r);
  memory_free(&y);
  step_contacts_destroy(&c);
  step_unknowns_destroy(&u);
  step_layout_destroy(&l);
  close_world(&w);
  assert_no_leak();
}

/* Mass-spring ropes on a drum, across another rope, on triangles of a soft block and on the surface mesh of a box: random impulses exert no
 * total force and no total moment, although friction acts at the distance of the radius from the nodes. */
static const char *const ropes =
    HEAD "time: {end: 1, step: 2.0e-3}\ncontact: {friction: 0.5}\nbodies:\n"
         "  drum: {kind: rigid, material: wood, shape: {cylinder: {from: [0, -0.1, 0], to: [0, 0.1, 0], radius: 0.1}}}\n"
         "  rope: {kind: rod, model: mass_spring, material: rubber, section: {circle: 0.005}, curve: {line: {from: [-0.1, 0.01, "
         "0.1052], to: [0.3, 0.03, 0.1055]}}, segments: 20}\n"
         "  over: {kind: rod, model: mass_spring, material: rubber, section: {circle: 0.006}, curve: {line: {from: [%g, -0.1, "
         "0.1165], to: [%g, 0.1, 0.1164]}}, segments: 9}\n"
         "  soft: {kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [0.12, -0.05, 0], max: [0.2, 0.05, 0.1]}}}\n"
         "  mesh: {kind: rigid, material: wood, contact_surface: mesh, shape: {box: {min: [0.22, -0.05, 0], max: [0.29, 0.05, 0.1]}}}\n";

/* The upper rope passes from x = from to x = to, while y increases by 0.2 m. */
static void check_rows_of_ropes(double from, double to)
{
  world         w;
  step_layout   l;
  step_unknowns u;
  step_contacts c;
  step_status   status  = {STEP_OK, NULL, -1};
  int64_t       n_of[5] = {0}, n_double = 0;
  double       *r, *y, force[3] = {0}, moment[3] = {0}, total = 0.0;
  char          text[4096];
  snprintf(text, sizeof text, ropes, from, to);
  open_world(text, &w);
  assert_ok(step_layout_create(w.s, &l));
  assert_ok(step_layout_begin(&l, 0.0, 2e-3, &status));
  assert_ok(step_unknowns_create(&l, &u));
  assert_ok(step_contacts_create(w.s, w.s->options->contact->overlap_correction, &c));
  assert_ok(step_contacts_find(&c, &l, &u, &status));
  const int64_t n = step_contacts_size(&c);
  assert_ok(MEMORY_ALLOC("test", ARRAY(r, 3 * n), ARRAY(y, 3 * l.n_blocks)));
  for (int64_t i = 0; i < n; ++i) {
    const contact_spot *s = &step_contacts_spots(&c)[i];
    for (int k = 0; k < 3; ++k) total += fabs(r[3 * i + k] = random_range(4, (uint64_t)(3 * i + k), 0, -1.0, 1.0));
    ++n_of[s->body_a], ++n_of[s->body_b];
    for (int k = 0; k < 3; ++k) assert_close(s->a.x[k], s->b.x[k], 0.0); /* one point */
    n_double += w.s->bodies[s->body_a].body->ops->segments && w.s->bodies[s->body_b].body->ops->segments;
  }
  print_message("%lld contacts: drum %lld, rope %lld, over %lld, soft %lld, mesh %lld; %lld of two ropes\n", (long long)n,
                (long long)n_of[0], (long long)n_of[1], (long long)n_of[2], (long long)n_of[3], (long long)n_of[4], (long long)n_double);
  for (int i = 0; i < 5; ++i) assert_true(n_of[i] > 0);
  assert_true(n_double > 0);
  contact_jacobian_scatter(&c.rows, 1.0, r, y);
  sum_up(w.s, y, force, moment);
  for (int k = 0; k < 3; ++k) {
    assert_close(force[k], 0.0, 64.0 * DBL_EPSILON * total);
    assert_close(moment[k], 0.0, 64.0 * DBL_EPSILON * total);
  }
  MEMORY_FREE(&r, &y);
  step_contacts_destroy(&c);
  step_unknowns_destroy(&u);
  step_layout_destroy(&l);
  close_world(&w);
  assert_no_leak();
}

/* Ropes at about 100 and 45 degrees. */
static void test_rows_of_ropes(void **state)
{
  (void)state;
  check_rows_of_ropes(0.01, -0.03);
  check_rows_of_ropes(-0.08, 0.1);
}

/* Contacts between edges of two soft balls: impulses exert no total force and no total moment. */
static void test_rows_of_edges(void **state)
{
  (void)state;
  world         w;
  step_layout   l;
  step_unknowns u;
  step_contacts c;
  step_status   status  = {STEP_OK, NULL, -1};
  int64_t       n_edges = 0;
  double       *r, *y, force[3] = {0}, moment[3] = {0};
  open_world(HEAD "time: {end: 1, step: 2.0e-3}\ncontact: {friction: 0.5}\nbodies:\n"
                  "  left: {kind: fem, material: rubber, spacing: 0.035, shape: {sphere: {center: [-0.0955, 0.03, 0], radius: 0.1}}, "
                  "velocity: [1, 0, 0]}\n"
                  "  right: {kind: fem, material: rubber, spacing: 0.035, shape: {sphere: {center: [0.0955, -0.03, 0.007], radius: 0.1}}, "
                  "velocity: [-1, 0, 0]}\n",
             &w);
  assert_ok(step_layout_create(w.s, &l));
  assert_ok(step_layout_begin(&l, 0.0, 2e-3, &status));
  assert_ok(step_unknowns_create(&l, &u));
  assert_ok(step_contacts_create(w.s, w.s->options->contact->overlap_correction, &c));
  assert_ok(step_contacts_find(&c, &l, &u, &status));
  const int64_t n = step_contacts_size(&c);
  assert_ok(MEMORY_ALLOC("test", ARRAY(r, 3 * n), ARRAY(y, 3 * l.n_blocks)));
  for (int64_t i = 0; i < n; ++i) { /* normal impulses: on deforming bodies friction acts at the points of both surfaces */
    const contact_spot *s = &step_contacts_spots(&c)[i];
    r[3 * i]              = random_range(4, (uint64_t)i, 0, 0.5, 1.0);
    n_edges += s->key[0] >> 56 == DETECTOR_SURFACE_EDGE && !(s->key[1] & 1);
    if (s->key[1] & 1) r[3 * i] = 0.0; /* swept: the normal is that at the time of collision */
  }
  print_message("%lld contacts, %lld of edges\n", (long long)n, (long long)n_edges);
  assert_true(n_edges >= 2);
  contact_jacobian_scatter(&c.rows, 1.0, r, y);
  sum_up(w.s, y, force, moment);
  for (int k = 0; k < 3; ++k) {
    assert_close(force[k], 0.0, 64.0 * DBL_EPSILON * (double)n);
    assert_close(moment[k], 0.0, 64.0 * DBL_EPSILON * (double)n);
  }
  MEMORY_FREE(&r, &y);
  step_contacts_destroy(&c);
  step_unknowns_destroy(&u);
  step_layout_destroy(&l);
  close_world(&w);
  assert_no_leak();
}

static double entry(const sparse_rows *M, int64_t i, int64_t j)
{
  for (int64_t k = M->start[i]; k < M->start[i + 1]; ++k)
    if (M->col[k] == j) return M->value[k];
  return 0.0;
}

/* The requested part of M, with only diagonal blocks elsewhere where systems support it, equals that part of the complete M. */
static void check_part(const step_layout *l, const step_unknowns *u, const sparse_rows *M, int n_of_7)
{
  sparse_rows part;
  bool       *keep;
  int64_t     n_seen = 0;
  assert_ok(memory_alloc("test", l->n_blocks, sizeof *keep, &keep));
  for (int64_t i = 0; i < l->n_blocks; ++i) keep[i] = i % 7 < n_of_7;
  assert_ok(step_unknowns_mass(u, l, keep, &part));
  assert_true(part.start[part.n_rows] <= M->start[M->n_rows]);
  for (int64_t i = 0; i < u->n && !(u->n > 0 && !u->is_all && !u->is_selection); ++i)
    for (int64_t k = M->start[i]; k < M->start[i + 1]; ++k) {
      const int64_t a = (u->is_all ? i : u->own[i]) / 3, j = M->col[k], b = (u->is_all ? j : u->own[j]) / 3;
      if (a != b && !(keep[a] && keep[b])) continue;
      assert_close(entry(&part, i, j), M->value[k], 1e-12 * fabs(entry(M, i, i)));
      ++n_seen;
    }
  assert_true(n_seen >= u->n || (!u->is_all && !u->is_selection));
  sparse_rows_destroy(&part);
  memory_free(&keep);
}

/* M is symmetric positive definite, and the exact tangent for bodies at rest. `shape`: amplitude of random displacements. */
static void check_matrix(const char *text, double noise, bool is_exact)
{
  world         w;
  step_layout   l;
  step_unknowns u;
  sparse_rows   M;
  step_status   status = {STEP_OK, NULL, -1};
  open_world(text, &w);
  const double dt = w.j->scene.time->step;
  assert_ok(step_layout_create(w.s, &l));
  assert_ok(step_layout_begin(&l, 0.0, dt, &status));
  assert_ok(step_unknowns_create(&l, &u));
  double  *g, *x, *y, *z, *plus, *minus;
  double **arrays[] = {&g, &x, &y, &z, &plus, &minus};
  for (int k = 0; k < 6; ++k) assert_ok(memory_alloc("test", u.n_full, sizeof **arrays[k], arrays[k]));
  for (int64_t i = 0; i < u.n; ++i) z[i] = random_range(5, (uint64_t)i, 0, -noise, noise);
  step_unknowns_expand(&u, z, l.v);
  assert_ok(step_layout_update_poses(&l));
  assert_ok(step_layout_residual(&l, g, true, &status));
  assert_int_equal(status.code, STEP_OK);
  assert_ok(step_unknowns_mass(&u, &l, NULL, &M));
  check_part(&l, &u, &M, 3);
  check_part(&l, &u, &M, 0);
  mass_factor *factor;
  assert_ok(mass_factor_create(&M, &factor)); /* fails where M is not positive definite */
  mass_factor_destroy(&factor);
  for (int trial = 0; trial < 3; ++trial) {
    double xy = 0.0, yx = 0.0, xx = 0.0, size = 0.0;
    for (int64_t i = 0; i < u.n; ++i) x[i] = random_range(6, (uint64_t)i, (uint64_t)trial, -1.0, 1.0);
    sparse_rows_apply(&M, x, y);
    for (int64_t i = 0; i < u.n; ++i) xx += x[i] * y[i];
    assert_true(xx > 0.0);
    sparse_rows_apply(&M, z, g);
    for (int64_t i = 0; i < u.n; ++i) xy += x[i] * g[i], yx += z[i] * y[i], size += fabs(x[i] * g[i]);
    assert_close(xy, yx, 1e-13 * size + 1e-300);
    if (!is_exact) continue;
    const double e     = 1e-4;
    double       error = 0.0, length = 0.0;
    for (int side = 0; side < 2; ++side) {
      double *to = side ? minus : plus;
      for (int64_t i = 0; i < u.n; ++i) to[i] = z[i] + (side ? -e : e) * x[i];
      step_unknowns_expand(&u, to, l.v);
      assert_ok(step_layout_update_poses(&l));
      assert_ok(step_layout_residual(&l, g, false, &status));
      step_unknowns_fold(&u, g, to);
    }
    for (int64_t i = 0; i < u.n; ++i) {
      const double d = y[i] - (plus[i] - minus[i]) / (2.0 * e);
      error += d * d, length += y[i] * y[i];
    }
    assert_close(sqrt(error / length), 0.0, 1e-6);
  }
  sparse_rows_destroy(&M);
  for (int k = 0; k < 6; ++k) memory_free(arrays[k]);
  step_unknowns_destroy(&u);
  step_layout_destroy(&l);
  close_world(&w);
  assert_no_leak();
}

#define SOFT HEAD "gravity: [0, 0, 0]\ntime: {end: 1, step: 1.0e-2}\ncontact: {friction: 0.1}\nbodies:\n"
static const char *const beam = SOFT "  beam: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [0.3, 0.1, "
                                     "0.1]}}, hold: [{inside: {box: {min: [-0.01, -1, -1], max: [0.01, 1, 1]}}}]}\n";

/* dt^2 K is not small against the mass. */
static const char *const stiff =
    "stickslip: 1\nname: test\nformulation: exact\ngravity: [0, 0, 0]\ntime: {end: 1, step: 1.0e-2}\ncontact: {friction: 0.1, pairs: "
    "[{between: [beam, sheet], contact: false}]}\n"
    "materials: {rubber: {model: fixed_corotated, density: 10, youngs_modulus: 1.0e6, poisson_ratio: 0.4}}\nbodies:\n"
    "  beam: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [0.3, 0.1, 0.1]}}}\n"
    "  sheet: {kind: cloth, sheet: {corner: [0, 0, 1], u: [1, 0, 0], v: [0, 1, 0], cells: [6, 6]}, mass_per_area: 0.02, stretch: 1000, "
    "bending: 1.0}\n";

static void test_matrix_at_rest(void **state)
{
  (void)state;
  check_matrix(beam, 0.0, true);
  check_matrix(SOFT "  a: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [0.3, 0.1, 0.2]}}, anchors: [{point: [0, 0, 0], "
                    "stiffness: 100}]}\n",
               0.0, true);
}

static void test_matrix_far_from_rest(void **state)
{
  (void)state;
  check_matrix(beam, 4.0, false);
  check_matrix(stiff, 3.0, false);
  check_matrix(SOFT "  a: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [0.3, 0.1, 0.2]}}, angular_velocity: [30, 2, "
                    "1], anchors: [{point: [0, 0, 0], to: [1, 0, 0], stiffness: 1e5}]}\n",
               50.0, false);
  check_matrix(SOFT "  bed: {kind: mpm, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [0.2, 0.2, 0.2]}}}\nmpm: {expert: "
                    "{light_node_mass_fraction: 0.01}}\n",
               1.0, false);
  check_matrix(SOFT "  bed: {kind: mpm, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [0.5, 0.2, 0.2]}}}\n", 1.0, false);
}

/* Invalid input is rejected with its position: keys of springs, pairs without a detector. */
static void test_refused(void **state)
{
  (void)state;
  static const struct {
    const char *more, *wanted;
  } cases[] = {
      {"contact: {friction: 0.1, pairs: [{between: [a, floor], friction: 1, friction_direction: [1, 0, 0], friction_transverse: 2}]}\n",
       "contact.pairs[0].friction_direction: not supported by formulation exact: its friction cones are circular; remove it"},
      {"contact: {restitution: 0.5}\n", "contact.friction: missing: \"floor\" and \"a\" may touch"},
      {"contact: {friction: 0.1, pairs: [{between: [a, a]}]}\n",
       "\"a\" is of kind rigid; only bodies of kind fem and cloth, and rod with formulation exact, have self-contact"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    char         text[3000];
    diagnostics *d;
    job         *j = NULL;
    scene       *s = NULL;
    snprintf(text, sizeof text,
             HEAD "time: {end: 1, step: 1.0e-3}\nbodies:\n" FLOOR
                  "  a: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}\n"
                  "  c: {kind: fem, material: rubber, spacing: 0.5, shape: {box: {min: [0, 0, 2], max: [1, 1, 3]}}}\n%s",
             cases[k].more);
    assert_ok(diagnostics_create(&d));
    assert_ok(job_read_text("job", text, 0, NULL, d, &j));
    if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
    bool is_said = false;
    for (int i = 0; i < diagnostics_count(d); ++i) is_said |= strstr(diagnostics_text(d, i), cases[k].wanted) != NULL;
    if (!is_said) fail_msg("expected %s, message %s", cases[k].wanted, diagnostics_count(d) ? diagnostics_text(d, 0) : "nothing");
    scene_destroy(&s);
    job_destroy(&j);
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_refused), cmocka_unit_test(test_slip_distance), cmocka_unit_test(test_friction_method_is_reported),
          cmocka_unit_test(test_threshold), cmocka_unit_test(test_friction_angle), cmocka_unit_test(test_momentum_and_energy),
          cmocka_unit_test(test_threads), cmocka_unit_test(test_restitution), cmocka_unit_test(test_overlap), cmocka_unit_test(test_held),
          cmocka_unit_test(test_landing_wire), cmocka_unit_test(test_jump), cmocka_unit_test(test_left_out), cmocka_unit_test(test_stopped),
          cmocka_unit_test(test_bumps), cmocka_unit_test(test_rows), cmocka_unit_test(test_rows_of_ropes),
          cmocka_unit_test(test_rows_of_edges), cmocka_unit_test(test_matrix_at_rest), cmocka_unit_test(test_matrix_far_from_rest))
