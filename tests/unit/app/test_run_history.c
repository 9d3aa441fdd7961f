/* Counters of the steps of a run in summary.txt. */
#include "test.h"
#include <string.h>
#include "app/run/run_history.h"

static void print(const run_counters *t, char *text, size_t size)
{
  FILE *f = tmpfile();
  assert_non_null(f);
  run_counters_print(t, "Newton", "GMRES", f);
  rewind(f);
  const size_t n = fread(text, 1, size - 1, f);
  text[n]        = '\0';
  fclose(f);
}

static void steps_are_summed(void **state)
{
  (void)state;
  run_counters   t;
  char        text[4096];
  step_report one = {.newton_iterations = 2, .linear_iterations = 30, .evaluations = 5}, two = {.newton_iterations = 5, .linear_iterations = 60, .evaluations = 6};
  one.contact = (contact_summary){.n_active = 10, .max_penetration = 0.25};
  two.contact = (contact_summary){.n_active = 5, .max_penetration = 0.125};
  for (int i = 0; i < 3; ++i) relax_statistics_add(&one.contact.relaxations, 0x1, 1, false);
  relax_statistics_add(&two.contact.relaxations, 0x123, 3, false);
  run_counters_begin(&t);
  print(&t, text, sizeof text);
  assert_string_equal(text, ""); /* no steps, no averages */
  run_counters_add(&t, 0.5, &one, 0);
  run_counters_add(&t, 0.5, &two, 1);
  print(&t, text, sizeof text);
  const char *const lines[] = {"simulated              1 s in 2 steps, 1 retries\n",
                               "Newton iterations      3.500 per step, maximum 5\n",
                               "GMRES iterations       45.00 per step\n",
                               "evaluations            5.50 per step\n",
                               "contacts               7.5 average over steps, maximum 10\n",
                               "largest penetration    0.25 m\n",
                               "relaxations            4, 75.0000 % ended in their first place, longest 3 places, 0 stopped at the limit\n  1                    3\n  1-2-3                1\n",
                               "user CPU time          "};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
    if (!strstr(text, lines[i])) fail_msg("\"%s\" is not in\n%s", lines[i], text);
  /* The average of friction iterations is over steps with contacts. */
  one.friction.n_contacts = 3, one.friction.iterations = 40;
  run_counters_add(&t, 0.5, &one, 0);
  print(&t, text, sizeof text);
  assert_non_null(strstr(text, "GMRES iterations       40.00 per step with contacts\n"));
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(steps_are_summed))
