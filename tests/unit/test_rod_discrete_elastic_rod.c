/* Discrete elastic rods: derivatives against finite differences, balance, frames, closed forms. */
#include "rod_fixture.h"
#include "core/quaternion.h"
#include "discretize/rod/der_vertex.h"

/* Rods with everything: bent, twisted, anisotropic, clamped, moved, loaded, damped, several, closed. */
static const char *const rods[] = {
    "curve: {helix: {from: [0, 0, 0], axis: [0, 0, 1], towards: [1, 0, 0], radius: 0.1, pitch: 0.1, turns: 1.2}}, segments: 7, "
    "section: {rectangle: {sides: [0.02, 0.01]}}, natural: {shape: straight, twist: 3, curvature: [2, -1]}",
    "curve: {helix: {from: [0, 0, 0], axis: [0, 1, 1], towards: [1, 0, 0], radius: 0.1, pitch: -0.1, turns: 1.2}}, segments: 6, "
    "section: {ellipse: {radii: [0.02, 0.01]}}, damping: {mass: 2, stiffness: 0.05}, "
    "start: {held: clamped, motion: {angular_velocity: [1, 2, 3], velocity: [0.1, 0.2, 0.3]}}, end: {force: [1, 2, -3], moment: [0.1, 0.3, -0.2]}",
    "curve: {line: {from: [0, 0, 0], to: [0.5, 0, 0.1]}}, segments: 5, section: {circle: 0.01}, copies: {count: 3, radius: 0.2}, "
    "start: {held: clamped}, end: {held: clamped, motion: {angular_velocity: [3, 0, 1]}}, natural: straight",
    "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 0], towards: [-1, 0, 0], radius: 0.1, angle_deg: 360}}, closed: true, segments: 7, "
    "section: {rectangle: {sides: [0.02, 0.01]}}, natural: {shape: straight, twist: 4}, damping: {stiffness: 0.02}",
    "curve: {points: [{at: [0, 0, 0]}, {at: [0.1, 0, 0]}, {at: [0.2, 0.1, 0]}, {at: [0.3, 0.1, 0.2]}]}, section: {circle: 0.01}, "
    "start: {moment: [0.2, 0.1, 0.3]}, end: {held: pinned}"};
enum { N_RODS = sizeof rods / sizeof *rods };

/* Rates that move nodes and angles by about 0.01 l in a step, and more from step to step. */
static void random_rates(const rod_body *b, double size, double *u)
{
  for (int64_t i = 0; i < 3 * b->n_blocks; ++i) u[i] = rod_uniform(-size, size);
}

/* From the start and after steps that turn everything, with trial states away from the start of the step. */
static void derivatives(void **unused)
{
  (void)unused;
  rod_random_state = 3;
  for (int i = 0; i < N_RODS; ++i) {
    rod_case c;
    double   u[300], gravity[3] = {1.0, -2.0, 3.0};
    rod_case_open(rods[i], gravity, &c);
    for (int step = 0; step < 3; ++step) {
      rod_begin(c.b, 0.01 * step, 0.01);
      random_rates(c.b, 1.0, u);
      rod_check_derivatives(c.b, u, 2e-8);
      rod_accept(c.b, u);
    }
    rod_case_close(&c);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(derivatives))
