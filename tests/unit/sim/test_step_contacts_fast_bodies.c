/* Fast bodies: a body that moves many thicknesses of a thin body in one step does not pass through it, with formulations exact
 * and convex. */
#include "formulation_fixture.h"
#include "core/math3.h"
#include <stdio.h>

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: %s\ngravity: [0, 0, %s]\ntime: {end: 1, step: 1.0e-3}\n"                                         \
  "materials:\n  lead: {model: rigid, density: 10000}\n  wood: {model: rigid, density: 500}\n"                                             \
  "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 2.0e5, poisson_ratio: 0.3, friction_angle_deg: 30}\n"                    \
  "contact: {friction: 0.2}\nbodies:\n"
#define PLATE "  plate: {kind: static, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.001]}}}\n"

static const char *const law_of[2] = {"exact", "convex"};

/* A ball flies at a plate 1 mm thick, 1 to 100 thicknesses per step, at normal and oblique incidence, from near and far. A ball
 * that misses the plate continues. */
static void balls_at_a_plate(void **state)
{
  (void)state;
  for (int k = 0; k < 2 * 4 * 3 * 2; ++k) {
    const double speed = (double[]){1, 8, 30, 100}[k / 2 % 4], aside = (double[]){0, 0.8, -2}[k / 8 % 3], far = k / 24 ? 1.7 : 0.7;
    const double from = 0.0065 + far * speed * 1e-3, x = -aside * far * speed * 1e-3;
    world        w;
    char         text[3000];
    snprintf(text, sizeof text,
             HEAD PLATE "  ball: {kind: rigid, material: lead, shape: {sphere: {center: [%g, 0.01, %g], radius: 0.005}}, velocity: "
                        "[%g, 0, %g]}\n",
             law_of[k % 2], "-9.81", x, from, aside * speed, -speed);
    open_world(text, &w);
    const rigid_body *b = rigid(&w, "ball");
    for (int i = 0; i < 6; ++i) {
      step(&w);
      if (fabs(b->c[0]) < 0.1) assert_true(b->c[2] > 0.001 + 0.0045);
    }
    assert_true(b->v[2] > -1e-6 * speed - 0.02 || fabs(b->c[0]) > 0.1);
    close_world(&w);
  }
  for (int k = 0; k < 2; ++k) { /* past the rim */
    world w;
    char  text[3000];
    snprintf(text, sizeof text,
             HEAD PLATE "  ball: {kind: rigid, material: lead, shape: {sphere: {center: [0.11, 0, 0.0511], radius: 0.005}}, "
                        "velocity: [0, 0, -100]}\n",
             law_of[k], "0");
    open_world(text, &w);
    for (int i = 0; i < 3; ++i) step(&w);
    assert_close(rigid(&w, "ball")->v[2], -100.0, 1e-9);
    close_world(&w);
  }
  assert_no_leak();
}

/* Two moving bodies: a ball against a free plate, and a small ball against an approaching one. Linear momentum is preserved. */
static void bullets_meet(void **state)
{
  (void)state;
  static const char *const target[2] = {
      "  other: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, -0.001], max: [0.1, 0.1, 0]}}, "
      "velocity: [0, 0, 30]}\n",
      "  other: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, -0.005], radius: 0.005}}, velocity: [0, 0, 30]}\n"};
  for (int k = 0; k < 4; ++k) {
    world w;
    char  text[3000];
    snprintf(text, sizeof text,
             HEAD "  ball: {kind: rigid, material: lead, shape: {sphere: {center: [0, 0, 0.09], radius: 0.005}}, velocity: "
                  "[0, 0, -100]}\n%s",
             law_of[k % 2], "0", target[k / 2]);
    open_world(text, &w);
    const body_totals before = totals(&w);
    for (int i = 0; i < 4; ++i) {
      step(&w);
      assert_true(rigid(&w, "ball")->c[2] > rigid(&w, "other")->c[2] + (k / 2 ? 0.009 : 0.0045));
    }
    const body_totals after = totals(&w);
    for (int e = 0; e < 3; ++e) assert_close(after.momentum[e], before.momentum[e], 1e-12 * fabs(before.momentum[2]));
    close_world(&w);
  }
  assert_no_leak();
}

/* Nodes of a cloth against a plate, against its triangles, and against the thin ring of a torus, whose nearest side is not on
 * the trajectory. */
static void cloth_at_thin_things(void **state)
{
  (void)state;
  static const char *const target[3] = {
      "  target: {kind: static, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.001]}}}\n",
      "  target: {kind: static, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.001]}}, contact_surface: mesh}\n",
      "  target: {kind: static, shape: {torus: {center: [0, 0, -1], axis: [1, 0, 0], major_radius: 1, minor_radius: 0.006}}}\n"};
  for (int k = 0; k < 6; ++k) {
    world w;
    char  text[3000];
    snprintf(text, sizeof text,
             HEAD "%s  sheet: {kind: cloth, sheet: {corner: [-0.004, -0.004, 0.16], u: [0.008, 0, 0], v: [0, 0.008, 0], "
                  "cells: [2, 2]}, mass_per_area: 0.2, stretch: 100, bending: 1.0e-5, velocity: [0, 0, -100]}\n",
             law_of[k % 2], "-9.81", target[k / 2]);
    open_world(text, &w);
    for (int i = 0; i < 4; ++i) {
      step(&w);
      assert_true(totals(&w).center[2] > 0.0);
    }
    assert_true(totals(&w).momentum[2] > -0.2 * 0.008 * 0.008 * 100.0 * 0.1);
    close_world(&w);
  }
  assert_no_leak();
}

/* Grains may not move more than a cell per step (CFL) and are stopped by a plate with a hundredth of that thickness. */
static void grains_at_a_plate(void **state)
{
  (void)state;
  for (int k = 0; k < 4; ++k) {
    const double speed = k / 2 ? 12.0 : 8.0;
    world        w;
    char         text[3000];
    snprintf(text, sizeof text,
             HEAD "  plate: {kind: static, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.0001]}}}\n"
                  "  heap: {kind: mpm, material: sand, spacing: 0.01, shape: {box: {min: [-0.02, -0.02, 0.0125], max: [0.02, 0.02, "
                  "0.0325]}}, velocity: [0, 0, %g]}\n",
             law_of[k % 2], "-9.81", -speed);
    open_world(text, &w);
    step_status status;
    if (k / 2) {
      assert_ok(w.f->ops->step(w.f, 0.0, 1e-3, &status, &w.report));
      assert_int_equal(status.code, STEP_CFL_VIOLATED);
    } else
      for (int i = 0; i < 6; ++i) {
        step(&w);
        const double down = totals(&w).momentum[2] / (1600.0 * 0.04 * 0.04 * 0.02);
        assert_true(totals(&w).center[2] > 0.004);
        assert_true(w.report.contact.contact_depth < 5e-5);
        assert_true(i < 4 || down > -0.6 * speed);
      }
    close_world(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(balls_at_a_plate), cmocka_unit_test(bullets_meet), cmocka_unit_test(cloth_at_thin_things),
          cmocka_unit_test(grains_at_a_plate))
