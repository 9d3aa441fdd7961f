/* The command manual: the list of pages, pages of commands and files, and wrong names. */
#include "app/command/command_reference.h"
#include "command_fixture.h"

/* Every page of the list can be printed under its name, and has a heading with its name and section. */
static void all_pages_can_be_printed(void **state)
{
  (void)state;
  static char list[COMMAND_OUT];
  int         n_commands = 0, n_files = 0;
  assert_command(SS_EXIT_OK, "manual --list");
  snprintf(list, sizeof list, "%s", command_out);
  assert_int_equal(strncmp(list, "stickslip.1\nstickslip-run.1\n", 28), 0);
  for (char *save = NULL, *page = strtok_r(list, "\n", &save); page; page = strtok_r(NULL, "\n", &save)) {
    char words[120], heading[160] = ".TH ", *end = heading + 4;
    snprintf(words, sizeof words, "manual %s", page);
    assert_command(SS_EXIT_OK, words);
    for (const char *c = page; *c && *c != '.'; ++c) end += sprintf(end, *c == '-' ? "\\-" : "%c", *c);
    sprintf(end, " %c \"\"", page[strlen(page) - 1]);
    assert_int_equal(strncmp(command_out, heading, strlen(heading)), 0);
    if (page[strlen(page) - 1] == '1') ++n_commands;
    else ++n_files;
  }
  assert_true(n_commands > 10);
  assert_int_equal(n_files, 3);
}

static void pages_have_options_and_keys(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "manual run");
  assert_contains(command_out, ".SH SYNOPSIS\n\\fBstickslip run\\fR \\fIJOB.yaml\\fR [options]\n");
  assert_contains(command_out, ".TP\n\\fB\\-\\-steps\\fR \\fIN\\fR\nstop after N more steps");
  assert_contains(command_out, ".TP\n\\fB75\\fR\nstopped by a signal or a time limit");
  assert_command(SS_EXIT_OK, "manual job");
  assert_contains(command_out, ".TP\n\\fBfriction\\fR (");
  assert_command(SS_EXIT_OK, "manual");
  assert_contains(command_out, ".SH SIGNALS\n.TP\n\\fBSIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU\\fR\nfinish the step");
  assert_contains(command_out, ".BR stickslip\\-job (5),\n.BR stickslip\\-sweep (5),\n.BR stickslip\\-result (5)\n");
}

static void unknown_pages_are_bad_input(void **state)
{
  (void)state;
  assert_command(SS_EXIT_BAD_INPUT, "manual rnu");
  assert_string_equal(command_out, "");
  assert_string_equal(command_err, "stickslip manual: unknown page \"rnu\"; `stickslip manual --list` lists all pages\n");
  assert_command(SS_EXIT_BAD_INPUT, "manual stickslip-run.5");
}

TEST_MAIN(command_test(all_pages_can_be_printed), command_test(pages_have_options_and_keys), command_test(unknown_pages_are_bad_input))
