/* What a formulation does not use: kinds of bodies and keys that are errors, and keys that are accepted, reported and without effect. */
#include "test.h"
#include <string.h>
#include "app/job/job.h"
#include "discretize/body_kinds.h"
#include "sim/formulations.h"

#define HEAD "stickslip: 1\nname: box\ntime: {end: 1, step: 1.0e-3}\nmaterials: {wood: {model: rigid, density: 700}}\n"
#define BOX "bodies:\n  box: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}\n"

static job *read_job(const char *text, const char *name, diagnostics **d)
{
  char              set[100];
  job              *j;
  const char *const sets[] = {set};
  snprintf(set, sizeof set, "formulation=%s", name);
  assert_ok(diagnostics_create(d));
  assert_ok(job_read_text("job", text, 1, sets, *d, &j));
  return j;
}

static int count_notices(const job *j, const char *what)
{
  int n = 0;
  for (int i = 0; i < diagnostics_count(j->notices); ++i) n += strstr(diagnostics_text(j->notices, i), what) != NULL;
  return n;
}

/* One job with blocks for all formulations: each uses its own block only, reports the others, and keeps their defaults. */
static void test_blocks_of_other_formulations(void **state)
{
  static const char text[] = HEAD BOX "contact: {friction: 0.3, stiffness: 1.0e4, overlap_correction: 0.1}\n"
                                      "solver: {penalty: {expert: {scheme: lagged_contact}}, exact: {friction_stall_tolerance: 0.5}, "
                                      "convex: {expert: {max_iterations: 7}}, "
                                      "hybrid: {integrator: symplectic}, monolith: {max_outer_iterations: 7}}\n";
  (void)state;
  for (int i = 0; i < N_FORMULATIONS; ++i) {
    const char  *name = formulation_names[i];
    diagnostics *d;
    char         own[60];
    job         *j = read_job(text, name, &d);
    if (!j) fail_msg("%s: %s", name, diagnostics_text(d, 0));
    snprintf(own, sizeof own, "solver.%s: ", name);
    assert_int_equal(count_notices(j, ": solver."), 4);
    assert_int_equal(count_notices(j, own), 0);
    const bool has_springs  = !strcmp(name, "penalty") || !strcmp(name, "convex"),
               is_corrected = !strcmp(name, "exact") || !strcmp(name, "monolith");
    assert_int_equal(count_notices(j, "job:7:37: contact.stiffness: not used by formulation"), has_springs ? 0 : 1);
    assert_int_equal(count_notices(j, "contact.overlap_correction: not used"), is_corrected ? 0 : 1);
    const solver_options *o = j->scene.solver;
    assert_true((o->monolith->max_outer_iterations == 7) == !strcmp(name, "monolith"));
    assert_true((o->convex->sap.max_iterations == 7) == !strcmp(name, "convex"));
    assert_true((o->hybrid->integrator == HYBRID_SYMPLECTIC) == !strcmp(name, "hybrid"));
    assert_true(isnan(j->scene.contact->stiffness) == !has_springs);
    assert_true((strstr(j->resolved, "integrator: symplectic") != NULL) == !strcmp(name, "hybrid"));
    /* the resolved job has no unused keys */
    diagnostics *again;
    job         *copy = read_job(j->resolved, name, &again);
    if (!copy) fail_msg("%s: %s", name, diagnostics_text(again, 0));
    assert_int_equal(diagnostics_count(copy->notices), 0);
    assert_string_equal(copy->resolved, j->resolved);
    job_destroy(&copy), diagnostics_destroy(&again);
    job_destroy(&j), diagnostics_destroy(&d);
  }
  assert_no_leak();
}

/* Blocks of other formulations are validated. */
static void test_unused_blocks_are_validated(void **state)
{
  diagnostics *d;
  (void)state;
  assert_null(read_job(HEAD BOX "contact: {friction: 0.3}\nsolver: {hybrid: {integrator: euler}}\n", "exact", &d));
  assert_int_equal(diagnostics_count(d), 1);
  assert_string_equal(diagnostics_text(d, 0),
                      "job:8:31: solver.hybrid.integrator: expected one of backward_euler or symplectic, got \"euler\"");
  diagnostics_destroy(&d);
  assert_no_leak();
}

static void test_errors(void **state)
{
  static const struct {
    const char *name, *more, *wanted;
  } cases[] = {
      {"penalty", "  arm: {kind: articulated}\n",
       "job:7:15: bodies.arm.kind: formulation penalty does not support kind articulated: "
       "its springs act on nodes, particles and rigid bodies; use formulation exact or convex"},
      {"hybrid", "  arm: {kind: rod}\n", "formulation hybrid does not support kind rod"},
      {"convex", "contact: {friction: 0.3, restitution: 0.5}\n",
       "job:7:39: contact.restitution: not supported by formulation convex: restitution is determined by solver.convex.relaxation_time; "
       "remove it"},
      {"exact", "contact: {friction: 0.3, pairs: [{between: [box, box], friction_direction: [1, 0, 0]}]}\n",
       "job:7:76: contact.pairs[0].friction_direction: not supported by formulation exact: its friction cones are circular; remove it"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    char         text[1000];
    diagnostics *d;
    bool         is_said = false;
    snprintf(text, sizeof text, HEAD BOX "%s", cases[k].more);
    assert_null(read_job(text, cases[k].name, &d));
    for (int i = 0; i < diagnostics_count(d); ++i) is_said |= strstr(diagnostics_text(d, i), cases[k].wanted) != NULL;
    if (!is_said) fail_msg("wanted %s, got %s", cases[k].wanted, diagnostics_count(d) ? diagnostics_text(d, 0) : "nothing");
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

/* Every kind that a formulation declares exists, and every kind is supported by a formulation. */
static void test_kinds_exist(void **state)
{
  bool is_supported[32] = {false};
  int  n_kinds = 0, n_words = 0;
  (void)state;
  while (body_kinds[n_kinds]) ++n_kinds;
  for (int i = 0; i < N_FORMULATIONS; ++i) {
    char words[200];
    snprintf(words, sizeof words, "%s", formulations[i]->scene.kinds);
    for (const char *word = strtok(words, " "); word; word = strtok(NULL, " "), ++n_words) {
      int k = 0;
      while (k < n_kinds && strcmp(body_kinds[k]->name, word) != 0) ++k;
      if (k == n_kinds) fail_msg("%s declares the unknown kind %s", formulation_names[i], word);
      is_supported[k] = true;
    }
  }
  for (int k = 0; k < n_kinds; ++k)
    if (!is_supported[k]) fail_msg("no formulation supports kind %s", body_kinds[k]->name);
  assert_true(n_words > n_kinds);
}

TEST_MAIN(cmocka_unit_test(test_blocks_of_other_formulations), cmocka_unit_test(test_unused_blocks_are_validated),
          cmocka_unit_test(test_errors), cmocka_unit_test(test_kinds_exist))
