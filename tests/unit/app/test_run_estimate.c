/* Estimate of memory and CPU time: units of each kind of body counted by hand, proportionality to steps and to arrays in memory. */
#include "app/run/run_estimate.h"
#include "core/diagnostics.h"
#include "core/memory.h"
#include "test.h"
#include <string.h>

static run *build(const char *text)
{
  diagnostics *d;
  job         *j;
  run         *r = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  if (j) assert_ok(run_build(&j, &(run_options){.comm = PETSC_COMM_SELF, .dir = "", .is_check = true}, d, &r));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  return r;
}

#define HEAD(formulation, end)                                                                                                             \
  "stickslip: 1\nname: test\nformulation: " formulation "\ntime: {end: " end ", step: 1.0e-3}\n"                                           \
  "materials:\n  wood: {model: rigid, density: 1000}\n"                                                                                    \
  "  soft: {model: linear_corotated, density: 1000, youngs_modulus: 1.0e6, poisson_ratio: 0.3}\n"                                          \
  "contact: {friction: 0.3, stiffness: 1.0e4}\nbodies:\n"
#define FLOOR "  floor: {kind: static, shape: {plane: {point: [0, 0, -9]}}}\n"
#define BALLS                                                                                                                              \
  "  a: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}}\n"                                                \
  "  b: {kind: rigid, material: wood, shape: {sphere: {center: [1, 0, 0], radius: 0.1}}}\n"
#define ROD "  rod: {kind: rod, material: soft, curve: {line: {from: [0, 0, 3], to: [1, 0, 3]}}, segments: 10, section: {circle: 0.01}}\n"

static run_estimate estimate(const char *text)
{
  run_estimate e;
  run         *r = build(text);
  run_estimate_of(r, &e);
  run_destroy(&r);
  return e;
}

/* 20 units for a rigid body, none for obstacles, 1 for each of the 11 nodes of a rod. */
static void test_units(void **state)
{
  (void)state;
  assert_close(estimate(HEAD("exact", "1") FLOOR BALLS).units, 40.0, 0.0);
  assert_close(estimate(HEAD("exact", "1") FLOOR BALLS ROD).units, 51.0, 0.0);
  assert_no_leak();
}

/* Steps (5e-4 + 1.2e-5 units) s under exact, (5e-4 + 8.5e-6 units) s under penalty. */
static void test_seconds(void **state)
{
  (void)state;
  assert_close(estimate(HEAD("exact", "1") FLOOR BALLS).seconds, 1000 * (5e-4 + 1.2e-5 * 40), 1e-12);
  assert_close(estimate(HEAD("exact", "0.25") FLOOR BALLS).seconds, 250 * (5e-4 + 1.2e-5 * 40), 1e-12);
  assert_close(estimate(HEAD("penalty", "1") FLOOR BALLS).seconds, 1000 * (5e-4 + 8.5e-6 * 40), 1e-12);
  assert_no_leak();
}

/* Impulses of formulation hybrid: more time per unit, most with gravity, which presses bodies together. A cube of 2^3 cells has 27 nodes. */
static void test_impulses(void **state)
{
  (void)state;
#define SOFT "  c: {kind: fem, material: soft, spacing: 0.5, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}\n"
  const run_estimate coulomb  = estimate(HEAD("hybrid", "1") SOFT "solver: {hybrid: {contact: coulomb}}\n"),
                     impulses = estimate(HEAD("hybrid", "1") SOFT "solver: {hybrid: {contact: impulses}}\n"),
                     floating = estimate(HEAD("hybrid", "1") SOFT "solver: {hybrid: {contact: impulses}}\ngravity: [0, 0, 0]\n");
  assert_close(coulomb.units, impulses.units, 0.0);
  assert_close(coulomb.seconds, 1000 * (5e-4 + 5.5e-6 * coulomb.units), 1e-12);
  assert_close(impulses.seconds, 1000 * (5e-4 + 2.3e-5 * coulomb.units), 1e-12);
  assert_close(floating.seconds, 1000 * (5e-4 + 6e-6 * coulomb.units), 1e-12);
  assert_no_leak();
}

/* 45 MB plus twice the arrays under exact; further arrays count. */
static void test_memory(void **state)
{
  (void)state;
  run_estimate e;
  double      *more = NULL;
  run         *r    = build(HEAD("exact", "1") FLOOR BALLS);
  run_estimate_of(r, &e);
  assert_close(e.memory, 45e6 + 2.0 * (double)memory_live(), 1.0);
  const double before = e.memory;
  assert_ok(memory_alloc("test", 1000000, sizeof *more, &more));
  run_estimate_of(r, &e);
  assert_true(e.memory - before >= 2.0 * 8e6 && e.memory - before < 2.0 * 8.1e6);
  memory_free(&more);
  run_destroy(&r);
  assert_no_leak();
}

#define BED(formulation, n)                                                                                                                \
  HEAD(formulation, "1")                                                                                                                   \
  FLOOR "  b: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}, copies: {arrangement: lattice, count: " n   \
        ", region: {box: {min: [0, 0, 0], max: [2, 2, 9]}}}}\n"

/* The arrays per body are those that further bodies add. */
static void test_rigid_bodies(void **state)
{
  (void)state;
  static const char *const text[] = {BED("exact", "400"), BED("exact", "800")};
  double                   live[2];
  run_estimate             e[2];
  for (int k = 0; k < 2; ++k) {
    run *r  = build(text[k]);
    live[k] = (double)memory_live();
    run_estimate_of(r, &e[k]);
    run_destroy(&r);
  }
  const double work = 6200.0;                                                        /* of a step of exact */
  assert_close((e[1].rigid_body - work) / ((live[1] - live[0]) / 400.0), 1.0, 0.15); /* other arrays are known to 0.3 MB */
  assert_close((e[0].rigid_body - work) / (e[1].rigid_body - work), 1.0, 0.2);
  assert_close(e[0].contact, 4000.0, 0.0);
  /* The memory of a pile is proportional to its bodies, with 2.4 contacts each. */
  assert_close((e[1].memory - e[0].memory) / 400.0 / (e[1].rigid_body + 2.4 * 4000.0), 1.0, 0.1);
  assert_true(isnan(estimate(HEAD("exact", "1") FLOOR BALLS ROD).rigid_body));
  assert_no_leak();
}

static void test_print(void **state)
{
  (void)state;
  char  *text = NULL;
  size_t n    = 0;
  run   *r    = build(HEAD("exact", "300") FLOOR BALLS); /* 3e5 steps of 0.98 ms: 294 s */
  FILE  *f    = open_memstream(&text, &n);
  run_estimate_print(r, f);
  fclose(f);
  if (!strstr(text, "MB of memory, 4.9 min of CPU time on one core")) fail_msg("%s", text);
  assert_null(strstr(text, "per contact")); /* two bodies */
  free(text);
  run_destroy(&r);
  r = build(BED("exact", "100"));
  f = open_memstream(&text, &n);
  run_estimate_print(r, f);
  fclose(f);
  if (!strstr(text, " kB per rigid body, about 4 kB per contact\n")) fail_msg("%s", text);
  free(text);
  run_destroy(&r);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_units), cmocka_unit_test(test_seconds), cmocka_unit_test(test_impulses), cmocka_unit_test(test_memory),
          cmocka_unit_test(test_rigid_bodies), cmocka_unit_test(test_print))
