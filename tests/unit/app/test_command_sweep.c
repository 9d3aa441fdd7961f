/* The command sweep and its actions: listing, running, status, gathering, retry, and wrong options. */
#include "command_fixture.h"

static const char *const study = "sweep: 1\nname: study\nbase: job.yaml\nvary:\n  contact.friction: [0.1, 0.2]\n  end: [0.002, 0.003]\n"
                                 "set: {time.end: end, time.frame: 0.001}\n";

static void cases_are_listed(void **state)
{
  (void)state;
  command_write("study.yaml", study);
  assert_command(SS_EXIT_OK, "sweep study.yaml --dry-run");
  assert_contains(command_out, "study: 4 cases of ");
  assert_contains(command_out, "in every case: time.end = end\n");
  assert_contains(command_out, "\nnumber  contact.friction    end\n     1               0.1  0.002\n     2               0.1  0.003\n"
                               "     3               0.2  0.002\n     4               0.2  0.003\n");
  assert_false(command_exists("sweep"));
  assert_command(SS_EXIT_OK, "sweep study.yaml --quiet");
  assert_true(command_exists("sweep/study/cases.csv"));
  assert_command(SS_EXIT_OK, "sweep status sweep/study");
  assert_string_equal(command_out, "sweep/study: 4 cases of study\n  waiting        4  not started\n");
  assert_command(SS_EXIT_BAD_INPUT, "sweep sweep/study");
  assert_contains(command_err, "sweep/study is a sweep folder; expected a sweep file. `stickslip sweep run sweep/study`");
}

/* Two cases by number, the others with -j 2; then the table. */
static void cases_run_and_are_gathered(void **state)
{
  (void)state;
  char  *text;
  size_t n;
  command_write("study.yaml", study);
  assert_command(SS_EXIT_OK, "sweep study.yaml --quiet");
  assert_command(SS_EXIT_OK, "sweep run sweep/study 2 3 --quiet");
  assert_command(SS_EXIT_OK, "sweep status sweep/study --cases");
  assert_contains(command_out, "  finished       2\n  waiting        2  not started\n");
  assert_contains(command_out, "     2  finished                       3");
  assert_contains(command_out, "contact.friction=0.1 end=0.003  end of time\n");
  assert_command(SS_EXIT_OK, "sweep run sweep/study -j 2 --quiet");
  assert_command(SS_EXIT_OK, "sweep gather sweep/study");
  assert_contains(command_err, "4 cases, 4 of them finished");
  assert_ok(file_read_text("sweep/study/results.csv", &text, &n));
  assert_int_equal(strncmp(text, "number,id,status,contact.friction,end,speed.last [m/s],", 55), 0);
  memory_free(&text);
  assert_command(SS_EXIT_OK, "sweep retry sweep/study");
  assert_contains(command_err, "sweep/study: 0 failed cases will run again; start them with `stickslip sweep run`");
}

/* The interval of frames is longer than the run: a warning, which is an entry of the quality block. */
static void cases_of_bad_quality_are_marked(void **state)
{
  (void)state;
  command_write("study.yaml", "sweep: 1\nname: study\nbase: job.yaml\nvary:\n  time.frame: [0.001, 0.005]\nset: {time.end: 0.003}\n");
  assert_command(SS_EXIT_OK, "sweep study.yaml --local --quiet");
  assert_command(SS_EXIT_OK, "sweep status sweep/study --cases");
  assert_contains(command_out, "  finished       2\n  1 of the finished cases: see quality in their result.yaml\n");
  assert_contains(command_out, "     1  finished                       3");
  assert_contains(command_out, "     2  finished, see quality          3");
  assert_contains(command_out, "time.frame=0.005  1 warnings\n");
}

static void batch_scripts_are_printed(void **state)
{
  (void)state;
  command_write("study.yaml", study);
  assert_command(SS_EXIT_OK, "sweep study.yaml --script --cores 3 --memory 2G --cases-per-task 3 --sbatch --qos=night --quiet");
  assert_int_equal(strncmp(command_out, "#!/bin/bash\n", 12), 0);
  assert_contains(command_out, "#SBATCH --array=1-2\n#SBATCH --ntasks=1 --cpus-per-task=3\n");
  assert_contains(command_out, "#SBATCH --mem=2G\n");
  assert_contains(command_out, "#SBATCH --qos=night\n");
  assert_contains(command_out, " --task \"$SLURM_ARRAY_TASK_ID\" --cases-per-task 3 --threads 3 --requeue\n");
}

static void wrong_options_are_bad_input(void **state)
{
  (void)state;
  static const char *const lines[][2] = {
      {"sweep study.yaml -j 2", "stickslip sweep: -j requires --local\n"},
      {"sweep study.yaml --cores 2", "stickslip sweep: --cores requires --submit or --script\n"},
      {"sweep study.yaml --local --script", "stickslip sweep: --local, --submit and --script contradict each other; give one of them\n"},
      {"sweep run study 0", "stickslip: 0: expected the number of a case, counted from 1\n"},
      {"sweep run study 1x", "stickslip: 1x: expected the number of a case, counted from 1\n"},
      {"sweep run study 1 --task 2", "stickslip sweep run: expected either --task (optionally with --cases-per-task) or case numbers\n"},
      {"sweep run study --cases-per-task 2",
       "stickslip sweep run: expected either --task (optionally with --cases-per-task) or case numbers\n"}};
  command_write("study.yaml", study);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    assert_command(SS_EXIT_BAD_INPUT, lines[i][0]);
    assert_string_equal(command_err, lines[i][1]);
  }
  command_write("wrong.yaml", "sweep: 1\nname: wrong\nbase: job.yaml\nvary: {contact.friction: [0.1, -1]}\n");
  assert_command(SS_EXIT_BAD_INPUT, "sweep wrong.yaml");
  assert_contains(command_err, "(case 2: contact.friction=-1)");
  assert_false(command_exists("sweep"));
}

TEST_MAIN(command_test(cases_are_listed), command_test(cases_run_and_are_gathered), command_test(cases_of_bad_quality_are_marked),
          command_test(batch_scripts_are_printed), command_test(wrong_options_are_bad_input))
