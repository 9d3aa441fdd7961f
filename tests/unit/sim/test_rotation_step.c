/* Warnings "rotation-step" about rotations that the step does not resolve, and none for sound scenes. */
#include "sim/scene/rotation_step.h"
#include "formulation_fixture.h"

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: exact\ngravity: [0, 0, 0]\ntime: {end: 1, step: 1.0e-2}\n"                                       \
  "materials: {brass: {model: rigid, density: 1000}}\nbodies:\n"
#define BRICK "  b: {kind: rigid, material: brass, mass: 1, inertia: [1, 2, 3], shape: {box: {min: [0, 0, 0], max: [1, 2, 3]}}, "
#define LINK(type)                                                                                                                         \
  "  b: {kind: articulated, links: {l: {mass: 1, center_of_mass: [0, 0, 0], inertia: [1, 2, 3, 0, 0, 0]}}, joints: {j: {child: l, "        \
  "type: " type ", at: [0, 0, 0], "

/* message: part of the only warning; NULL: no warning is expected. */
static void expect_warning(const char *entry, const char *message)
{
  char         text[2000];
  diagnostics *d;
  job         *j;
  scene       *s = NULL;
  snprintf(text, sizeof text, HEAD "%s\n", entry);
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  if (diagnostics_count(d)) fail_msg("%s: %s", entry, diagnostics_text(d, 0));
  const char *found = NULL;
  int         n     = 0;
  for (int i = 0; i < warning_list_count(s->warnings); ++i)
    if (strcmp(warning_list_code(s->warnings, i), "rotation-step") == 0) found = warning_list_text(s->warnings, i), ++n;
  assert_int_equal(n, message != NULL);
  if (message && !strstr(found, message)) fail_msg("%s: expected %s, got %s", entry, message, found);
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
}

static void test_bodies(void **state)
{
  (void)state;
  /* pi/2 0.01 max((1 - 3)^2/2, (2 - 3)^2/1, (1 - 2)^2/3)/2 = 1.57 % */
  expect_warning(BRICK "rotation: backward_euler, angular_velocity: [0, 1, 0]}",
                 "loses up to 1.57 % of its energy of rotation per revolution");
  expect_warning(BRICK "rotation: backward_euler, angular_velocity: [0, 1, 0]}", "use rotation: conserving, or steps of at most 0.00064 s");
  expect_warning(BRICK "rotation: backward_euler, angular_velocity: [0, 0.01, 0]}", NULL);
  expect_warning(BRICK "rotation: midpoint, angular_velocity: [0, 1, 0]}", NULL);
  expect_warning(BRICK "angular_velocity: [0, 1, 0]}", NULL);
  expect_warning(BRICK "angular_velocity: [0, 290, 0]}", NULL);
  expect_warning(BRICK "angular_velocity: [0, 400, 0]}", "rotates by 4 rad per step of 0.01 s: above 3 rad rotations do not conserve "
                                                         "energy, it loses up to 100 % per revolution; use steps of at most 0.0025 s");
  expect_warning(BRICK "rotation: midpoint, angular_velocity: [0, 400, 0]}", NULL);
  expect_warning("  b: {kind: rigid, material: brass, rotation: backward_euler, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}, "
                 "angular_velocity: [0, 1000, 0]}",
                 NULL);
  assert_no_leak();
}

static void test_links(void **state)
{
  (void)state;
  expect_warning(LINK("ball") "angular_velocity: [0, 1, 0]}}}", NULL);
  expect_warning(LINK("ball") "angular_velocity: [0, 60, 0]}}}",
                 "rotates by 0.6 rad per step of 0.01 s: its rotation has an error of about 1.5 %; use steps of at most 0.0082 s");
  expect_warning(LINK("free") "angular_velocity: [0, 1, 0]}}, integrator: semi_implicit}",
                 "gain up to 1.57 % of their energy of rotation per revolution; use integrator: momentum, or steps of at most 0.00064 s");
  expect_warning(LINK("free") "angular_velocity: [0, 0.01, 0]}}, integrator: semi_implicit}", NULL);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_bodies), cmocka_unit_test(test_links))
