/* How a case stands, from what its run directory holds. */
#include "io/run_lock.h"
#include "io/sealed_file.h"
#include "app/run/run_result.h"
#include "sweep_fixture.h"

static void assert_state(case_state expected, const char *says)
{
  case_state state;
  char       why[300];
  assert_ok(sweep_folder_state(sweep_folder, 7, &state, why, sizeof why));
  assert_int_equal(state, expected);
  if (!strstr(why, says)) fail_msg("\"%s\" does not say \"%s\"", why, says);
}

static void leave(const char *dir, run_status status, const char *reason)
{
  const run_result r = {.result = RUN_RESULT_FORMAT, .status = status, .job = "small", .reason = reason, .exit_code = -1, .program = "p", .host = "h",
                        .threads = 1, .starts = 1, .begun = "2026-01-31T23:59:59Z", .updated = "2026-01-31T23:59:59Z"};
  assert_ok(run_result_write(dir, &r));
}

static void every_state(void **state)
{
  (void)state;
  char      dir[TEMPORARY_ROOM + 64];
  run_lock *lock;
  sweep_folder_case(sweep_folder, 7, sizeof dir, dir);
  assert_string_equal(dir + strlen(sweep_folder), "/cases/000007");
  assert_state(CASE_WAITING, "");
  assert_ok(file_make_directory(dir));
  assert_state(CASE_WAITING, "");
  assert_ok(run_lock_acquire(dir, &lock));
  assert_state(CASE_RUNNING, "");
  leave(dir, RUN_RUNNING, "");
  assert_state(CASE_RUNNING, "");
  run_lock_release(&lock);
  assert_state(CASE_STOPPED, "killed");
  leave(dir, RUN_STOPPED, "signal 10");
  assert_state(CASE_STOPPED, "signal 10");
  leave(dir, RUN_FAILED, "no convergence");
  assert_state(CASE_FAILED, "no convergence");
  leave(dir, RUN_FINISHED, "end of time");
  assert_state(CASE_FINISHED, "end of time");
  sweep_write("cases/000007/result.yaml", "result: 1\nstatus: finished\n");
  assert_state(CASE_STOPPED, "result.yaml");
}

TEST_MAIN(cmocka_unit_test_setup_teardown(every_state, sweep_setup, sweep_teardown))
