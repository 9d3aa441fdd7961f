/* result.yaml, stages.csv and machine.yaml: written and read back bit for bit; damage is detected. */
#include "io_fixture.h"
#include "discretize/body/body_stages.h"
#include <float.h>
#include "core/diagnostics.h"
#include "io/sealed_file.h"
#include "sim/measure/measure_statistics.h"
#include "app/run/run_result.h"

static char dir[256];

static int setup(void **state)
{
  (void)state;
  folder_make(dir);
  return 0;
}
static int teardown(void **state)
{
  (void)state;
  folder_remove(dir);
  return 0;
}

static run_result_measure height = {
    .unit = "m", .n = 3, .last = 1.0 / 3.0, .min = -DBL_MIN, .max = DBL_MAX, .mean = 0.1 + 0.2, .time_of_min = 5e-324, .time_of_max = -0.0};
static run_result_measure nothing = {.unit = "N", .last = NAN, .min = NAN, .max = NAN, .mean = NAN, .time_of_min = NAN, .time_of_max = NAN};
static key_item           items[] = {{.name = "height", .value = &height}, {.name = "a: b # c", .value = &nothing}};
/* clang-format off */
static const run_result   one     = {
  .result = RUN_RESULT_FORMAT, .status = RUN_FAILED, .job = "no: \"quotes\" \\ # \xc3\xa4", .reason = "step 3 failed:\nnever", .exit_code = 4,
  .program = "stickslip 0.1.0 (abc)", .host = "12345", .threads = 2, .starts = 7, .begun = "2026-01-31T23:59:59Z", .updated = "2026-02-01T00:00:00Z",
  .step = 1000000007, .retries = 2, .time = 0.1, .seconds = 1e-300, .user_seconds = 123456789.123456789, .peak_resident_memory = 9007199254740992.0,
  .newton = 5, .linear = 6, .contacts = 7, .max_penetration = 1.0 / 7.0, .measures = {2, items}};
/* clang-format on */

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

static void table_is_sound(void **state)
{
  (void)state;
  diagnostics *d;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&run_result_table, d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  assert_no_leak();
}

static void reads_back_to_the_bit(void **state)
{
  (void)state;
  document         *owner;
  const run_result *r;
  assert_ok(run_result_read(dir, &owner, &r));
  assert_null(r), assert_null(owner); /* a missing file is not an error */
  assert_ok(run_result_write(dir, &one));
  assert_ok(run_result_read(dir, &owner, &r));
  assert_non_null(r);
#define TEXT(m) assert_string_equal(r->m, one.m)
#define WHOLE(m) assert_int_equal(r->m, one.m)
#define REAL(m) assert_true(same_bits(r->m, one.m))
  TEXT(job);
  TEXT(reason);
  TEXT(program);
  TEXT(host);
  TEXT(begun);
  TEXT(updated);
  WHOLE(result);
  WHOLE(status);
  WHOLE(exit_code);
  WHOLE(threads);
  WHOLE(starts);
  WHOLE(step);
  WHOLE(retries);
  WHOLE(newton);
  WHOLE(linear);
  WHOLE(contacts);
  REAL(time);
  REAL(seconds);
  REAL(user_seconds);
  REAL(peak_resident_memory);
  REAL(max_penetration);
  assert_int_equal(r->measures.n, 2);
  for (int i = 0; i < 2; ++i) {
    const run_result_measure *m = run_result_find(r, items[i].name), *w = items[i].value;
    assert_non_null(m);
    assert_string_equal(m->unit, w->unit);
    assert_int_equal(m->n, w->n);
    assert_true(same_bits(m->last, w->last) && same_bits(m->min, w->min) && same_bits(m->max, w->max) && same_bits(m->mean, w->mean));
    assert_true(same_bits(m->time_of_min, w->time_of_min) && same_bits(m->time_of_max, w->time_of_max));
  }
  assert_null(run_result_find(r, "heigh"));
  document_destroy(&owner);
  assert_no_leak();
}

/* Truncated files, flipped bits, and a newer format. */
static void damage_is_detected(void **state)
{
  (void)state;
  document         *owner;
  const run_result *r;
  char              path[512], *text;
  size_t            n;
  snprintf(path, sizeof path, "%s/result.yaml", dir);
  assert_ok(run_result_write(dir, &one));
  assert_ok(file_read_text(path, &text, &n));
  for (size_t k = 0; k < n; k += 7) {
    assert_ok(file_replace_text(path, k, text));
    expect_message(run_result_read(dir, &owner, &r), "result.yaml: is damaged");
    assert_null(r), assert_null(owner);
    text[k] ^= (char)(1 << k % 8);
    assert_ok(file_replace_text(path, n, text));
    expect_message(run_result_read(dir, &owner, &r), "result.yaml: is damaged");
    text[k] ^= (char)(1 << k % 8);
  }
  memory_free(&text);
  run_result newer = one;
  newer.result     = RUN_RESULT_FORMAT + 1;
  assert_ok(run_result_write(dir, &newer));
  expect_message(run_result_read(dir, &owner, &r), "newer stickslip");
  assert_null(r), assert_null(owner);
  assert_no_leak();
}

static void statistics_follow_their_definition(void **state)
{
  (void)state;
  measure_statistics s = MEASURE_STATISTICS_NONE;
  assert_true(isnan(s.last) && isnan(s.min) && isnan(measure_statistics_mean(&s)));
  const double values[] = {NAN, 2.0, -1.0, INFINITY, 5.0, -1.0, 5.0, NAN};
  for (int i = 0; i < 8; ++i) measure_statistics_add(&s, 0.1 * i, values[i]);
  assert_int_equal(s.n, 5);
  assert_true(isnan(s.last)); /* the last record, although not finite */
  assert_close(s.min, -1.0, 0);
  assert_close(s.time_of_min, 0.1 * 2, 0);
  assert_close(s.max, 5.0, 0);
  assert_close(s.time_of_max, 0.1 * 4, 0);
  assert_close(measure_statistics_mean(&s), 2.0, 0);
}

/* --- stages.csv, machine.yaml ----------------------------------------------------------------------------------------- */

static const run_stage *find(const run_stages *s, const char *name)
{
  for (int i = 0; i < s->n; ++i)
    if (strcmp(s->stage[i].name, name) == 0) return &s->stage[i];
  return NULL;
}

static void stages_are_summed_over_starts(void **state)
{
  (void)state;
  static run_stages past, back;
  folder_make(dir);
  assert_ok(run_stages_read(dir, &past));
  assert_int_equal(past.n, 0);
  run_stages_add(&past, timer_name(TIMER_OPERATOR), &(timer_record){1.5, 2e9, 3e9, 7});
  run_stages_add(&past, "a stage of another version", &(timer_record){0.25, 0, 0, 1});
  timer_reset();
  timer_begin(TIMER_OPERATOR);
  timer_end(TIMER_OPERATOR);
  timer_work(TIMER_OPERATOR, 1e9, 5e9);
  for (int start = 0; start < 2; ++start) { /* writing twice does not add the times twice */
    assert_ok(run_stages_write(dir, &past));
    assert_ok(run_stages_read(dir, &back));
    const run_stage *s = find(&back, timer_name(TIMER_OPERATOR));
    assert_non_null(s);
    assert_int_equal(s->record.n_calls, 8);
    assert_true(s->record.flops == 3e9 && s->record.bytes == 8e9);
    assert_true(s->record.seconds >= 1.5 && s->record.seconds < 2.5);
    assert_true(find(&back, "a stage of another version")->record.seconds == 0.25);
    assert_null(find(&back, timer_name(TIMER_SORT))); /* this stage was not entered */
  }
  folder_remove(dir);
  assert_no_leak();
}

static void malformed_tables_have_no_stages(void **state)
{
  (void)state;
  static const char *const texts[] = {
      "", "stage", "another,header\nx,1,1,1,1\n",
      "stage,seconds [s],calls,traffic [byte],operations\nx,1\ny,-1,1,1,1\nz,nan,1,1,1\n,1,1,1,1\nx,1,1,1,1"};
  static run_stages s;
  char              path[300];
  folder_make(dir);
  snprintf(path, sizeof path, "%s/stages.csv", dir);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    FILE *out = fopen(path, "w");
    fputs(texts[i], out);
    fclose(out);
    assert_ok(run_stages_read(dir, &s));
    assert_int_equal(s.n, 0);
  }
  folder_remove(dir);
  assert_no_leak();
}

static void the_machine_is_read_back(void **state)
{
  (void)state;
  document          *owner;
  const run_machine *m;
  char               path[300];
  folder_make(dir);
  assert_ok(run_machine_read(dir, &owner, &m));
  assert_true(!owner && !m);
  assert_ok(run_machine_write(dir));
  assert_ok(run_machine_read(dir, &owner, &m));
  assert_true(m->processors >= 1 && m->memory > 1e6);
  assert_true(*m->processor && strstr(m->built, "PETSc") && strstr(m->libraries, "HDF5 1.") && strstr(m->system, "Linux"));
  document_destroy(&owner);
  snprintf(path, sizeof path, "%s/machine.yaml", dir);
  FILE *out = fopen(path, "w");
  fputs("memory: [1\n", out);
  fclose(out);
  assert_ok(run_machine_read(dir, &owner, &m));
  assert_true(!owner && !m);
  folder_remove(dir);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(table_is_sound), cmocka_unit_test_setup_teardown(reads_back_to_the_bit, setup, teardown),
          cmocka_unit_test_setup_teardown(damage_is_detected, setup, teardown), cmocka_unit_test(statistics_follow_their_definition),
          cmocka_unit_test(stages_are_summed_over_starts), cmocka_unit_test(malformed_tables_have_no_stages),
          cmocka_unit_test(the_machine_is_read_back))
