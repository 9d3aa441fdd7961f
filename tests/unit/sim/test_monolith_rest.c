/* A heap at rest stays at rest, in steps of formulation `monolith`. */
#include "formulation_fixture.h"

/* A column of six cells between smooth sides slumps within 0.4 s; steps in which gravity alone falls a quarter of a cell. */
static const char *const column =
    "stickslip: 1\nname: test\nformulation: monolith\ngravity: [0, -9.81, 0]\ntime: {end: 2, step: 0.02, frame: 0.02}\n"
    "materials: {sand: {model: granular, density: 1600, friction_angle_deg: 30}}\n"
    "mac:\n  domain: {min: [0, 0, 0], max: [0.25, 0.125, 0.03125]}\n  spacing: 0.015625\n"
    "  walls: {lower_z: smooth, upper_z: smooth}\n"
    "bodies: {bed: {kind: mac, material: sand, shape: {box: {min: [0, 0, 0], max: [0.09375, 0.09375, 0.03125]}}}}\n";

/* Single grains on a heap, in cells too thin for a continuum, gain no energy from the faces above them, which fall freely, while
 * position correction constrains the grains. Without that: a tenth of the largest energy after 1.4 s, and
 * growing. */
static void energy_is_gone(void **unused)
{
  (void)unused;
  enum { SLUMP = 30, ALL = 75 };
  world  w;
  double most = 0.0, later = 0.0;
  open_world(column, &w);
  for (int k = 0; k < ALL; ++k) {
    step(&w);
    const double now = totals(&w).kinetic;
    most             = fmax(most, now);
    if (k >= SLUMP) later = fmax(later, now);
  }
  print_message("at most %.3g J, after %d frames %.3g J\n", most, SLUMP, later);
  assert_true(most > 0.01);
  assert_true(later < 1e-3 * most);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(energy_is_gone))
