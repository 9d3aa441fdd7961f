/* Parsing of whole command lines: commands, actions, options of the program and of PETSc, exit codes, number of threads. */
#include "app/command/command.h"
#include "test.h"
#include <string.h>

enum { MAX_WORDS = 512 };
static command_line line;
static char        *petsc[MAX_WORDS];
static int          n_petsc;
static exit_code    code;

/* words: separated by spaces */
static const command *parse(const char *words)
{
  static char text[4 * MAX_WORDS];
  char       *argv[MAX_WORDS] = {"stickslip"}, *save = NULL;
  int         argc = 1;
  snprintf(text, sizeof text, "%s", words);
  for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) argv[argc++] = w;
  return command_parse(argc, argv, &line, &n_petsc, petsc, &code);
}

static void options_and_arguments_are_separated(void **state)
{
  (void)state;
  const command *c = parse("run --set a=1 job.yaml --set=b=2 --force -ksp_rtol 1e-3 -ksp_monitor --steps 5");
  const char    *sets[COMMAND_MAX_VALUES];
  assert_non_null(c);
  assert_string_equal(c->name, "run");
  assert_int_equal(line.n_positional, 1);
  assert_string_equal(line.positional[0], "job.yaml");
  assert_int_equal(command_values(&line, "--set", sets), 4);
  assert_string_equal(sets[0], "a=1");
  assert_string_equal(sets[1], "b=2");
  /* options of PETSc become keys of the job */
  assert_string_equal(sets[2], "solver.petsc.ksp_rtol=\"1e-3\"");
  assert_string_equal(sets[3], "solver.petsc.ksp_monitor=~");
  assert_string_equal(command_value(&line, "--steps"), "5");
  assert_string_equal(command_value(&line, "--force"), "");
  assert_int_equal(n_petsc, 1);
  assert_string_equal(petsc[0], "stickslip");
}

static void actions_are_commands(void **state)
{
  (void)state;
  const command *c = parse("sweep status folder");
  assert_string_equal(c->name, "sweep status");
  assert_int_equal(line.n_positional, 1);
  assert_string_equal(line.positional[0], "folder");
  c = parse("sweep study.yaml");
  assert_string_equal(c->name, "sweep");
  assert_string_equal(line.positional[0], "study.yaml");
}

static void invalid_command_lines_are_bad_input(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "", "rnu job.yaml", "run", "run a.yaml b.yaml", "run a.yaml --sett x=1", "run a.yaml --force=1", "run a.yaml --set", "help rnu"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    code = SS_EXIT_OK;
    if (parse(bad[i])) fail_msg("accepted: %s", bad[i]);
    assert_int_equal(code, SS_EXIT_BAD_INPUT);
  }
}

static void help_and_version_succeed(void **state)
{
  (void)state;
  static const char *const good[] = {"--help",    "help",       "help run",           "help sweep status",
                                     "--version", "run --help", "sweep retry --help", "check --version"};
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    code = SS_EXIT_BAD_INPUT;
    if (parse(good[i])) fail_msg("executes: %s", good[i]);
    assert_int_equal(code, SS_EXIT_OK);
  }
}

/* 256 files are accepted, one more is an error: none is ignored. */
static void too_many_arguments_are_an_error(void **state)
{
  (void)state;
  char words[4 * MAX_WORDS] = "friction";
  for (int i = 0; i < COMMAND_MAX_VALUES; ++i) strcat(words, " f");
  assert_non_null(parse(words));
  assert_int_equal(line.n_positional, COMMAND_MAX_VALUES);
  strcat(words, " f");
  assert_null(parse(words));
  assert_int_equal(code, SS_EXIT_BAD_INPUT);
}

/* --threads has precedence over OMP_NUM_THREADS. */
static void threads_are_chosen_in_order(void **state)
{
  (void)state;
  int64_t n;
  setenv("OMP_NUM_THREADS", "3", 1);
  assert_non_null(parse("run a.yaml"));
  assert_true(command_threads(&line, &n));
  assert_int_equal(n, 3);
  assert_non_null(parse("run a.yaml --threads 5"));
  assert_true(command_threads(&line, &n));
  assert_int_equal(n, 5);
  assert_non_null(parse("run a.yaml --threads 0"));
  assert_false(command_threads(&line, &n));
  unsetenv("OMP_NUM_THREADS");
  setenv("SLURM_JOB_ID", "1", 1);
  setenv("SLURM_CPUS_PER_TASK", "2", 1);
  assert_non_null(parse("run a.yaml"));
  assert_true(command_threads(&line, &n));
  assert_int_equal(n, 2);
  unsetenv("SLURM_JOB_ID");
  unsetenv("SLURM_CPUS_PER_TASK");
}

TEST_MAIN(cmocka_unit_test(options_and_arguments_are_separated), cmocka_unit_test(actions_are_commands),
          cmocka_unit_test(invalid_command_lines_are_bad_input), cmocka_unit_test(help_and_version_succeed),
          cmocka_unit_test(too_many_arguments_are_an_error), cmocka_unit_test(threads_are_chosen_in_order))
