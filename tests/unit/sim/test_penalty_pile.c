/* Balls and boxes of formulation `penalty` that fall into a container: the sweeps leave little for Newton's method, and the energy does not rise. */
#include "formulation_fixture.h"
#include <math.h>

enum { N = 5, STEPS = 40 };

static void pile_text(bool has_balls, char *text, size_t size)
{
  size_t at = (size_t)snprintf(
      text, size,
      "stickslip: 1\nname: test\ngravity: [0, 0, -9.81]\ntime: {end: 1, step: 5.0e-3}\nmaterials: {stone: {model: rigid, density: 1000}}\n"
      "contact: {friction: 0.5, stiffness: 1.0e6}\nbodies:\n  box: {kind: static, shape: {container: {min: [0, 0, 0], max: [0.54, 0.54, "
      "9]}}}\n");
  for (int k = 0; k < N * N * N; ++k) {
    const double x[3] = {0.06 + 0.105 * (k % N) + 0.002 * sin(k), 0.06 + 0.105 * (k / N % N) + 0.002 * cos(3 * k),
                         0.055 + 0.105 * (k / N / N)};
    at += (size_t)snprintf(text + at, size - at, "  b%d: {kind: rigid, material: stone, velocity: [%g, 0, -0.5], shape: {", k,
                           0.2 * sin(2 * k));
    if (has_balls) at += (size_t)snprintf(text + at, size - at, "sphere: {center: [%g, %g, %g], radius: 0.05}}}\n", x[0], x[1], x[2]);
    else
      at += (size_t)snprintf(text + at, size - at, "box: {min: [%g, %g, %g], max: [%g, %g, %g]}}}\n", x[0] - 0.04, x[1] - 0.04, x[2] - 0.04,
                             x[0] + 0.04, x[1] + 0.04, x[2] + 0.04);
  }
  assert_true(at < size);
}

static void pile_needs_few_iterations(void **state)
{
  static char text[30000];
  (void)state;
  for (int has_balls = 0; has_balls < 2; ++has_balls) {
    world   w;
    int64_t newton = 0, linear = 0, sweeps = 0, evaluations = 0, most = 0;
    double  before, residual = 0.0;
    pile_text(has_balls, text, sizeof text);
    open_world(text, &w);
    before = energy(&w);
    for (int k = 0; k < STEPS; ++k) {
      w.report = (step_report){0};
      step(&w);
      const double after = energy(&w) + w.report.contact.contact_energy;
      assert_true(after <= before + 1e-9 * fabs(before));
      before = after;
      newton += w.report.newton_iterations, linear += w.report.linear_iterations, sweeps += w.report.inner_iterations;
      evaluations += w.report.evaluations;
      most     = w.report.contact.contacts > most ? w.report.contact.contacts : most;
      residual = fmax(residual, w.report.residual);
    }
    print_message("%s: per step %.2f Newton and %.1f linear iterations, %.0f sweeps, %.1f evaluations; %d contacts, residual %.1e\n",
                  has_balls ? "balls" : "boxes", (double)newton / STEPS, (double)linear / STEPS, (double)sweeps / STEPS,
                  (double)evaluations / STEPS, (int)most, residual);
    assert_true(residual <= 1e-3 && most > 150);
    assert_true(newton <= 3 * STEPS && evaluations <= 10 * STEPS && sweeps > 10 * STEPS); /* boxes without sweeps: 6.3 and 41 per step */
    close_world(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(pile_needs_few_iterations))
