/* Sweep folders: creating, reading, extending, rejecting, and states of cases. */
#include "io/run_lock.h"
#include "io/sealed_file.h"
#include "app/run/run_result.h"
#include "sweep_fixture.h"

static char dir[TEMPORARY_ROOM + 16];

static int setup(void **state)
{
  sweep_setup(state);
  snprintf(dir, sizeof dir, "%s/out", sweep_folder);
  return 0;
}

/* Updates the folder with the sweep file `text`. Returns the number of new cases, or -1 if it was rejected with a diagnostic
 * containing `says`. */
static int64_t update(const char *text, const char *says)
{
  diagnostics *d;
  int64_t      n_new;
  sweep_plan  *plan = sweep_good(text);
  assert_ok(diagnostics_create(&d));
  assert_ok(sweep_folder_update(dir, plan, d, &n_new));
  bool is_said = !says;
  for (int i = 0; i < diagnostics_count(d); ++i) {
    if (!says) fail_msg("%s", diagnostics_text(d, i));
    else if (strstr(diagnostics_text(d, i), says)) is_said = true;
  }
  if (!is_said) fail_msg("no message %s", says);
  if (diagnostics_count(d)) n_new = -1;
  diagnostics_destroy(&d);
  sweep_plan_destroy(&plan);
  return n_new;
}

static void assert_same_case(const sweep_plan *a, int64_t i, const sweep_plan *b, int64_t k)
{
  assert_string_equal(a->cases[i].id, b->cases[k].id);
  assert_int_equal(a->cases[i].n_overrides, b->cases[k].n_overrides);
  for (int j = 0; j < a->n_parameters; ++j) assert_string_equal(a->cases[i].value[j], b->cases[k].value[j]);
  for (int j = 0; j < a->cases[i].n_overrides; ++j) assert_string_equal(a->cases[i].overrides[j], b->cases[k].overrides[j]);
}

static const char *const file = "vary: {contact.friction: [0.1, 0.2], a: [1, 3]}\nlet: {b: a+1}\nresources: {cores: 3, memory: 2G}\n"
                                "set: {bodies.ball.shape.sphere.center: [0, 0, b], description: \"a, \\\"b\\\" of {a}\"}\n";

static void written_sweep_is_read_back(void **state)
{
  (void)state;
  assert_false(sweep_folder_exists(dir));
  assert_int_equal(update(file, NULL), 4);
  sweep_plan *plan = sweep_good(file), *read;
  assert_ok(sweep_folder_read(dir, &read));
  assert_int_equal(read->n_cases, 4);
  assert_int_equal(read->n_parameters, plan->n_parameters);
  assert_int_equal(read->n_varied, 2);
  for (int i = 0; i < plan->n_parameters; ++i) assert_string_equal(read->parameter[i], plan->parameter[i]);
  for (int64_t i = 0; i < 4; ++i) assert_same_case(read, i, plan, i);
  assert_string_equal(read->base_text, plan->base_text);
  assert_int_equal(read->resources.cores, 3);
  assert_string_equal(read->resources.memory, "2G");
  sweep_plan_destroy(&read);
  sweep_plan_destroy(&plan);
}

/* Existing cases keep their numbers for any order of the file; new cases get the next numbers; cases removed from the file
 * remain. */
static void extension(void **state)
{
  (void)state;
  sweep_plan *before, *after;
  assert_int_equal(update("vary: {contact.friction: [0.1, 0.2], contact.stiffness: [10, 20]}\n", NULL), 4);
  assert_ok(sweep_folder_read(dir, &before));
  assert_int_equal(update("vary: {contact.stiffness: [5, 10, 20], contact.friction: [0.1, 0.2]}\n", NULL), 2);
  assert_int_equal(update("vary: {contact.stiffness: [10], contact.friction: [0.3]}\n", NULL), 1);
  assert_int_equal(update("vary: {contact.stiffness: [10], contact.friction: [0.3]}\n", NULL), 0);
  assert_ok(sweep_folder_read(dir, &after));
  assert_int_equal(after->n_cases, 7);
  for (int64_t i = 0; i < 4; ++i) assert_string_equal(before->cases[i].id, after->cases[i].id);
  for (int64_t i = 0; i < 7; ++i) assert_int_equal(after->cases[i].number, i + 1);
  sweep_plan_destroy(&before);
  sweep_plan_destroy(&after);
}

static void another_sweep_is_rejected(void **state)
{
  (void)state;
  const char *const wider = "vary: {a: [1, 2, 3]}\nset: {contact.stiffness: a}\n";
  assert_int_equal(update("vary: {a: [1, 2]}\nset: {contact.stiffness: a}\n", NULL), 2);
  assert_int_equal(update("vary: {a: [1, 2]}\nset: {contact.stiffness: a*2}\n", "contact.stiffness: 1 -> 2"), -1);
  assert_int_equal(update("vary: {a: [1, 2], contact.friction: [0.1]}\nset: {contact.stiffness: a}\n", "no parameter contact.friction"),
                   -1);
  assert_int_equal(update("vary: {contact.stiffness: [1, 2]}\n", "cases.csv has a column a"), -1);
  char changed[1024];
  snprintf(changed, sizeof changed, "%s", sweep_job);
  memcpy(strstr(changed, "7800"), "7900", 4);
  sweep_write("base.yaml", changed);
  assert_int_equal(update(wider, "materials.steel.density: 7800 -> 7900"), -1);
  sweep_write("base.yaml", sweep_job);
  assert_int_equal(update(wider, NULL), 1);
  assert_int_equal(update("vary: {a: [1, 2, 3]}\nset: {contact.stiffness: \"a\"}\n# a comment\n", NULL), 0);
}

static void damage_is_reported(void **state)
{
  (void)state;
  static const char *const bad[] = {"", "number,id\n", "number,id,contact.friction\n1,0123456789abcdef,0.1,7\n",
                                    "number,id,contact.friction\n2,0123456789abcdef,0.1\n",
                                    "number,id,contact.frictoin\n1,0123456789abcdef,0.1\n"};
  sweep_plan              *plan;
  assert_int_equal(update("vary: {contact.friction: [0.1, 0.2]}\n", NULL), 2);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    sweep_write("out/cases.csv", bad[i]);
    assert_int_equal(sweep_folder_read(dir, &plan), PETSC_ERR_FILE_READ);
    assert_non_null(strstr(error_message(), "cases.csv"));
    assert_null(plan);
    error_clear();
  }
  assert_int_equal(sweep_folder_read(sweep_folder, &plan), PETSC_ERR_FILE_OPEN);
  error_clear();
}

/* --- the state of a case, from the files of its run directory --- */

static void assert_state(case_state expected, const char *says)
{
  case_state state;
  char       why[300];
  assert_ok(sweep_folder_state(sweep_folder, 7, &state, why, sizeof why));
  assert_int_equal(state, expected);
  if (!strstr(why, says)) fail_msg("\"%s\" does not say \"%s\"", why, says);
}

static void leave(const char *folder, run_status status, const char *reason)
{
  const run_result r = {.result    = RUN_RESULT_FORMAT,
                        .status    = status,
                        .job       = "small",
                        .reason    = reason,
                        .exit_code = -1,
                        .program   = "p",
                        .host      = "h",
                        .threads   = 1,
                        .starts    = 1,
                        .begun     = "2026-01-31T23:59:59Z",
                        .updated   = "2026-01-31T23:59:59Z"};
  assert_ok(run_result_write(folder, &r));
}

static void every_state(void **state)
{
  (void)state;
  char      folder[TEMPORARY_ROOM + 64];
  run_lock *lock;
  sweep_folder_case(sweep_folder, 7, sizeof folder, folder);
  assert_string_equal(folder + strlen(sweep_folder), "/cases/000007");
  assert_state(CASE_WAITING, "");
  assert_ok(file_make_directory(folder));
  assert_state(CASE_WAITING, "");
  assert_ok(run_lock_acquire(folder, &lock));
  assert_state(CASE_RUNNING, "");
  leave(folder, RUN_RUNNING, "");
  assert_state(CASE_RUNNING, "");
  run_lock_release(&lock);
  assert_state(CASE_STOPPED, "killed");
  leave(folder, RUN_STOPPED, "signal 10");
  assert_state(CASE_STOPPED, "signal 10");
  leave(folder, RUN_FAILED, "no convergence");
  assert_state(CASE_FAILED, "no convergence");
  leave(folder, RUN_FINISHED, "end of time");
  assert_state(CASE_FINISHED, "end of time");
  sweep_write("cases/000007/result.yaml", "result: 1\nstatus: finished\n");
  assert_state(CASE_STOPPED, "result.yaml");
}

TEST_MAIN(cmocka_unit_test_setup_teardown(written_sweep_is_read_back, setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(extension, setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(another_sweep_is_rejected, setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(damage_is_reported, setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(every_state, sweep_setup, sweep_teardown))
