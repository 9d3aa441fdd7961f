/* Measures of bodies made of nodes: the table that a run leaves behind. */
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/key_table.h"
#include "discretize/nodal/nodal_body.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"

/* 2 x 1 x 1 bricks: nodes at x = 0, 1 and 2, four each. */
static const char *const text = "stickslip: 1\nname: bar\ngravity: [0, 0, -9.81]\ntime: {end: 1, step: 0.1}\ncontact: {stiffness: 0}\n"
                                "materials: {rubber: {model: fixed_corotated, density: 1, youngs_modulus: 1, poisson_ratio: 0}}\n"
                                "bodies:\n  bar: {kind: fem, material: rubber, spacing: 1, shape: {box: {min: [0, 0, 0], max: [2, 1, 1]}}}\n"
                                "  sheet: {kind: cloth, mass_per_area: 1, stretch: 1, sheet: {corner: [0, 0, 2], u: [1, 0, 0], v: [0, 1, 0], cells: [1, 1]}}\n"
                                "measure:\n"
                                "  place:  {quantity: point, body: bar, point: [1.6, 0.9, 0.2], direction: [1, 0, 0]}\n"
                                "  far:    {quantity: point, body: bar, point: [1.6, 0.9, 0.2]}\n"
                                "  front:  {quantity: extent, body: bar, direction: [1, 0, 0]}\n"
                                "  middle: {quantity: extent, body: bar, direction: [1, 0, 0], fraction: 0.5}\n"
                                "  pull:   {quantity: stress, body: bar, point: [2, 1, 1], direction: [1, 0, 0]}\n"
                                "  aside:  {quantity: stress, body: bar, point: [2, 1, 1], direction: [0, 1, 0]}\n"
                                "  off:    {quantity: displacement_error, body: bar, expected: [2*X, 0, 0.5]}\n"
                                "  fast:   {quantity: velocity_error, body: bar, expected: [0, 3*t/0.1, 4]}\n"
                                "  steep:  {quantity: gradient_error, body: bar, expected: [X, 2*Z, 0]}\n"
                                "  sheet:  {quantity: displacement_error, body: sheet, expected: [0, 0, 3]}\n"
                                "  low:    {quantity: extent, body: bar, direction: [0, 0, 1], fraction: 0}\n";

/* Value in row `row` of measure/NAME.csv. */
static double recorded(const char *dir, const char *name, int row)
{
  char   path[512], line[256];
  double step = NAN, t = NAN, value = NAN;
  snprintf(path, sizeof path, "%s/measure/%s.csv", dir, name);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  for (int i = -1; i <= row; ++i) assert_non_null(fgets(line, sizeof line, f));
  assert_int_equal(sscanf(line, "%lf,%lf,%lf", &step, &t, &value), 3);
  fclose(f);
  return value;
}

static void record_bar(const char *dir)
{
  diagnostics *d;
  job         *j;
  scene       *s;
  measures    *m;
  step_report  report = {0};
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  assert_ok(scene_create(PETSC_COMM_SELF, j, d, &s));
  assert_ok(measures_check(s, d));
  assert_int_equal(diagnostics_count(d), 0);
  assert_ok(measures_open(s, NULL, dir, -1, &m));
  assert_ok(measures_record(m, 0, 0.0, &report));
  nodal_body *bar = (nodal_body *)s->bodies[0].body;
  for (int64_t i = 0; i < bar->n_nodes; ++i) bar->x[3 * i] = 3.0 * bar->rest[3 * i] + 0.5;
  assert_ok(measures_record(m, 1, 0.1, &report));
  assert_ok(measures_close(&m));
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
}

/* Node (2, 1, 0) is closest at rest, and followed: after the stretch it is not closest any more. */
static void nodes_are_followed(void **state)
{
  (void)state;
  char dir[] = "/tmp/stickslip-test-XXXXXX", command[128];
  assert_non_null(mkdtemp(dir));
  snprintf(command, sizeof command, "mkdir %s/measure", dir);
  assert_int_equal(system(command), 0);
  record_bar(dir);
  assert_close(recorded(dir, "place", 0), 2.0, 0);
  assert_close(recorded(dir, "far", 0), sqrt(5.0), 1e-15);
  assert_close(recorded(dir, "front", 0), 2.0, 0);
  assert_close(recorded(dir, "middle", 0), 1.0, 0);
  assert_close(recorded(dir, "low", 0), 0.0, 0);
  assert_close(recorded(dir, "place", 1), 6.5, 0);
  assert_close(recorded(dir, "front", 1), 6.5, 0);
  assert_close(recorded(dir, "middle", 1), 3.5, 0);
  /* three times as long: fixed-corotated with E 1, nu 0 pulls by 2 mu (F - 1) = 2 on an area that stays */
  assert_close(recorded(dir, "pull", 0), 0.0, 1e-15);
  assert_close(recorded(dir, "pull", 1), 2.0, 1e-14);
  assert_close(recorded(dir, "aside", 1), 0.0, 1e-14);
  /* u = (2 X + 1/2, 0, 0), v = 0 */
  assert_close(recorded(dir, "off", 1), sqrt(0.5), 1e-14);
  assert_close(recorded(dir, "fast", 0), 4.0, 1e-14);
  assert_close(recorded(dir, "fast", 1), 5.0, 1e-14);
  assert_close(recorded(dir, "steep", 1), sqrt(1.0 + 4.0), 1e-14);
  assert_close(recorded(dir, "sheet", 1), 3.0, 0.0);
  snprintf(command, sizeof command, "rm -r %s", dir);
  assert_int_equal(system(command), 0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(nodes_are_followed))
