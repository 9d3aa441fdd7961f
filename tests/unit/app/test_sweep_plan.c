/* Expansion of sweep files: values, order, ids and overrides of the cases. */
#include "sweep_fixture.h"
#include "core/key_table.h"
#include "app/job/job.h"

static const char *value_of(const sweep_plan *plan, int64_t i, const char *name)
{
  for (int k = 0; k < plan->n_parameters; ++k)
    if (!strcmp(plan->parameter[k], name)) return plan->cases[i].value[k];
  fail_msg("no parameter %s", name);
  return NULL;
}

static const char *setting_of(const sweep_plan *plan, int64_t i, const char *key)
{
  for (int k = 0; k < plan->n_settings; ++k)
    if (!strcmp(plan->setting[k], key)) return plan->cases[i].overrides[k] + strlen(key) + 1;
  fail_msg("%s is not set", key);
  return NULL;
}

static void assert_values(const char *text, const char *name, int n, const char *const *expected)
{
  sweep_plan *plan = sweep_good(text);
  assert_int_equal(plan->n_cases, n);
  for (int i = 0; i < n; ++i) assert_string_equal(value_of(plan, i, name), expected[i]);
  sweep_plan_destroy(&plan);
}
#define VALUES(text, name, ...)                                                                                                            \
  assert_values(text, name, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static void the_table_is_sound(void **state)
{
  (void)state;
  diagnostics *d;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&sweep_file_table, d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
}

static void values_of_lists_and_ranges(void **state)
{
  (void)state;
  VALUES("vary: {contact.friction: [0.10, 2.0e-1, 1, 1e3]}\n", "contact.friction", "0.1", "0.2", "1", "1000");
  VALUES("vary: {contact.friction: {range: {from: 0.1, to: 0.5, count: 5}}}\n", "contact.friction", "0.1", "0.2", "0.3", "0.4", "0.5");
  VALUES("vary: {contact.friction: {range: {from: 0.1, to: 0.5, step: 0.1}}}\n", "contact.friction", "0.1", "0.2", "0.3", "0.4", "0.5");
  VALUES("vary: {contact.friction: {range: {from: 4, to: 1, step: -1}}}\n", "contact.friction", "4", "3", "2", "1");
  VALUES("vary: {contact.friction: {range: {from: 0, to: 1, step: 0.4}}}\n", "contact.friction", "0", "0.4", "0.8");
  VALUES("vary: {contact.stiffness: {log: {from: 1e3, to: 1e6, count: 4}}}\n", "contact.stiffness", "1000", "10000", "100000", "1000000");
  VALUES("vary: {s: [9007199254740993, 1e6, 2.0]}\nset: {description: \"{s}\"}\n", "s", "9007199254740993", "1000000", "2"); /* 2^53 + 1 */
  VALUES("vary: {bodies.ball.material: [steel, \"ice\"]}\n", "bodies.ball.material", "steel", "ice");
  VALUES("vary: {gravity: [[0, 0, -9.81], [0, 0, -1.620]]}\n", "gravity", "[0, 0, -9.81]", "[0, 0, -1.62]");
}

/* The last dimension varies fastest, and repeat is last; zip is one dimension; filters omit cases. */
static void the_product_is_in_order(void **state)
{
  (void)state;
  sweep_plan *plan = sweep_good("vary:\n  a: [1, 2]\n  z: {zip: {mu: [0.1, 0.2, 0.3], k: [10, 20, 30]}}\nwhere: [\"a*mu < 0.5\"]\n"
                                "set: {contact.friction: mu, contact.stiffness: a*k + repeat}\nrepeat: {count: 2, first: 5}\n");
  static const char *const a[] = {"1", "1", "1", "2", "2"}, *const mu[] = {"0.1", "0.2", "0.3", "0.1", "0.2"},
                           *const k[] = {"10", "20", "30", "20", "40"};
  assert_int_equal(plan->n_cases, 10);
  assert_int_equal(plan->n_filtered, 2);
  assert_int_equal(plan->n_varied, 4);
  assert_string_equal(plan->parameter[3], "repeat");
  for (int i = 0; i < 10; ++i) {
    char stiffness[32];
    snprintf(stiffness, sizeof stiffness, "%d", atoi(k[i / 2]) + 5 + i % 2);
    assert_int_equal(plan->cases[i].number, i + 1);
    assert_string_equal(value_of(plan, i, "a"), a[i / 2]);
    assert_string_equal(setting_of(plan, i, "contact.friction"), mu[i / 2]);
    assert_string_equal(setting_of(plan, i, "contact.stiffness"), stiffness);
  }
  sweep_plan_destroy(&plan);
}

/* Derived parameters in any order with all digits; lists with expressions; texts with parameters. */
static void settings(void **state)
{
  (void)state;
  sweep_plan *plan = sweep_good("vary: {a: [0.1, 3]}\nlet: {late: early*2, early: a*3}\n"
                                "set:\n  contact.friction: late\n  bodies.ball.shape.sphere.center: [0, -a, \"late+1\"]\n"
                                "  description: \"a = {a}, {not a parameter\"\n  bodies.ball.material: ice\n  output.keep: 4\n");
  assert_string_equal(value_of(plan, 0, "early"), "0.30000000000000004"); /* 0.1*3 in binary */
  assert_string_equal(setting_of(plan, 0, "contact.friction"), "0.6000000000000001");
  assert_string_equal(setting_of(plan, 1, "contact.friction"), "18");
  assert_string_equal(setting_of(plan, 0, "bodies.ball.shape.sphere.center"), "[0, -0.1, 1.6]");
  assert_string_equal(setting_of(plan, 1, "description"), "\"a = 3, {not a parameter\"");
  assert_string_equal(setting_of(plan, 1, "bodies.ball.material"), "ice");
  assert_int_equal(plan->n_varied, 1);
  assert_int_equal(plan->n_parameters, 3);
  sweep_plan_destroy(&plan);
}

/* Samples are in their intervals, uniform in the logarithm if requested; a longer Sobol sequence contains the shorter one. */
static void samples(void **state)
{
  (void)state;
  static const char *const file =
      "vary: {z: {%s: {count: %d, of: {contact.friction: [0.2, 0.6], contact.stiffness: {from: 1, to: 10000, log: true}}}}}\n";
  char        text[300];
  sweep_plan *plan[3];
  for (int i = 0; i < 3; ++i) {
    snprintf(text, sizeof text, file, i < 2 ? "sobol" : "latin_hypercube", i == 1 ? 32 : 16);
    plan[i] = sweep_good(text);
    assert_int_equal(plan[i]->n_cases, i == 1 ? 32 : 16);
    int below[2] = {0};
    for (int64_t k = 0; k < plan[i]->n_cases; ++k) {
      const double mu = atof(value_of(plan[i], k, "contact.friction")), stiffness = atof(value_of(plan[i], k, "contact.stiffness"));
      assert_true(mu >= 0.2 && mu < 0.6 && stiffness >= 1 && stiffness < 10000);
      below[0] += mu < 0.4;
      below[1] += stiffness < 100;
    }
    for (int k = 0; k < 2; ++k) assert_int_equal(2 * below[k], plan[i]->n_cases);
  }
  for (int64_t k = 0; k < 16; ++k) assert_string_equal(plan[0]->cases[k].id, plan[1]->cases[k].id);
  assert_string_equal(value_of(plan[0], 0, "contact.friction"), "0.2"); /* first Sobol points: lower corner, centre */
  assert_string_equal(value_of(plan[0], 1, "contact.friction"), "0.4");
  assert_string_equal(value_of(plan[0], 1, "contact.stiffness"), "100");
  for (int i = 0; i < 3; ++i) sweep_plan_destroy(&plan[i]);
}

/* Paths are relative to their file; the job reads the values of the plan. */
static void overrides_are_read_by_jobs(void **state)
{
  (void)state;
  sweep_plan *plan = sweep_good("vary: {gravity: [[0, 0, -9.81], [0.1, 0, -3]], materials.steel: [{model: rigid, density: 7.8e3}], "
                                "description: [\"a: b, c\", '3', it's]}\n");
  assert_int_equal(plan->n_cases, 6);
  for (int64_t i = 0; i < plan->n_cases; ++i) {
    diagnostics *d;
    job         *j;
    assert_ok(diagnostics_create(&d));
    assert_ok(job_read_text("base", plan->base_text, plan->cases[i].n_overrides, plan->cases[i].overrides, d, &j));
    if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
    diagnostics_destroy(&d);
    assert_true(j->scene.gravity[2] == (i < 3 ? -9.81 : -3.0));
    assert_string_equal(j->description, i % 3 == 0 ? "a: b, c" : i % 3 == 1 ? "3" : "it's");
    job_destroy(&j);
  }
  sweep_plan_destroy(&plan);
}

/* The id of a case depends on the varied values, not on the order of the file or the notation of numbers. */
static void identity(void **state)
{
  (void)state;
  sweep_plan *one = sweep_good("vary: {contact.friction: [0.1, 0.2], contact.stiffness: [1000, 2000]}\n");
  sweep_plan *two = sweep_good("vary: {contact.stiffness: [2e3, 1.0e3, 5], contact.friction: [1e-1]}\n");
  assert_string_equal(one->cases[0].id, two->cases[1].id);
  assert_string_equal(one->cases[1].id, two->cases[0].id);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < i; ++k) assert_string_not_equal(one->cases[i].id, one->cases[k].id);
  assert_int_equal(strlen(one->cases[0].id), SWEEP_ID - 1);
  sweep_plan_destroy(&one);
  sweep_plan_destroy(&two);
}

TEST_MAIN(cmocka_unit_test(the_table_is_sound), cmocka_unit_test_setup_teardown(values_of_lists_and_ranges, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(the_product_is_in_order, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(settings, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(samples, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(overrides_are_read_by_jobs, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(identity, sweep_setup, sweep_teardown))
