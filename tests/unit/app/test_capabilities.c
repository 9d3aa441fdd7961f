/* What a formulation does not use: kinds of bodies and keys that are errors, and keys that are accepted, reported and without effect. */
#include "test.h"
#include <string.h>
#include "app/job/capabilities.h"
#include "app/job/job.h"
#include "discretize/body_kinds.h"
#include "io/yaml.h"
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
  static const char text[] =
      HEAD          BOX "contact: {friction: 0.3, stiffness: 1.0e4, overlap_correction: 0.1}\n"
                        "solver: {penalty: {expert: {scheme: lagged_contact}}, exact: {expert: {friction_stall_tolerance: 0.5}}, "
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

static bool is_in(const char *list, const char *word)
{
  char words[200];
  snprintf(words, sizeof words, "%s", list);
  for (const char *w = strtok(words, " "); w; w = strtok(NULL, " "))
    if (!strcmp(w, word)) return true;
  return false;
}

/* Kinds of bodies and blocks of `solver:` of each formulation, as its method defines them: articulated bodies and fibres need rows
 * with a contact law or springs at nodes, the grid of mac is solved by monolith only, friction problems by exact only, and linear
 * systems are selected for penalty only. */
static void test_declarations(void **state)
{
  static const struct {
    const char *name, *kinds, *solver;
  } expected[]                      = {{"penalty", "mpm fem cloth rod rigid kinematic static", "newton linear petsc penalty"},
                                       {"convex", "mpm fem cloth rod articulated rigid kinematic static", "newton petsc convex"},
                                       {"exact", "mpm fem cloth rod articulated rigid kinematic static", "newton friction petsc exact"},
                                       {"hybrid", "mpm fem cloth rigid kinematic static", "newton friction petsc hybrid"},
                                       {"monolith", "mac rigid kinematic static", "newton petsc monolith"}};
  static const char *const blocks[] = {"newton", "linear", "friction", "petsc", "penalty", "convex", "exact", "hybrid", "monolith"};
  (void)state;
  assert_int_equal(N_FORMULATIONS, 5);
  for (int i = 0; i < 5; ++i) {
    const scene_formulation *f = NULL;
    for (int k = 0; k < N_FORMULATIONS; ++k)
      if (!strcmp(formulations[k]->scene.name, expected[i].name)) f = &formulations[k]->scene;
    assert_non_null(f);
    for (const body_kind *const *k = body_kinds; *k; ++k) {
      char         text[1000];
      diagnostics *d;
      bool         is_rejected = false;
      snprintf(text, sizeof text, HEAD BOX "  other: {kind: %s}\n", (*k)->name);
      job *j = read_job(text, f->name, &d);
      for (int n = 0; n < diagnostics_count(d); ++n) is_rejected |= strstr(diagnostics_text(d, n), "does not support kind") != NULL;
      if (is_rejected == is_in(expected[i].kinds, (*k)->name)) fail_msg("%s: kind %s", f->name, (*k)->name);
      job_destroy(&j), diagnostics_destroy(&d);
    }
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; ++k)
      if (is_in(f->solver, blocks[k]) != is_in(expected[i].solver, blocks[k])) fail_msg("%s: solver.%s", f->name, blocks[k]);
  }
  assert_no_leak();
}

/* A misspelt kind is an error of the key, not of the formulation. */
static void test_unknown_kind(void **state)
{
  diagnostics *d;
  (void)state;
  assert_null(read_job(HEAD BOX "  other: {kind: rigit}\n", "hybrid", &d));
  for (int i = 0; i < diagnostics_count(d); ++i) assert_null(strstr(diagnostics_text(d, i), "does not support"));
  assert_true(diagnostics_count(d) > 0);
  diagnostics_destroy(&d);
  assert_no_leak();
}

/* Words and keys are compared as a whole, and every entry of a list is visited. */
static void test_words_and_lists(void **state)
{
  static const unused_key unused[]      = {{"contact.friction", "reason one", false}, {"contact.pairs.stiffness", "reason two", true}, {0}};
  static const scene_formulation f      = {.name = "new", .kinds = "rigid", .solver = "newton_extra my_linear convex", .unused = unused};
  static const char              text[] = "solver: {newton: {}, linear: {}, convex: {}, no_block: {}}\n"
                                          "contact: {friction_direction: 1, pairs: [{stiffness: 1}, {other: 2}, {stiffness: 3}]}\n";
  document                      *doc;
  diagnostics                   *d, *notices;
  (void)state;
  assert_ok(document_create(&doc));
  assert_ok(diagnostics_create(&d));
  assert_ok(diagnostics_create(&notices));
  assert_ok(yaml_read_text("job", text, strlen(text), doc, d));
  capabilities_check(&f, document_root(doc), d, notices);
  assert_int_equal(diagnostics_count(d), 0);
  assert_int_equal(diagnostics_count(notices), 4);
  static const char *const expected[] = {
      "job:1:22: solver.linear: not used by formulation new, only by penalty",
      "job:1:10: solver.newton: not used by formulation new, only by penalty, exact, monolith, convex or hybrid",
      "job:2:54: contact.pairs[0].stiffness: not used by formulation new: reason two",
      "job:2:82: contact.pairs[2].stiffness: not used by formulation new: reason two"};
  for (int i = 0; i < 4; ++i) {
    bool is_reported = false;
    for (int k = 0; k < 4; ++k) is_reported |= !strcmp(diagnostics_text(notices, k), expected[i]);
    if (!is_reported) fail_msg("expected %s, got %s", expected[i], diagnostics_text(notices, i));
  }
  capabilities_prune(&f, document_root(doc));
  const document_node *solver = document_find(document_root(doc), "solver");
  assert_int_equal(solver->n, 2);
  assert_true(document_find(solver, "convex") && document_find(solver, "no_block"));
  diagnostics_destroy(&notices), diagnostics_destroy(&d);
  document_destroy(&doc);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_blocks_of_other_formulations), cmocka_unit_test(test_unused_blocks_are_validated),
          cmocka_unit_test(test_errors), cmocka_unit_test(test_declarations), cmocka_unit_test(test_unknown_kind),
          cmocka_unit_test(test_words_and_lists))
