/* Rigid bodies touch with areas, not single points: a body that stands on a curved outline or in a hollow bears its moment and
 * does not rock. */
#include "formulation_fixture.h"
#include "core/math3.h"
#include <stdio.h>

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: %s\ntime: {end: 1, step: 4.0e-3}\nmaterials:\n  wood: {model: rigid, density: 700}\n"            \
  "contact: {friction: 0.5}\nbodies:\n"

/* A drum partly over the rim of a disc, a torus on a table (points of its surface), and one in the hollow of a larger one. */
static const char *const scenes[3] = {
    "  disc: {kind: static, shape: {cylinder: {from: [0, 0, -0.02], to: [0, 0, 0], radius: 0.06}}}\n"
    "  it: {kind: rigid, material: wood, shape: {cylinder: {from: [0.03, 0, 0], to: [0.03, 0, 0.1], radius: 0.04}}, force: [-1, "
    "0.3, 0]}\n",
    "  table: {kind: static, shape: {box: {min: [-0.1, -0.1, -0.02], max: [0.1, 0.1, 0]}}}\n"
    "  it: {kind: rigid, material: wood, shape: {torus: {center: [0, 0, 0.01], axis: [0, 0, 1], major_radius: 0.05, minor_radius: "
    "0.01}}, force: [0.1, 0.2, 0]}\n",
    "  ring: {kind: static, shape: {torus: {center: [0, 0, 0], axis: [0, 0, 1], major_radius: 0.0601, minor_radius: 0.0145}}}\n"
    "  it: {kind: rigid, material: wood, shape: {torus: {center: [0, 0, 0.02232], axis: [0, 0, 1], major_radius: 0.05, minor_radius: "
    "0.01}}, force: [0.05, 0.1, 0]}\n"};

static void nothing_rocks(void **state)
{
  (void)state;
  for (int k = 0; k < 6; ++k) {
    world  w;
    char   text[2000];
    double force[3], moment[3], arm[3], turned[3], least = 1.0;
    snprintf(text, sizeof text, HEAD "%s", k % 2 ? "convex" : "exact", scenes[k / 2]);
    open_world(text, &w);
    const rigid_body *b     = rigid(&w, "it");
    const double      start = b->c[2];
    for (int i = 0; i < 25; ++i) {
      step(&w);
      least = fmin(least, b->c[2]);
    }
    const double weight = b->mass * 9.81;
    contact_forces_between(w.f->forces, scene_find_body(w.s, "it"), -1, force, moment);
    assert_close(force[2], weight, 1e-3 * weight);
    v3_copy(arm, b->c); /* the moment is about the origin */
    v3_cross(turned, arm, force);
    for (int e = 0; e < 3; ++e) assert_close(moment[e] - turned[e], 0.0, 1e-4 * weight * 0.05);
    assert_true(v3_norm(b->w) < (k % 2 ? 1e-5 : 1e-6));
    assert_true(w.report.contact.contacts >= 8);
    assert_true(least > start - (k % 2 ? 2e-5 : 1e-5)); /* convex: 1e-4 of the body along normals inclined by 35 degrees */
    close_world(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(nothing_rocks))
