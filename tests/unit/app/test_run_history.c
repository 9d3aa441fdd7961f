/* What summary.txt says about the steps of a run. */
#include "test.h"
#include <string.h>
#include "app/run/run_history.h"

static void print(const run_tally *t, char *text, size_t size)
{
  FILE *f = tmpfile();
  assert_non_null(f);
  run_tally_print(t, "Newton", "GMRES", f);
  rewind(f);
  const size_t n = fread(text, 1, size - 1, f);
  text[n]        = '\0';
  fclose(f);
}

static void steps_are_summed(void **state)
{
  (void)state;
  run_tally   t;
  char        text[4096];
  step_report one = {.newton_iterations = 2, .linear_iterations = 30, .evaluations = 5}, two = {.newton_iterations = 5, .linear_iterations = 60, .evaluations = 6};
  one.contact = (contact_summary){.n_active = 10, .max_penetration = 0.25};
  two.contact = (contact_summary){.n_active = 5, .max_penetration = 0.125};
  for (int i = 0; i < 3; ++i) relax_statistics_add(&one.contact.relaxations, 0x1, 1, false);
  relax_statistics_add(&two.contact.relaxations, 0x123, 3, false);
  run_tally_begin(&t);
  print(&t, text, sizeof text);
  assert_string_equal(text, ""); /* nothing done: nothing to divide by */
  run_tally_add(&t, 0.5, &one, 0);
  run_tally_add(&t, 0.5, &two, 1);
  print(&t, text, sizeof text);
  const char *const lines[] = {"simulated              1 s in 2 steps, 1 retries\n",
                               "Newton iterations      3.500 a step, most 5\n",
                               "GMRES iterations       45.00 a step\n",
                               "evaluations            5.50 a step\n",
                               "contacts               7.5 in the mean, most 10\n",
                               "deepest penetration    0.25 m\n",
                               "relaxations            4, 75.0000 % ended where they began, most places 3, given up 0\n  1                    3\n  1-2-3                1\n",
                               "user CPU time          "};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
    if (!strstr(text, lines[i])) fail_msg("\"%s\" is not in\n%s", lines[i], text);
  /* Where impulses are solved for, the mean is over steps that have any. */
  one.friction.n_contacts = 3, one.friction.iterations = 40;
  run_tally_add(&t, 0.5, &one, 0);
  print(&t, text, sizeof text);
  assert_non_null(strstr(text, "GMRES iterations       40.00 a step with contacts\n"));
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(steps_are_summed))
