/* What differs between two documents of one table, with the tests' job table. */
#include "test.h"
#include <stdio.h>
#include <string.h>
#include "core/key_table.h"
#include "io/yaml.h"
#include "job_table.h"

#define HEAD "stickslip: 1\nformulation: penalty\nname: test\ntime: {end: 1, step: 0.5}\n"
#define SAND "materials: {sand: {model: drucker_prager, density: 1600, youngs_modulus: 1e6, friction_angle_deg: 30}}\n"
#define BALL "ball: {kind: rigid, material: sand, shape: {sphere: {center: [0, 0, 1], radius: 0.5}}}"
#define BED "bed: {kind: mpm, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}"
static const char JOB[] = HEAD SAND "bodies:\n  " BED "\n  " BALL "\n";

static PetscErrorCode list(const key_difference *k, void *context)
{
  char *text = context;
  sprintf(text + strlen(text), "%s%s: %s -> %s (line %d)\n", k->may_change ? "may " : "", k->path, k->before ? k->before : "-",
          k->after ? k->after : "-", k->mark.line);
  return PETSC_SUCCESS;
}

static document_node *resolve(document *doc, const char *text)
{
  diagnostics   *d;
  const void    *unused;
  document_node *tree;
  assert_ok(diagnostics_create(&d));
  assert_ok(yaml_read_text("job", text, strlen(text), doc, d));
  assert_ok(key_table_read(&job_table, doc, document_root(doc), "", d, &unused));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  assert_ok(key_table_resolve(&job_table, doc, document_root(doc), &tree));
  diagnostics_destroy(&d);
  return tree;
}

static void expect(const char *before, const char *after, const char *expected)
{
  document *a, *b;
  char      text[8192] = "";
  assert_ok(document_create(&a));
  assert_ok(document_create(&b));
  assert_ok(key_table_compare(&job_table, resolve(a, before), resolve(b, after), list, text));
  assert_string_equal(text, expected);
  document_destroy(&a);
  document_destroy(&b);
}

static void test_other_words_are_no_change(void **state)
{
  (void)state;
  expect(JOB, JOB, "");
  /* numbers in other forms, defaults written out, names in another order */
  expect(JOB, "name: test\nformulation: penalty\nstickslip: 1\ntime: {step: 5.0e-1, end: 1.0}\ngravity: [0, 0.0, -9.81]\n" SAND "bodies:\n  " BALL "\n  " BED "\n", "");
  assert_no_leak();
}

static void test_every_kind_of_change_is_told(void **state)
{
  (void)state;
  expect(JOB, HEAD "gravity: [0, 0, -1.62]\n" SAND "bodies:\n  " BED "\n  " BALL "\n", "gravity: [0, 0, -9.81] -> [0, 0, -1.62] (line 5)\n");
  expect(JOB, HEAD SAND "bodies:\n  " BED "\n", "bodies.ball: {kind: rigid, shape: {sphere: {center: [0, 0, 1], radius: 0.5}}, material: sand, velocity: [0, 0, 0]} -> - (line 0)\n");
  expect(HEAD SAND "bodies: {" BED "}", JOB,
         "bodies.ball: - -> {kind: rigid, shape: {sphere: {center: [0, 0, 1], radius: 0.5}}, material: sand, velocity: [0, 0, 0]} (line 8)\n");
  expect(JOB, HEAD "materials: {sand: {model: rigid, density: 1600}}\nbodies:\n  " BED "\n  " BALL "\n",
         "materials.sand: {model: drucker_prager, density: 1600, youngs_modulus: 1e6, poisson_ratio: 0.3, friction_angle_deg: 30, hardening: false} -> "
         "{model: rigid, density: 1600} (line 5)\n");
  assert_no_leak();
}

static void test_what_may_change_says_so_for_all_below(void **state)
{
  (void)state;
  expect(JOB, "stickslip: 1\nformulation: penalty\nname: test\ntime: {end: 2, step: 0.25}\n" SAND "bodies:\n  " BED "\n  " BALL "\nsolver: {linear: {method: cg}}\n",
         "may time.end: 1 -> 2 (line 4)\ntime.step: 0.5 -> 0.25 (line 4)\nmay solver.linear: {method: gmres, restart: 20} -> {method: cg} (line 9)\n");
  assert_no_leak();
}

static void test_long_values_are_cut(void **state)
{
  char job[8000], text[8192] = "";
  (void)state;
  document *a, *b;
  snprintf(job, sizeof job, "stickslip: 1\nformulation: penalty\nname: %0500d\n%s", 0, strstr(JOB, "time:"));
  assert_ok(document_create(&a));
  assert_ok(document_create(&b));
  assert_ok(key_table_compare(&job_table, resolve(a, JOB), resolve(b, job), list, text));
  assert_true(strlen(text) < 300);
  assert_non_null(strstr(text, "000... (line 3)"));
  document_destroy(&a);
  document_destroy(&b);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_other_words_are_no_change), cmocka_unit_test(test_every_kind_of_change_is_told),
          cmocka_unit_test(test_what_may_change_says_so_for_all_below), cmocka_unit_test(test_long_values_are_cut))
