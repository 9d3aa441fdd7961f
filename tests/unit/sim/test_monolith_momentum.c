/* Momentum of grains and bodies over many steps of formulation `monolith`. */
#include "core/math3.h"
#include "formulation_fixture.h"
#include "monolith_lump.h"

/* Momentum lost by the grains is gained by the bodies, over many steps, to rounding: also where faces at the surface are light,
 * grains are in cells with a solid, and bodies sink in and are moved out. Moments are preserved as far as mass is not
 * transferred between faces. */
static void nothing_is_lost(void **unused)
{
  (void)unused;
  enum { STEPS = 12 };
  world  w;
  double lost[3], turned[3];
  open_world(lump, &w);
  const body_totals first = totals(&w);
  for (int k = 0; k < STEPS; ++k) step(&w);
  const body_totals now = totals(&w);
  v3_sub(lost, now.momentum, first.momentum);
  v3_sub(turned, now.angular_momentum, first.angular_momentum);
  const double q = v3_norm(first.momentum), L = v3_norm(first.angular_momentum);
  print_message("lost %.2g of %g kg m/s, %.2g of %g kg m^2/s; energy %g, was %g J\n", v3_norm(lost), q, v3_norm(turned), L, now.kinetic,
                first.kinetic);
  assert_true(first.kinetic - now.kinetic > 0.1 * first.kinetic); /* they have collided */
  assert_close(v3_norm(lost), 0.0, 1e-14 * STEPS * q);
  assert_close(v3_norm(turned), 0.0, 1e-3 * L);
  close_world(&w);
  assert_no_leak();
}

/* Few grains fall on an oblique floor and on a ball. Many faces are lighter than the minimum mass of a face, without a heavy neighbour;
 * some have no mass. In each step, the momentum of all bodies changes by their weight minus the reported force on the floor, to
 * rounding. */
static void light_faces_conserve_momentum(void **unused)
{
  (void)unused;
  enum { STEPS = 60 };
  const double dt = 0.004, gravity[3] = {0.0, 0.0, -9.81};
  world        w;
  double       force[3], moment[3], worst = 0.0;
  open_world("stickslip: 1\nname: test\nformulation: monolith\ntime: {end: 1, step: 0.004}\ncontact: {friction: 0.4}\n"
             "materials:\n  wood: {model: rigid, density: 700}\n  sand: {model: granular, density: 1600, friction_angle_deg: 30}\n"
             "mac: {domain: {min: [-0.6, -0.6, -0.2], max: [0.6, 0.6, 0.6]}, spacing: 0.025}\n"
             "bodies:\n"
             "  floor: {kind: static, shape: {plane: {point: [0, 0, -0.0037], normal: [0.1, 0.05, 1]}}}\n"
             "  heap: {kind: mac, material: sand, velocity: [1, 0.3, -2], seeding: blue_noise, shape: {sphere: {center: [-0.1, -0.1, 0.1], "
             "radius: 0.05}}}\n"
             "  crumb: {kind: mac, material: sand, velocity: [-1, -0.3, -2], seeding: blue_noise, shape: {sphere: {center: [0.15, 0.1, "
             "0.1], radius: 0.018}}}\n"
             "  clod: {kind: mac, material: sand, velocity: [-1, -0.3, -2], shape: {sphere: {center: [0.15, -0.1, 0.12], radius: 0.03}}}\n"
             "  ball: {kind: rigid, material: wood, velocity: [0, 0, -1], angular_velocity: [3, 2, 9], shape: {sphere: {center: [0, -0.06, "
             "0.16], radius: 0.06}}}\n"
             "solver: {monolith: {max_outer_iterations: 5}}\n",
             &w);
  w.f->accepts_unconverged = true; /* momentum is conserved for any residual */
  const double mass        = totals(&w).mass;
  for (int k = 0; k < STEPS; ++k) {
    const body_totals before = totals(&w);
    step(&w);
    const body_totals after = totals(&w);
    contact_forces_between(w.f->forces, 0, -1, force, moment);
    for (int a = 0; a < 3; ++a) worst = fmax(worst, fabs(after.momentum[a] - before.momentum[a] - dt * (mass * gravity[a] - force[a])));
  }
  print_message("momentum of a step is off by at most %.2g of m g t\n", worst / (mass * 9.81 * STEPS * dt));
  assert_close(worst, 0.0, 1e-13 * mass * 9.81 * STEPS * dt);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(nothing_is_lost), cmocka_unit_test(light_faces_conserve_momentum))
