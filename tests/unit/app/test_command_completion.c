/* The command completion: the shell functions that it prints offer commands, options and keys of jobs. */
#include "command_fixture.h"

/* Offers of the printed functions for these words, one per line; compared with `expected`. */
static void assert_offers(const char *words, const char *expected)
{
  char   shell[400], got[8192];
  size_t n = 0;
  snprintf(shell, sizeof shell, "bash -c '. ./functions 2>/dev/null; _stickslip_offers %s' | cut -f 1", words);
  FILE *in = popen(shell, "r");
  assert_non_null(in);
  n      = fread(got, 1, sizeof got - 1, in);
  got[n] = '\0';
  assert_int_equal(pclose(in), 0);
  if (strcmp(got, expected)) fail_msg("offers for %s:\n%snot\n%s", words, got, expected);
}

static void functions_offer_words(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "completion bash");
  command_write("functions", command_out);
  assert_offers("re", "resume\nrender\nreport\n");
  assert_offers("sweep re", "retry\nreport\n@files *.yaml\n");
  assert_offers("run --co", "--continue\n");
  assert_offers("schema h", "history\n");
  assert_offers("run job.yaml --set time.ste", "time.step=\n");
  assert_offers("run job.yaml --set formulation=pe", "formulation=penalty\n");
  assert_offers("completion z", "zsh\n");
}

/* Names of bodies are read from the job. */
static void names_of_the_job_are_offered(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "completion bash");
  command_write("functions", command_out);
  assert_offers("run job.yaml --set bodies.", "bodies.ball.\nbodies.floor.\n");
}

static void shells_have_their_own_scripts(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "completion bash");
  assert_contains(command_out, "# bash completion of stickslip\n");
  assert_contains(command_out, "complete -F _stickslip stickslip\n");
  assert_command(SS_EXIT_OK, "completion zsh");
  assert_int_equal(strncmp(command_out, "#compdef stickslip\n", 19), 0);
  assert_command(SS_EXIT_OK, "completion fish");
  assert_int_equal(strncmp(command_out, "set -g __stickslip_script '", 27), 0);
  assert_contains(command_out, "printf \\'%s\\\\t%s\\\\n\\'"); /* quotes and backslashes are escaped */
  assert_command(SS_EXIT_BAD_INPUT, "completion tcsh");
  assert_string_equal(command_out, "");
  assert_string_equal(command_err, "stickslip completion tcsh: expected bash, zsh or fish\n");
}

TEST_MAIN(command_test(functions_offer_words), command_test(names_of_the_job_are_offered), command_test(shells_have_their_own_scripts))
