/* Results of a sweep: states, the table of gather, status and retry, from result.yaml files of known content. */
#include "app/sweep/sweep_results.h"
#include "core/csv.h"
#include "io/sealed_file.h"
#include "sweep_fixture.h"

static char dir[TEMPORARY_ROOM + 16];

/* Four cases: 1 finished, 2 failed, 3 stopped, 4 not started. */
static int setup(void **state)
{
  sweep_setup(state);
  snprintf(dir, sizeof dir, "%s/out", sweep_folder);
  diagnostics *d;
  int64_t      n_new;
  sweep_plan  *plan = sweep_good("vary: {contact.friction: [0.1, 0.2], what: [one, two]}\nset: {description: what}\n");
  assert_ok(diagnostics_create(&d));
  assert_ok(sweep_folder_update(dir, plan, d, &n_new));
  diagnostics_destroy(&d);
  sweep_plan_destroy(&plan);
  assert_int_equal(n_new, 4);
  run_result_measure m    = {.unit = "m", .n = 3, .last = 2, .min = -1, .max = 4, .mean = 1.5};
  key_item           item = {.name = "height", .value = &m};
  for (int i = 1; i <= 3; ++i) {
    char       folder[4300];
    run_result r = {.result = 1, .job = "small", .program = "p", .host = "h", .begun = "b", .updated = "u", .threads = 1, .starts = 1};
    r.status     = i == 1 ? RUN_FINISHED : i == 2 ? RUN_FAILED : RUN_STOPPED;
    r.reason     = i == 1 ? "end of time" : i == 2 ? "diverged" : "a signal";
    r.exit_code  = i == 1 ? 0 : i == 2 ? 4 : 75;
    r.step       = 10 * i;
    r.seconds    = 0.5 * i;
    if (i == 1) r.measures = (key_list){.n = 1, .item = &item};
    sweep_folder_case(dir, i, sizeof folder, folder);
    assert_ok(file_make_directory(folder));
    assert_ok(run_result_write(folder, &r));
  }
  return 0;
}

static void results_have_states(void **state)
{
  (void)state;
  static const case_state expected[4] = {CASE_FINISHED, CASE_FAILED, CASE_STOPPED, CASE_WAITING};
  sweep_results          *r;
  assert_ok(sweep_results_read(dir, &r));
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(r->state[i], expected[i]);
    assert_int_equal(r->n_state[expected[i]], 1);
  }
  assert_int_equal(r->n_state[CASE_RUNNING], 0);
  assert_string_equal(case_state_names[r->state[1]], "failed");
  assert_int_equal(r->result[2]->step, 30);
  assert_null(r->result[3]);
  sweep_results_destroy(&r);
}

/* Cells of cases without a result are empty. */
static void table_has_one_row_per_case(void **state)
{
  (void)state;
  static const char *const expected[5][10] = {
      {"number", "status", "contact.friction", "what", "height.last [m]", "height.mean [m]", "reason", "exit_code", "seconds [s]", "step"},
      {"1", "finished", "0.1", "one", "2", "1.5", "end of time", "0", "0.5", "10"},
      {"2", "failed", "0.1", "two", "", "", "diverged", "4", "1", "20"},
      {"3", "stopped", "0.2", "one", "", "", "a signal", "75", "1.5", "30"},
      {"4", "waiting", "0.2", "two", "", "", "", "", "", ""}};
  char      path[TEMPORARY_ROOM + 64], *text;
  size_t    n;
  int64_t   n_cases, n_finished;
  csv_table t;
  assert_ok(sweep_gather(dir, &n_cases, &n_finished));
  assert_int_equal(n_cases, 4);
  assert_int_equal(n_finished, 1);
  snprintf(path, sizeof path, "%s/results.csv", dir);
  assert_ok(file_read_text(path, &text, &n));
  assert_ok(csv_read(path, text, &t));
  assert_int_equal(t.n_rows, 5);
  for (int k = 0; k < 10; ++k) {
    int column = 0;
    while (column < t.n_columns && strcmp(t.cell[column], expected[0][k])) ++column;
    if (column == t.n_columns) fail_msg("no column %s", expected[0][k]);
    for (int i = 1; i < 5; ++i) assert_string_equal(t.cell[i * t.n_columns + column], expected[i][k]);
  }
  csv_clear(&t);
  memory_free(&text);
  snprintf(path, sizeof path, "%s/results.h5", dir);
  assert_int_equal(access(path, R_OK), 0);
}

static void assert_status(bool all, const char *expected)
{
  char   text[4096];
  FILE  *out = tmpfile();
  size_t n;
  assert_non_null(out);
  assert_ok(sweep_status(dir, all, out));
  rewind(out);
  n       = fread(text, 1, sizeof text - 1, out);
  text[n] = '\0';
  fclose(out);
  if (!strstr(text, expected)) fail_msg("does not contain \"%s\":\n%s", expected, text);
}

static void status_counts_cases(void **state)
{
  (void)state;
  assert_status(false,
                ": 4 cases of s\n  finished       1\n  failed         1  run them again with `stickslip sweep retry`\n"
                "  stopped        1  to be continued\n  waiting        1  not started\n  3.0 s total wall time, 1 s per started case\n");
  assert_status(false, "\ncase 2 failed: contact.friction=0.1 what=two\n  diverged\n");
  assert_status(true, "     2  failed                        20       1.00  contact.friction=0.1 what=two  diverged\n");
}

/* Only failed cases with a given number are marked. */
static void failed_cases_are_marked(void **state)
{
  (void)state;
  const int64_t  others[2] = {1, 3};
  int64_t        n_marked;
  sweep_results *r;
  assert_ok(sweep_retry(dir, 2, others, false, &n_marked));
  assert_int_equal(n_marked, 0);
  assert_ok(sweep_retry(dir, 0, NULL, false, &n_marked));
  assert_int_equal(n_marked, 1);
  assert_ok(sweep_results_read(dir, &r));
  assert_int_equal(r->state[1], CASE_STOPPED);
  assert_string_equal(r->result[1]->reason, "marked for retry after: diverged");
  assert_int_equal(r->n_state[CASE_STOPPED], 2);
  sweep_results_destroy(&r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sweep_teardown)
TEST_MAIN(TEST(results_have_states), TEST(table_has_one_row_per_case), TEST(status_counts_cases), TEST(failed_cases_are_marked))
