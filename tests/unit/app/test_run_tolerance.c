/* Texts about rejected steps: tolerance, bound and body by hand, for residuals, friction and convex problems. */
#include "app/run/run_tolerance.h"
#include "formulation_fixture.h"
#include "sim/exact/exact_keys.h"

static const char JOB[] = "stickslip: 1\nname: test\nformulation: %s\ntime: {end: 1, step: 1.0e-3}\n"
                          "materials: {wood: {model: rigid, density: 1000}}\n"
                          "bodies:\n  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 1}}}\n"
                          "contact: {friction: 0.3, stiffness: 1.0e4}\n%s";

static void expect(const char *name, const char *solver, step_status status, const step_report *report, const char *expected)
{
  char  job_text[1000], text[400];
  world w;
  snprintf(job_text, sizeof job_text, JOB, name, solver);
  open_world(job_text, &w);
  run_explain_rejection(w.f->ops, w.j->scene.solver, &status, report, sizeof text, text);
  assert_string_equal(text, expected);
  close_world(&w);
}

static void test_residual(void **state)
{
  (void)state;
  const step_status status = {STEP_NOT_CONVERGED, NULL, -1}, named = {STEP_NOT_CONVERGED, "ball", -1};
  step_report       r = {.residual = 0.3, .residual_body = "rope"};
  /* default tolerance 1e-3: accepted up to 10 times that */
  expect("exact", "", status, &r,
         "the nonlinear solver did not converge in body rope: residual 0.3 in units of acceleration_scale, accepted up to 0.01 = 10 * "
         "solver.newton.tolerance");
  expect("exact", "solver: {newton: {tolerance: 2.0e-5}}\n", named, &r,
         "the nonlinear solver did not converge in body ball: residual 0.3 in units of acceleration_scale, accepted up to 0.0002 = 10 * "
         "solver.newton.tolerance");
  expect("exact", "solver: {newton: {stall_tolerance: 0.25}}\n", status, &r,
         "the nonlinear solver did not converge in body rope: residual 0.3 in units of acceleration_scale, accepted up to "
         "solver.newton.stall_tolerance 0.25");
  r.residual = INFINITY;
  expect("exact", "solver: {newton: {stall_tolerance: 0.25}}\n", named, &r,
         "the nonlinear solver did not converge in body ball: residual unknown, accepted up to solver.newton.stall_tolerance 0.25");
  assert_no_leak();
}

static void test_contact_problems(void **state)
{
  (void)state;
  const step_status status = {STEP_FRICTION_NOT_CONVERGED, NULL, -1};
  const step_report r      = {.friction_error = 2e-3, .friction_error_siconos = 3e-3, .friction_error_absolute = 4e-3, .gradient = 5e-3};
  /* friction tolerance 1e-8: rounding permits 1e-7, which equals 10 times the tolerance. The default error is the larger one of two */
  expect("exact", "", status, &r,
         "the friction solver did not converge: error of the friction problem 0.003, accepted up to 1e-07, see "
         "solver.exact.expert.friction_stall_tolerance");
  /* where the accepted creep decides */
  expect("exact", "", status, &(step_report){.friction_error = 5e-3, .friction_speed_ratio = 12.5},
         "the friction solver did not converge: velocity error of the friction problem 12.5 times the accepted one, accepted up to 10, see "
         "solver.exact.max_creep");
  expect("exact", "solver: {friction: {error: scaled}}\n", status, &r,
         "the friction solver did not converge: error of the friction problem 0.002, accepted up to 1e-07, see "
         "solver.exact.expert.friction_stall_tolerance");
  expect("exact", "solver: {friction: {error: siconos}}\n", status, &(step_report){.friction_error = 5e-3, .friction_error_siconos = 3e-3},
         "the friction solver did not converge: error of the friction problem 0.003, accepted up to 1e-07, see "
         "solver.exact.expert.friction_stall_tolerance");
  expect("exact", "solver: {friction: {error: absolute, tolerance: 1.0e-4}}\n", status, &r,
         "the friction solver did not converge: error of the friction problem 0.004, accepted up to 0.001, see "
         "solver.exact.expert.friction_stall_tolerance");
  expect("convex", "solver: {convex: {tolerance: 1.0e-5, expert: {stall_tolerance: 2.0e-3}}}\n", status, &r,
         "the friction solver did not converge: error of the contact problem 0.005, accepted up to solver.convex.expert.stall_tolerance "
         "0.002");
  assert_no_leak();
}

/* penalty: the unit is that of its norm. */
static void test_norm_of_penalty(void **state)
{
  (void)state;
  const step_status status = {STEP_NOT_CONVERGED, "ball", -1};
  expect("penalty", "solver: {penalty: {expert: {norm: impulse}}}\n", status, &(step_report){.residual = 0.3},
         "the nonlinear solver did not converge in body ball: residual 0.3 N s, accepted up to 0.01 = 10 * solver.newton.tolerance");
  assert_no_leak();
}

/* monolith has one tolerance, relative to the scale of the solution: keys of Newton's method have no effect. */
static void test_monolith(void **state)
{
  (void)state;
  const step_status status = {STEP_NOT_CONVERGED, "sand", -1};
  const step_report r      = {.residual = 0.3};
  const char       *solver = "solver: {newton: {stall_tolerance: 0.5}, monolith: {tolerance: 2.0e-5}}\n";
  expect("monolith", solver, status, &r,
         "the nonlinear solver did not converge in body sand: residual 0.3 of the scale of the solution, accepted up to 0.0002 = 10 * "
         "solver.monolith.tolerance");
  assert_no_leak();
}

/* Other reasons have neither error nor tolerance. */
static void test_other_reasons(void **state)
{
  (void)state;
  const step_report r = {.residual = 0.3};
  char              text[200];
  expect("penalty", "", (step_status){STEP_INVERTED, "ball", 7}, &r, "an element or particle was inverted in body ball");
  expect("penalty", "", (step_status){STEP_NOT_FINITE, NULL, -1}, &r, "a value became infinite or not a number");
  snprintf(text, sizeof text, "%s", run_tolerance_key(formulations[0]));
  assert_string_equal(text, "solver.newton.tolerance");
  for (int i = 0; i < N_FORMULATIONS; ++i)
    assert_string_equal(run_tolerance_key(formulations[i]),
                        strcmp(formulations[i]->scene.name, "monolith") == 0 ? "solver.monolith.tolerance" : "solver.newton.tolerance");
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_residual), cmocka_unit_test(test_contact_problems), cmocka_unit_test(test_norm_of_penalty),
          cmocka_unit_test(test_monolith), cmocka_unit_test(test_other_reasons))
