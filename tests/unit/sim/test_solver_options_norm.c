/* solver.penalty.expert.norm: for one body without rotation both norms differ only by a factor, its weight times the step; therefore all
 * results are the same. */
#include "formulation_fixture.h"
#include <stdio.h>
#include "sim/penalty/penalty_keys.h"

enum { STEPS = 60 };
static const double RADIUS = 0.05, STEP = 2.0e-3, G = 9.81;

/* A ball that falls on a floor and bounces: its points touch one after the other, so that steps take several iterations. */
static void open_ball(const char *norm, double tolerance, double density, world *w)
{
  char text[2048];
  snprintf(text, sizeof text,
           "stickslip: 1\nname: ball\ngravity: [0, 0, -%g]\ntime: {end: 1, step: %g}\n"
           "materials: {steel: {model: rigid, density: %g}}\n"
           "bodies:\n"
           "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0}}}\n"
           "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.055], radius: %g}}, surface_spacing: 0.01}\n"
           "contact: {friction: 0, stiffness: 2.0e3, restitution: 0.5}\n"
           "solver: {penalty: {expert: {norm: %s}}, newton: {tolerance: %.17g}}\n",
           G, STEP, density, RADIUS, norm, tolerance);
  open_world(text, w);
}

static void test_impulse_is_acceleration_of_one_body(void **state)
{
  const double tolerance = 1e-3;
  int          n_more = 0, n_left = 0;
  world        a, b;
  (void)state;
  open_ball("acceleration", tolerance, 2000.0, &a);
  const double weight = totals(&a).mass * G * STEP; /* N s */
  open_ball("impulse", tolerance * weight, 2000.0, &b);
  for (int i = 0; i < STEPS; ++i) {
    step(&a);
    step(&b);
    assert_int_equal(a.report.newton_iterations, b.report.newton_iterations);
    assert_close(energy(&b), energy(&a), 1e-10 * energy(&a));
    assert_close(b.report.residual, weight * a.report.residual, 1e-12 * weight);
    assert_true(b.report.residual <= tolerance * weight);
    n_more += a.report.newton_iterations > 1;
    n_left += a.report.residual > 1e-6;
  }
  assert_true(n_more > 0); /* the tolerance had an effect */
  assert_true(n_left > 0); /* and not all residuals were rounding errors */
  close_world(&a);
  close_world(&b);
  assert_no_leak();
}

/* A step is solved after its first iteration if the tolerance is the whole weight of the falling body, in the unit of this norm. */
static void test_impulse_tolerance_is_in_newton_seconds(void **state)
{
  world w;
  (void)state;
  open_ball("impulse", 1.0, 2000.0, &w);
  assert_true(totals(&w).mass * G * STEP < 1.0);
  for (int i = 0; i < STEPS; ++i) {
    step(&w);
    assert_int_equal(w.report.newton_iterations, 1);
    assert_false(w.report.unconverged > 0);
  }
  close_world(&w);
  assert_no_leak();
}

/* The published test is min(|g|, |H^T g|) < tau with H in kg: what weighs less than 1 kg may stop by the second. */
static void test_impulse_stops_by_the_gradient_as_published(void **state)
{
  const double tau           = 1e-6; /* N s, the ball weighs 2e-4 in a step */
  int          n_by_gradient = 0, n_more = 0;
  world        w;
  (void)state;
  open_ball("impulse", tau, 20.0, &w);
  for (int i = 0; i < STEPS; ++i) {
    step(&w);
    assert_true(fmin(w.report.residual, w.report.gradient) < tau);
    assert_false(w.report.unconverged > 0); /* converged in the published norm */
    n_by_gradient += w.report.residual > tau;
    n_more += w.report.newton_iterations > 1;
  }
  assert_true(n_by_gradient > 0);
  assert_true(n_more > 0);
  close_world(&w);
  assert_no_leak();
}

static void test_other_formulations_do_not_use_it(void **state)
{
  static const char text[] = "stickslip: 1\nname: ball\nformulation: exact\ntime: {end: 1, step: 1e-3}\n"
                             "materials: {steel: {model: rigid, density: 2000}}\n"
                             "bodies: {ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0], radius: 1}}}}\n"
                             "solver: {penalty: {expert: {norm: impulse}}}\n";
  diagnostics      *d      = NULL;
  job              *j      = NULL;
  (void)state;
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  assert_int_equal(diagnostics_count(d), 0);
  assert_int_equal(diagnostics_count(j->notices), 1);
  assert_string_equal(diagnostics_text(j->notices, 0), "job:7:10: solver.penalty: not used by formulation exact, only by penalty");
  assert_int_equal(j->scene.solver->penalty->norm, PENALTY_NORM_ACCELERATION); /* the default: the value has no effect */
  job_destroy(&j);
  diagnostics_destroy(&d);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_impulse_is_acceleration_of_one_body), cmocka_unit_test(test_impulse_tolerance_is_in_newton_seconds),
          cmocka_unit_test(test_impulse_stops_by_the_gradient_as_published), cmocka_unit_test(test_other_formulations_do_not_use_it))
