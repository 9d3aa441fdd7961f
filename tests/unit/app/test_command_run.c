/* The commands run, resume and check: exit codes, files, steps, and contradicting options. */
#include "app/run/run_result.h"
#include "command_fixture.h"

static int64_t steps_of(const char *dir)
{
  document         *owner;
  const run_result *r;
  assert_ok(run_result_read(dir, &owner, &r));
  assert_non_null(r);
  const int64_t step = r->step;
  document_destroy(&owner);
  return step;
}

static void run_writes_its_files(void **state)
{
  (void)state;
  static const char *const files[] = {
      "job.yaml", "history.csv", "measure/speed.csv", "result.yaml", "machine.yaml", "frames/frame_000002.h5", "frames.xmf"};
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet");
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char path[100];
    snprintf(path, sizeof path, "r/%s", files[i]);
    if (!command_exists(path)) fail_msg("%s is missing", path);
  }
  assert_false(command_exists("r/still.png"));
  assert_int_equal(steps_of("r"), 10);
}

/* An existing run is kept, unless --force is given. */
static void runs_are_not_overwritten(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet --steps 2");
  assert_command(SS_EXIT_BAD_INPUT, "run job.yaml --out r --no-picture --quiet");
  assert_contains(command_err, "--force");
  assert_int_equal(steps_of("r"), 2);
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet --force --steps 3");
  assert_int_equal(steps_of("r"), 3);
}

/* 4 steps, then the others: equal to 10 steps. A finished run is not continued. */
static void resumed_runs_are_equal(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "run job.yaml --out whole --no-picture --quiet");
  assert_command(SS_EXIT_OK, "run job.yaml --out part --no-picture --quiet --steps 4");
  assert_command(SS_EXIT_OK, "resume part --no-picture --quiet");
  assert_int_equal(steps_of("part"), 10);
  assert_command(SS_EXIT_OK, "diff whole part");
  assert_command(SS_EXIT_OK, "resume part --no-picture");
  assert_contains(command_err, "part is already finished (end of time)");
  assert_command(SS_EXIT_OK, "run job.yaml --out other --continue --no-picture --quiet");
  assert_command(SS_EXIT_OK, "diff whole other");
}

static void contradicting_options_are_bad_input(void **state)
{
  (void)state;
  static const char *const lines[][2] = {
      {"run job.yaml --force --continue", "stickslip run: --force and --continue contradict each other; give one of them\n"},
      {"run job.yaml --accept-changes", "stickslip: --accept-changes requires `run JOB.yaml --continue` or `resume DIR --job JOB.yaml`\n"},
      {"resume r --accept-changes", "stickslip: --accept-changes requires `run JOB.yaml --continue` or `resume DIR --job JOB.yaml`\n"}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    assert_command(SS_EXIT_BAD_INPUT, lines[i][0]);
    assert_string_equal(command_err, lines[i][1]);
  }
  assert_command(SS_EXIT_BAD_INPUT, "run job.yaml --steps 0");
  assert_false(command_exists("run"));
}

/* assert_command checks after each command that the run is freed. A file is missing or cannot be written: at creation, in the first
 * step, at resume after the state has been read. */
static void errors_free_the_run(void **state)
{
  (void)state;
  assert_int_equal(system("mkdir -p a/history.csv b/result.yaml"), 0);
  assert_command(SS_EXIT_ENVIRONMENT, "run job.yaml --out a --no-picture --quiet");
  assert_contains(command_err, "a/history.csv");
  assert_command(SS_EXIT_ENVIRONMENT, "run job.yaml --out b --no-picture --quiet");
  assert_contains(command_err, "b/result.yaml");
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet --steps 4");
  assert_int_equal(system("mkdir empty; mv r/history.csv whole.csv; mkdir r/history.csv"), 0);
  assert_command(SS_EXIT_ENVIRONMENT, "resume r --no-picture --quiet");
  assert_contains(command_err, "r/history.csv");
  assert_command(SS_EXIT_ENVIRONMENT, "run job.yaml --continue --out r --no-picture --quiet");
  assert_command(SS_EXIT_BAD_INPUT, "resume r --set contact.frction=1");
  assert_command(SS_EXIT_BAD_INPUT, "resume empty");
  assert_contains(command_err, "no checkpoint to resume from");
  assert_int_equal(system("rmdir r/history.csv; mv whole.csv r/history.csv; sed -i s/small/large/ r/job.yaml"), 0);
  assert_command(SS_EXIT_ENVIRONMENT, "resume r --no-picture --quiet");
  assert_contains(command_err, "belongs to the job \"small\"");
  assert_int_equal(system("rm r/job.yaml"), 0);
  assert_command(SS_EXIT_OK, "resume r --no-picture --quiet");
  assert_int_equal(steps_of("r"), 10);
}

/* A tumbling box that hits the floor does not converge in one Newton iteration, and the step is not repeated. */
static void failed_steps_free_the_run(void **state)
{
  (void)state;
  assert_command(SS_EXIT_STEP_FAILED, "run job.yaml --out r --no-picture --quiet --set bodies.ball.angular_velocity=[50,30,20] "
                                      "--set bodies.ball.shape={\"box\":{\"min\":[-0.05,-0.1,0.005],\"max\":[0.05,0.1,0.055]}} --set "
                                      "solver.newton.max_iterations=1 --set solver.newton.tolerance=1e-12 --set time.retry.halvings=0");
  assert_true(command_exists("r/failure.txt") && command_exists("r/checkpoints"));
}

static void check_reports_errors_and_describes_scenes(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "check job.yaml");
  assert_contains(command_out, "small: 0.01 s in steps of 0.001 s, a frame every 0.005 s\n");
  assert_contains(command_out, "4.08407 kg at (0, 0, 0.3)"); /* 7800 kg/m^3 4/3 pi (0.05 m)^3 */
  assert_command(SS_EXIT_OK, "check job.yaml --resolved --set contact.friction=0.25");
  assert_contains(command_out, "  friction: 0.25\n");
  assert_command(SS_EXIT_BAD_INPUT, "check job.yaml --set contact.frction=0.25 --set time.step=-1");
  assert_string_equal(command_out, "");
  assert_contains(command_err, "contact.frction: unknown key; did you mean \"friction\"?");
  assert_contains(command_err, "time.step"); /* all errors */
  assert_false(command_exists("run"));
}

TEST_MAIN(command_test(run_writes_its_files), command_test(runs_are_not_overwritten), command_test(resumed_runs_are_equal),
          command_test(contradicting_options_are_bad_input), command_test(errors_free_the_run), command_test(failed_steps_free_the_run),
          command_test(check_reports_errors_and_describes_scenes))
