/* Fixture for tests of sweeps: a temporary folder with a small job and a sweep file. */
#ifndef SS_TESTS_SWEEP_FIXTURE_H
#define SS_TESTS_SWEEP_FIXTURE_H
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "app/sweep/sweep_folder.h"
#include "temporary.h"
#include "test.h"

static const char *const sweep_job =
    "stickslip: 1\nname: small\ntime: {end: 0.01, step: 1.0e-3}\nmaterials: {steel: {model: rigid, density: 7800}, ice: {model: rigid, "
    "density: 900}}\n"
    "bodies:\n  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.3], radius: 0.05}}}\n"
    "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0}}}\ncontact: {friction: 0.3, stiffness: 1.0e4}\n";

static char sweep_folder[TEMPORARY_ROOM];

static inline void sweep_write(const char *name, const char *text)
{
  char path[TEMPORARY_ROOM + 64];
  snprintf(path, sizeof path, "%s/%s", sweep_folder, name);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

static inline int sweep_setup(void **state)
{
  (void)state;
  assert_non_null(mkdtemp(temporary_name(sweep_folder, "")));
  sweep_write("base.yaml", sweep_job);
  return 0;
}

static inline int sweep_teardown(void **state)
{
  (void)state;
  char command[TEMPORARY_ROOM + 16];
  snprintf(command, sizeof command, "rm -rf %s", sweep_folder);
  assert_int_equal(system(command), 0);
  assert_no_leak();
  return 0;
}

/* The plan of a sweep file with the head "sweep: 1, name: s, base: base.yaml" and `text`; errors are added to `d`. */
static inline sweep_plan *sweep_read(const char *text, diagnostics *d)
{
  char        path[TEMPORARY_ROOM + 64];
  static char whole[65536];
  sweep_plan *plan;
  snprintf(whole, sizeof whole, "sweep: 1\nname: s\nbase: base.yaml\n%s", text);
  sweep_write("s.yaml", whole);
  snprintf(path, sizeof path, "%s/s.yaml", sweep_folder);
  assert_ok(sweep_plan_read(path, 0, NULL, d, &plan));
  return plan;
}

/* The same for a sweep file without errors. */
static inline sweep_plan *sweep_good(const char *text)
{
  diagnostics *d;
  assert_ok(diagnostics_create(&d));
  sweep_plan *plan = sweep_read(text, d);
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  assert_non_null(plan);
  return plan;
}
#endif
