/* Linear systems of formulation `convex` with an MPM body and a rigid one: factorisation and conjugate gradients give the same
 * result, the number of threads changes no bit, and linear momentum is preserved to rounding for any tolerance. */
#include "core/math3.h"
#include "core/team.h"
#include "formulation_fixture.h"
#include <stdio.h>

/* A ball falls on a block of gel: on a floor, or free. */
static void open_gel(bool has_floor, const char *linear, const char *tolerance, const char *newton, world *w)
{
  char text[2000];
  snprintf(
      text, sizeof text,
      "stickslip: 1\nname: test\nformulation: convex\ngravity: [0, 0, %s]\ntime: {end: 1, step: 1.0e-2}\n"
      "materials:\n  wood: {model: rigid, density: 1000}\n"
      "  gel: {model: linear_corotated, rotation: lagged, density: 1000, youngs_modulus: 2.0e4, poisson_ratio: 0.4}\n"
      "bodies:\n%s"
      "  ball: {kind: rigid, material: wood, velocity: [0.5, 0, -2], angular_velocity: [0, 20, 0], shape: {sphere: {center: [0, 0, 0.175], "
      "radius: 0.05}}}\n"
      "  gel: {kind: mpm, material: gel, spacing: 0.06, seeding: cells, shape: {box: {min: [-0.12, -0.12, 0], max: [0.12, 0.12, 0.12]}}}\n"
      "contact: {friction: 0.5}\nsolver: {newton: {tolerance: %s}, convex: {expert: {linear: %s}, tolerance: %s}}\n",
      has_floor ? "-9.81" : "0", has_floor ? "  floor: {kind: static, shape: {plane: {}}}\n" : "", newton, linear, tolerance);
  open_world(text, w);
}

static void gradients_and_factors_agree(void **state)
{
  (void)state;
  team_set_threads(1); /* OpenBLAS, too */
  world   a, b;
  int64_t most = 0, inner = 0;
  open_gel(true, "direct", "1.0e-10", "1.0e-6", &a);
  open_gel(true, "iterative", "1.0e-10", "1.0e-6", &b);
  for (int k = 0; k < 6; ++k) {
    step(&a), step(&b);
    assert_int_equal(a.report.inner_iterations, 0);
    inner += b.report.inner_iterations;
    most = b.report.contact.contacts > most ? b.report.contact.contacts : most;
    assert_true(b.report.contact.contacts == a.report.contact.contacts);
    assert_close(b.report.contact.cone_violation, 0.0, 1e-15);
  }
  const body_totals x = totals(&a), y = totals(&b);
  assert_true(inner > 24 && most > 20);
  assert_close(y.kinetic, x.kinetic, 1e-6 * x.kinetic);
  assert_close(y.elastic, x.elastic, 1e-6 * x.elastic);
  for (int k = 0; k < 3; ++k) {
    assert_close(y.momentum[k], x.momentum[k], 1e-6);
    assert_close(rigid(&b, "ball")->v[k], rigid(&a, "ball")->v[k], 1e-6);
    assert_close(rigid(&b, "ball")->w[k], rigid(&a, "ball")->w[k], 1e-4);
  }
  close_world(&a), close_world(&b);
  assert_no_leak();
}

/* A ball falls on sand, whose tangent is not symmetric. Passes for Coulomb's law need shorter steps: with 5 ms, convergence depends on rounding. */
static void open_sand(const char *linear, int passes, world *w)
{
  char text[2000];
  snprintf(text, sizeof text,
           "stickslip: 1\nname: test\nformulation: convex\ngravity: [0, 0, -9.81]\ntime: {end: 1, step: %g}\n"
           "materials:\n  steel: {model: rigid, density: 2000}\n"
           "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 2.0e5, poisson_ratio: 0.3, friction_angle_deg: 30}\n"
           "bodies:\n  floor: {kind: static, shape: {plane: {}}}\n"
           "  ball: {kind: rigid, material: steel, velocity: [0.2, 0, -1], shape: {sphere: {center: [0, 0, 0.125], radius: 0.04}}}\n"
           "  sand: {kind: mpm, material: sand, spacing: 0.04, seeding: cells, shape: {box: {min: [-0.08, -0.08, 0], max: [0.08, 0.08, "
           "0.08]}}}\n"
           "contact: {friction: 0.5}\nsolver: {newton: {tolerance: 1.0e-7}, convex: {"
           "expert: {min_contact_period: 0.1, stiction_tolerance: 1.0e-6, linear: %s, max_coulomb_iterations: %d}, tolerance: 1.0e-11}}\n",
           passes == 1 ? 5e-3 : 2.5e-3, linear, passes);
  open_world(text, w);
}

/* Newton's method uses the full tangent of sand in free motion (except with linear: direct) and for the next linearisation
 * point: few iterations satisfy a small tolerance of all equations. The result depends on the path only through the effective
 * mass of contact, which is that of a tangent with kinks: 3e-4 of the energy with min_contact_period: 1, 3e-8 with 0.01. The
 * bound of the iterations is that of one pass of contact: passes for Coulomb's law change the loads, and add iterations. */
static void sand_takes_few_iterations(void **state)
{
  static const int passes[] = {1, 50};
  (void)state;
  team_set_threads(1);
  for (int c = 0; c < test_samples(2); ++c) {
    world   a, b;
    int64_t most = 0;
    open_sand("auto", passes[c], &a);
    open_sand("direct", passes[c], &b);
    for (int k = 0; k < (passes[c] == 1 ? 10 : 16); ++k) {
      step(&a), step(&b);
      assert_true(a.report.residual <= 1e-7 && b.report.residual <= 1e-7);
      most = a.report.newton_iterations > most ? a.report.newton_iterations : most;
    }
    assert_true(a.report.contact.contacts > 10);
    if (passes[c] == 1) assert_true(most <= 16);
    const body_totals x = totals(&a), y = totals(&b);
    assert_close(y.kinetic, x.kinetic, 1e-5 * x.kinetic);
    assert_close(y.elastic, x.elastic, 1e-5 * x.elastic);
    for (int k = 0; k < 3; ++k) assert_close(y.momentum[k], x.momentum[k], 1e-6);
    close_world(&a), close_world(&b);
  }
  assert_no_leak();
}

static void momentum_is_kept_whatever_the_tolerance(void **state)
{
  static const char *const linear[] = {"direct", "iterative"};
  (void)state;
  team_set_threads(1);
  for (int c = 0; c < 2; ++c) {
    world w;
    bool  has_touched = false;
    open_gel(false, linear[c], "1.0e-3", "1.0e-2", &w);
    const body_totals before = totals(&w);
    for (int k = 0; k < 6; ++k) {
      step(&w);
      has_touched |= w.report.contact.contacts > 0;
      const body_totals after = totals(&w);
      for (int i = 0; i < 3; ++i) assert_close(after.momentum[i], before.momentum[i], 1e-13);
    }
    assert_true(has_touched);
    close_world(&w);
  }
  assert_no_leak();
}

static void threads_change_no_bit(void **state)
{
  static const char *const linear[] = {"direct", "iterative"};
  (void)state;
  for (int c = 0; c < 2; ++c) {
    body_totals first = {0};
    double      v[3]  = {0};
    for (int threads = 1; threads <= 3; ++threads) {
      world w;
      team_set_threads(threads);
      open_gel(true, linear[c], "1.0e-8", "1.0e-3", &w);
      for (int k = 0; k < 2; ++k) step(&w);
      const body_totals now = totals(&w);
      if (threads == 1) first = now, v3_copy(v, rigid(&w, "ball")->w);
      assert_memory_equal(&now, &first, sizeof now);
      assert_memory_equal(v, rigid(&w, "ball")->w, sizeof v);
      close_world(&w);
    }
  }
  team_set_threads(0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(gradients_and_factors_agree), cmocka_unit_test(sand_takes_few_iterations),
          cmocka_unit_test(momentum_is_kept_whatever_the_tolerance), cmocka_unit_test(threads_change_no_bit))
