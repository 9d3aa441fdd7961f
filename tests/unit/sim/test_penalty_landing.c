/* Bodies of formulation `penalty` that land while they move along the floor: friction acts in the step of the first contact, from the point of entry. Bodies
 * touch with points (rigid vertices, FEM nodes, particles), the floor with a level set, triangles, or deforming triangles. */
#include "formulation_fixture.h"
#include "core/math3.h"

static const char LEVEL_SET[] = "{kind: static, shape: {box: {min: [-1, -1, -0.2], max: [1, 1, 0]}}}";
static const char TRIANGLES[] = "{kind: static, contact_surface: mesh, shape: {box: {min: [-1, -1, -0.2], max: [1, 1, 0]}}}";
static const char SOFT[]      = "{kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [-0.3, -0.3, -0.1], max: [0.3, 0.3, 0]}}}";
static const char RING[] =
    "{kind: rigid, material: wood, shape: {torus: {center: [0, 0, 0.0203], axis: [0, 0, 1], major_radius: 0.05, minor_radius: "
    "0.02}}, velocity: [0.5, 0, -0.5]}";
static const char CUBE[] =
    "{kind: fem, material: rubber, spacing: 0.05, shape: {box: {min: [-0.05, -0.05, 3e-4], max: [0.05, 0.05, 0.1003]}}, "
    "velocity: [0.5, 0, -0.5]}";
static const char SAND[] =
    "{kind: mpm, material: rubber, spacing: 0.05, particles_per_cell: 8, seeding: lattice, shape: {box: {min: [-0.05, -0.05, "
    "-0.0122], max: [0.05, 0.05, 0.0878]}}, velocity: [0.5, 0, -0.5]}"; /* the lowest particles are 0.3 mm above the floor */

/* A bar across two others, edge on edge. Its large moments of inertia prevent rotation. */
static const char BAR[] =
    "{kind: rigid, material: wood, contact_surface: mesh, inertia: [1e6, 1e6, 1e6], velocity: [0.5, 0, -0.5], shape: {box: {min: "
    "[-0.03, -0.6, -0.03], max: [0.03, 0.6, 0.03]}, rotate_deg: 45, axis: [0, 1, 0], translate: [0.0237, 0.0171, 0.0851528]}}";
#define BAR_AT(y)                                                                                                                          \
  "{kind: static, contact_surface: mesh, shape: {box: {min: [-0.2, -0.03, -0.03], max: [0.2, 0.03, 0.03]}, rotate_deg: 45, axis: [1, 0, "  \
  "0], translate: [0, " y ", 0]}}"
static const char BARS[] = BAR_AT("-0.3") "\n  right: " BAR_AT("0.3");

/* Change of momentum in the first step with contact, without gravity. */
static void land(const char *faller, const char *floor, double mu, double stiffness, double change[3])
{
  world       w;
  char        text[2000];
  body_totals before, after;
  (void)snprintf(text, sizeof text,
                 "stickslip: 1\nname: test\nformulation: penalty\ngravity: [0, 0, 0]\ntime: {end: 1, step: 1.0e-3}\nmaterials:\n"
                 "  wood: {model: rigid, density: 1000}\n  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e6, "
                 "poisson_ratio: 0.3}\n"
                 "bodies:\n  floor: %s\n  body: %s\ncontact: {friction: %g, stiffness: %g}\nsolver: {newton: {tolerance: 1.0e-8}}\n",
                 floor, faller, mu, stiffness);
  open_world(text, &w);
  do {
    before = totals(&w);
    step(&w);
    after = totals(&w);
  } while (w.report.contact.contacts == 0 && w.t < 5e-3);
  assert_true(w.report.contact.contacts > 0);
  v3_sub(change, after.momentum, before.momentum);
  close_world(&w);
}

/* Sliding: all points are on the friction cone. */
static void sliding(void **state)
{
  static const char *const bodies[3] = {RING, CUBE, SAND}, *const floors[2] = {LEVEL_SET, TRIANGLES};
  (void)state;
  for (int b = 0; b < 3; ++b)
    for (int f = 0; f < 2; ++f) {
      double change[3];
      land(bodies[b], floors[f], 0.2, 1e4, change);
      assert_true(change[2] > 1e-6);
      assert_close(change[0] / change[2], -0.2, 1e-3 /* deformation of the body */);
    }
  assert_no_leak();
}

/* Sticking: level set and triangles of the same floor have the same point of entry. */
static void sticking(void **state)
{
  static const char *const bodies[3] = {RING, CUBE, SAND};
  (void)state;
  for (int b = 0; b < 3; ++b) {
    double smooth[3], flat[3];
    land(bodies[b], LEVEL_SET, 2.0, 1e6, smooth);
    land(bodies[b], TRIANGLES, 2.0, 1e6, flat);
    assert_true(smooth[0] < -1e-6);
    assert_close(flat[0] / smooth[0], 1.0, 1e-5);
    assert_close(flat[2] / smooth[2], 1.0, 1e-5);
  }
  assert_no_leak();
}

/* On a surface that deforms, momentum is exchanged on the cone as well. */
static void on_a_soft_floor(void **state)
{
  world w;
  char  text[2000];
  (void)state;
  (void)snprintf(text, sizeof text,
                 "stickslip: 1\nname: test\nformulation: penalty\ngravity: [0, 0, 0]\ntime: {end: 1, step: 1.0e-3}\nmaterials:\n"
                 "  wood: {model: rigid, density: 1000}\n  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e6, "
                 "poisson_ratio: 0.3}\n"
                 "bodies:\n  floor: %s\n  body: %s\ncontact: {friction: 0.2, stiffness: 1.0e4}\nsolver: {newton: {tolerance: 1.0e-8}}\n",
                 SOFT, RING);
  open_world(text, &w);
  const rigid_body *ring = rigid(&w, "body");
  double            before[3], change[3];
  do {
    v3_copy(before, ring->v);
    step(&w);
  } while (w.report.contact.contacts == 0 && w.t < 5e-3);
  v3_sub(change, ring->v, before);
  assert_true(change[2] > 1e-6);
  assert_close(change[0] / change[2], -0.2, 2e-3 /* deformation of the floor */);
  close_world(&w);
  assert_no_leak();
}

/* Contact impulse J of the bar in its first step of contact, and its velocity v afterwards. Gravity along x changes the direction of the trajectory
 * during the step. */
static void land_bar(double mu, double J[3], double v[3])
{
  static const double g = -400.0, dt = 1e-3;
  world               w;
  char                text[2000];
  (void)snprintf(text, sizeof text,
                 "stickslip: 1\nname: test\nformulation: penalty\ngravity: [%g, 0, 0]\ntime: {end: 1, step: %g}\nmaterials:\n"
                 "  wood: {model: rigid, density: 1000}\nbodies:\n  floor: %s\n  body: %s\ncontact: {friction: %g, stiffness: 1.0e6}\n"
                 "solver: {newton: {tolerance: 1.0e-8}, penalty: {expert: {rigid_detector: vertices}}}\n",
                 g, dt, BARS, BAR, mu);
  open_world(text, &w);
  const rigid_body *bar = rigid(&w, "body");
  double            before[3];
  do {
    v3_copy(before, bar->v);
    step(&w);
  } while (w.report.contact.contacts == 0 && w.t < 5e-3);
  v3_copy(v, bar->v);
  v3_sub(J, v, before);
  J[0] -= g * dt;
  close_world(&w);
}

/* Edges: on the cone, or, sticking, opposite to the motion, because the spring begins at the point of entry on the final trajectory. */
static void edges(void **state)
{
  double J[3], v[3];
  (void)state;
  land_bar(0.05, J, v);
  assert_true(J[2] > 1e-3);
  assert_close(J[0] / J[2], -0.05, 1e-8);
  land_bar(2.0, J, v);
  assert_true(J[2] > 1e-3 && fabs(v[0] / v[2]) > 0.1);
  assert_close(J[0] / J[2], v[0] / v[2], 1e-8);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(edges), cmocka_unit_test(sliding), cmocka_unit_test(sticking), cmocka_unit_test(on_a_soft_floor))
