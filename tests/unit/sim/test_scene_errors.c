/* Errors of bodies that are found when the scene is built: each is reported at its position, with the remedy. Particles that are
 * poured or have a velocity field, and curves of rods. */
#include "formulation_fixture.h"
#include <string.h>
#include "sim/scene/scene.h"
#include "temporary.h"

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: exact\ngravity: [0, 0, -10]\ntime: {end: 0.1, step: 1.0e-3}\n"                                   \
  "materials: {jelly: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3}, "                                \
  "nylon: {model: linear_corotated, density: 1150, youngs_modulus: 2.0e8, poisson_ratio: 0.4}}\n"                                          \
  "contact: {friction: 0.3}\nbodies:\n"
#define ROD "  b: {kind: rod, model: mass_spring, material: nylon, section: {circle: 5.0e-4}, "
#define SAND "  b: {kind: mpm, material: jelly, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.4]}}, "

static void expect_error(const char *entry, const char *message)
{
  char         text[2000];
  diagnostics *d;
  job         *j;
  scene       *s = NULL;
  snprintf(text, sizeof text, HEAD "%s\n", entry);
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  bool is_reported = false;
  for (int i = 0; i < diagnostics_count(d); ++i) is_reported |= strstr(diagnostics_text(d, i), message) != NULL;
  if (!is_reported) fail_msg("%s: expected %s, got %s", entry, message, diagnostics_count(d) ? diagnostics_text(d, 0) : "no error");
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
}

static void test_particles(void **state)
{
  (void)state;
  expect_error(SAND "pour: {start: 1, end: 1, every: 0.5}}", "bodies.b.pour.end: 1 s is not after the start, 1 s");
  expect_error(SAND "pour: {start: 0, end: 1, every: 5.0e-4}}", "bodies.b.pour.every: 0.0005 s is less than time.step, 0.001 s");
  /* after 0.02 s the particles have fallen by 2.1 mm */
  expect_error(SAND "pour: {start: 0, end: 1, every: 0.02}}", "bodies.b.pour.every: 0.02 s after a release");
  expect_error(SAND "velocity: [1, 0, 0], velocity_field: [y, 0, 0]}", "give velocity and angular_velocity, or velocity_field, not both");
  expect_error(SAND "pour: {start: 0, end: 1, every: 0.5}, velocity_field: [y, 0, 0]}", "velocity_field cannot be given with pour");
  expect_error(SAND "velocity_field: [y, 0, q]}", "bodies.b.velocity_field");
  expect_error("  b: {kind: mpm, material: jelly, spacing: 10, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.4]}}}",
               "bodies.b.spacing: the shape would contain 0.000512 particles");
  assert_no_leak();
}

static void test_curves(void **state)
{
  (void)state;
#define HELIX(towards) "curve: {helix: {from: [0, 0, 0], axis: [0, 0, 1], towards: " towards ", radius: 0.1, pitch: 0.05, turns: 2}}"
  expect_error(ROD HELIX("[0, 0, 2]") "}", "bodies.b.curve.helix.towards: axis and towards must be two directions that are not parallel");
  expect_error(ROD HELIX("[1, 0, 0]") ", closed: true}", "bodies.b.closed: has no effect on a helix");
  expect_error(ROD "curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: 4, segment_length: 0.1}",
               "bodies.b.segment_length: give segments or segment_length, not both");
  expect_error(ROD "curve: {points: [{at: [0, 0, 0]}, {at: [1, 0, 0]}, {at: [0, 1, 0]}]}, closed: true, segments: 2}",
               "bodies.b.segments: a loop needs at least 3 segments");
  assert_no_leak();
}

/* Strands from a file: errors of the file and of the keys beside it. */
static void test_curve_files(void **state)
{
  char path[TEMPORARY_ROOM], entry[1000];
  (void)state;
  FILE *f = fdopen(mkstemps(temporary_name(path, ".obj"), 4), "w");
  fprintf(f, "v 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 1 0\nv 1 1 0\nv 2 1 0\nl 1 2 3\nl 4 5 6\n");
  fclose(f);
  static const char *const cases[][2] = {
      {"closed: true", "bodies.b.closed: has no effect on strands from a file"},
      {"segments: 4", "bodies.b.segments: has no effect on strands from a file"},
      {"segment_length: 0.1", "bodies.b.segment_length: has no effect on strands from a file"},
      {"copies: {count: 3, pattern: disc, radius: 0.1}", "bodies.b.copies: can copy one curve only: this file has 2"}};
  for (int k = 0; k < 4; ++k) {
    snprintf(entry, sizeof entry, ROD "curve: {file: {path: %s}}, %s}", path, cases[k][0]);
    expect_error(entry, cases[k][1]);
  }
  f = fopen(path, "w");
  fprintf(f, "v 0 0 0\nv 1 0 0\nv 2 0 0\nl 1 2 3\nl 1 2\n");
  fclose(f);
  snprintf(entry, sizeof entry, ROD "curve: {file: {path: %s}}}", path);
  expect_error(entry, "bodies.b.curve.file.path: line 2 of the file has 2 vertices: a strand needs at least 3");
  remove(path);
  expect_error(entry, "bodies.b.curve.file.path: ");
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_particles), cmocka_unit_test(test_curves), cmocka_unit_test(test_curve_files))
