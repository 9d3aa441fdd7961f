/* core/timer: inner stages are not counted for outer ones, and everything adds up to the wall clock. */
#include "core/timer.h"
#include "test.h"
#include <string.h>

static void spin(double seconds)
{
  const double end = timer_now() + seconds;
  while (timer_now() < end) {}
}

static void test_nested_stages_are_exclusive(void **state)
{
  (void)state;
  const double start = timer_now();
  timer_reset();
  spin(0.005);
  timer_begin(TIMER_NEWTON);
  spin(0.005);
  for (int i = 0; i < 3; ++i) {
    timer_begin(TIMER_SORT);
    spin(0.002);
    timer_begin(TIMER_OPERATOR);
    spin(0.004);
    timer_end(TIMER_OPERATOR);
    spin(0.001);
    timer_end(TIMER_SORT);
  }
  timer_begin(TIMER_NEWTON); /* a stage may open itself again */
  spin(0.001);
  timer_end(TIMER_NEWTON);
  timer_end(TIMER_NEWTON);
  const double total = timer_now() - start;
  double       sum = 0.0;
  for (int i = 0; i < TIMER_N_STAGES; ++i) sum += timer_seconds((timer_stage)i);
  /* lower bounds are exact; the upper one is the wall clock, as another process may take the core at any time */
  assert_true(timer_seconds(TIMER_NEWTON) >= 0.006);
  assert_true(timer_seconds(TIMER_SORT) >= 0.009);
  assert_true(timer_seconds(TIMER_OPERATOR) >= 0.012);
  assert_true(timer_seconds(TIMER_OTHER) >= 0.005);
  assert_true(sum >= 0.032 && sum <= timer_now() - start);
  assert_true(sum >= total - 1e-3); /* nothing is lost */
  assert_int_equal(timer_calls(TIMER_SORT), 3);
  assert_int_equal(timer_calls(TIMER_NEWTON), 2);
}

static void test_table_shows_rates(void **state)
{
  (void)state;
  char  text[4096] = "";
  FILE *out = fmemopen(text, sizeof text, "w");
  timer_reset();
  timer_begin(TIMER_P2G);
  spin(0.001);
  timer_end(TIMER_P2G);
  timer_work(TIMER_P2G, 0.0, 3e9 * timer_seconds(TIMER_P2G));
  timer_table(out);
  fclose(out);
  const char *line = strstr(text, "particles to grid");
  assert_non_null(line);
  assert_non_null(strstr(line, "3.00         -\n"));
  assert_null(strstr(text, "checkpoint")); /* never entered */
  assert_non_null(strstr(text, "total"));
  for (int i = 0; i < TIMER_N_STAGES; ++i) assert_non_null(timer_name((timer_stage)i)), assert_null(strchr(timer_name((timer_stage)i), ',')); /* a column of stages.csv */
}

TEST_MAIN(cmocka_unit_test(test_nested_stages_are_exclusive), cmocka_unit_test(test_table_shows_rates))
