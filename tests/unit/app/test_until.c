/* Conditions that end a run, step by step, and over a restart. */
#include "io_fixture.h"
#include <string.h>
#include "app/job/job.h"
#include "core/diagnostics.h"
#include "discretize/rigid/rigid_body.h"
#include "app/job/until.h"
#include "sim/scene/scene.h"

static const char *const text = "stickslip: 1\nname: die\ngravity: [0, 0, 0]\ntime: {end: 1, step: 0.1}\n"
                                "materials: {steel: {model: rigid, density: 1}}\n"
                                "bodies: {die: {kind: rigid, material: steel, shape: {box: {min: [-1, -1, -1], max: [1, 1, 1]}}}}\n"
                                "measure:\n"
                                "  x: {quantity: position, body: die, direction: [1, 0, 0]}\n"
                                "  seldom: {quantity: position, body: die, direction: [1, 0, 0], every: 0.5}\n"
                                "  none: {quantity: contact_extent, body: die}\n";

typedef struct {
  char         dir[256];
  diagnostics *d;
  job         *j;
  scene       *s;
  field_table *table;
  named_state *named_state;
  measures    *m;
  until       *u;
} world;

static const contact_points  no_points;
static const formulation_ops fake_ops = {.scene = {.name = "fake"}};
static formulation           fake     = {.ops = &fake_ops, .points = &no_points};

static void start(world *w, const char *conditions)
{
  char set[300] = "until=";
  memset(w, 0, sizeof *w);
  strcat(set, conditions);
  folder_make(w->dir);
  assert_ok(diagnostics_create(&w->d));
  assert_ok(job_read_text("job", text, 1, (const char *const[]){set}, w->d, &w->j));
  if (!w->j) fail_msg("%s", diagnostics_text(w->d, 0));
  assert_ok(scene_create(PETSC_COMM_SELF, &w->j->scene, w->d, &w->s));
  assert_ok(field_table_create(&w->table));
  assert_ok(named_state_create(w->table, &w->named_state));
  assert_ok(measures_create(w->s, &w->j->measure, &fake, w->named_state, &w->m));
  assert_ok(measures_open(w->m, w->dir, -1, &(sim_clock){0, 0.0, 0.1}));
  assert_ok(until_create(&w->j->until, &w->j->measure, w->m, w->named_state, w->s->warnings, &w->u));
}

static void stop(world *w)
{
  until_destroy(&w->u);
  assert_ok(measures_destroy(&w->m));
  named_state_destroy(&w->named_state);
  field_table_destroy(&w->table);
  scene_destroy(&w->s);
  job_destroy(&w->j);
  diagnostics_destroy(&w->d);
  folder_remove(w->dir);
}

/* True if the run ends at step i with measure x. */
static bool step_to(world *w, int64_t i, double x)
{
  const sim_clock   now     = {i, 0.1 * (double)i, 0.1};
  const step_report nothing = {0};
  bool              is_met;
  char              what[100];
  rigid_body_of(w->s->bodies[0].body)->c[0] = x;
  assert_ok(measures_record(w->m, &now, &nothing));
  assert_ok(until_step(w->u, &now, &is_met));
  assert_int_equal(is_met, until_met(w->u, sizeof what, what));
  return is_met;
}

/* The step at which the run ends for x = 1, 2, 3, ... (or for `path`). */
static int64_t end_of(const char *conditions, const double *path, int n)
{
  world   w;
  int64_t end = -1;
  start(&w, conditions);
  for (int64_t i = 1; i <= n && end < 0; ++i)
    if (step_to(&w, i, path ? path[i - 1] : (double)i)) end = i;
  stop(&w);
  assert_no_leak();
  return end;
}

static void ends_at_the_expected_step(void **state)
{
  (void)state;
  assert_int_equal(end_of("[]", NULL, 20), -1);
  assert_int_equal(end_of("x > 3.5", NULL, 20), 4);
  assert_int_equal(end_of("\"x > 3.5 ? t > 0.65 : 0\"", NULL, 20), 7);
  assert_int_equal(end_of("[x > 9, step == 6]", NULL, 20), 6);
  assert_int_equal(end_of("{when: \"1\", after: 0.7}", NULL, 20), 7);
  /* between its records at 0.5 s and 1 s a measure has its last value */
  assert_int_equal(end_of("seldom > 4", NULL, 20), 5);
  assert_int_equal(end_of("seldom > 6", NULL, 20), 10);
  assert_int_equal(end_of("seldom < 1", NULL, 4), -1); /* no record yet */
  /* NaN: neither the condition nor its negation is true */
  assert_int_equal(end_of("[none < 1, none >= 1, none == 1, none]", NULL, 20), -1);
}

static void must_be_true_without_interruption(void **state)
{
  (void)state;
  const double path[12] = {0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1};
  assert_int_equal(end_of("{when: x > 0, for: 0.1}", path, 12), 3);
  assert_int_equal(end_of("{when: x > 0, for: 0.2}", path, 12), 7);
  assert_int_equal(end_of("{when: x > 0, for: 0.15}", path, 12), 7);
  assert_int_equal(end_of("{when: x > 0, for: 0.5}", path, 12), -1);
  assert_int_equal(end_of("{when: x > 0, for: 0.2, after: 0.65}", path, 12), 9); /* true from then on */
}

/* The object is created again from the stored numbers after every step: no difference. A changed condition starts anew. */
static void outlives_a_resume(void **state)
{
  (void)state;
  world w;
  char  what[100];
  start(&w, "{when: x > 0, for: 0.3}");
  for (int64_t i = 1; i <= 4; ++i) {
    assert_int_equal(step_to(&w, i, 1.0), i == 4);
    until_destroy(&w.u);
    assert_ok(until_create(&w.j->until, &w.j->measure, w.m, w.named_state, w.s->warnings, &w.u));
  }
  assert_true(until_met(w.u, sizeof what, what));
  assert_string_equal(what, "x > 0 for 0.3 s");
  job               *other;
  static const char *set = "until={when: x > 0, for: 0.4}";
  assert_ok(job_read_text("job", text, 1, &set, w.d, &other));
  until_destroy(&w.u);
  assert_ok(until_create(&other->until, &other->measure, w.m, w.named_state, w.s->warnings, &w.u));
  assert_false(until_met(w.u, sizeof what, what));
  for (int64_t i = 5; i <= 9; ++i) assert_int_equal(step_to(&w, i, 1.0), i == 9);
  until_destroy(&w.u);
  job_destroy(&other);
  stop(&w);
  assert_no_leak();
}

/* Overflow and undefined values of an expression are reported once; measures without a value are not errors. */
static void reports_values_that_are_not_finite(void **state)
{
  static const struct {
    const char *text;
    bool        is_reported;
  } cases[] = {{"\"exp(1e6*x) > 1\"", true}, {"sqrt(-x) < 0", true}, {"log(x - x)", true},
               {"x > 1e30", false},          {"none < 1", false},    {"none*x", false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    world w;
    start(&w, cases[i].text);
    const int before = warning_list_count(w.s->warnings);
    for (int64_t k = 1; k <= 3; ++k) (void)step_to(&w, k, (double)k);
    assert_int_equal(warning_list_count(w.s->warnings) - before, cases[i].is_reported);
    if (cases[i].is_reported) assert_string_equal(warning_list_code(w.s->warnings, before), "until-not-finite");
    stop(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(ends_at_the_expected_step), cmocka_unit_test(must_be_true_without_interruption),
          cmocka_unit_test(outlives_a_resume), cmocka_unit_test(reports_values_that_are_not_finite))
