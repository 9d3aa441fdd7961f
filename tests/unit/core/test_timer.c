/* core/timer: inner stages are not counted for outer ones, the sum of all stages is the wall time, and tables follow the positions of stages. */
#include "core/timer.h"
#include "test.h"
#include <string.h>

#define TIMER_OUTER timer_register("outer stage", 30)
#define TIMER_MIDDLE timer_register("middle stage", 20)
#define TIMER_INNER timer_register("inner stage", 10)

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
  timer_begin(TIMER_OUTER);
  spin(0.005);
  for (int i = 0; i < 3; ++i) {
    timer_begin(TIMER_MIDDLE);
    spin(0.002);
    timer_begin(TIMER_INNER);
    spin(0.004);
    timer_end(TIMER_INNER);
    spin(0.001);
    timer_end(TIMER_MIDDLE);
  }
  timer_begin(TIMER_OUTER); /* a stage may open itself again */
  spin(0.001);
  timer_end(TIMER_OUTER);
  timer_end(TIMER_OUTER);
  const double total = timer_now() - start;
  double       sum   = 0.0;
  for (int i = 0; i < timer_n_stages(); ++i) sum += timer_record_of(timer_stage_at(i)).seconds;
  /* lower bounds are exact; the upper one is the wall clock, as another process may take the core at any time */
  assert_true(timer_record_of(TIMER_OUTER).seconds >= 0.006);
  assert_true(timer_record_of(TIMER_MIDDLE).seconds >= 0.009);
  assert_true(timer_record_of(TIMER_INNER).seconds >= 0.012);
  assert_true(timer_record_of(TIMER_OTHER).seconds >= 0.005);
  assert_true(sum >= 0.032 && sum <= timer_now() - start);
  assert_true(sum >= total - 1e-3); /* nothing is lost */
  assert_int_equal(timer_record_of(TIMER_MIDDLE).n_calls, 3);
  assert_int_equal(timer_record_of(TIMER_OUTER).n_calls, 2);
}

static void test_table_shows_rates(void **state)
{
  (void)state;
  char  text[4096] = "";
  FILE *out        = fmemopen(text, sizeof text, "w");
  timer_reset();
  timer_begin(TIMER_INNER);
  spin(0.001);
  timer_end(TIMER_INNER);
  timer_work(TIMER_INNER, 0.0, 3e9 * timer_record_of(TIMER_INNER).seconds);
  timer_table(out);
  fclose(out);
  const char *line = strstr(text, "inner stage");
  assert_non_null(line);
  assert_non_null(strstr(line, "3.00         -\n"));
  assert_null(strstr(text, "outer stage")); /* never entered */
  assert_non_null(strstr(text, "total"));
}

/* A name has one handle in any order of registration; tables are sorted by position, then by name; "other" is last. */
static void test_registration(void **state)
{
  (void)state;
  char name[] = "inner stage";
  assert_int_equal(timer_register(name, 10), TIMER_INNER); /* another pointer, the same name */
  const timer_stage b = timer_register("stage b", 25), a = timer_register("stage a", 25);
  const char *const expected[] = {"inner stage", "middle stage", "stage a", "stage b", "outer stage", "other"};
  (void)TIMER_OUTER, (void)TIMER_MIDDLE;
  assert_int_equal(timer_n_stages(), 6);
  for (int i = 0; i < 6; ++i) assert_string_equal(timer_name(timer_stage_at(i)), expected[i]);
  assert_true(a != b && a == timer_register("stage a", 25));
  timer_begin(a);
  timer_end(a);
  assert_int_equal(timer_record_of(a).n_calls, 1);
  timer_reset();
  assert_int_equal(timer_record_of(a).n_calls, 0);
  assert_int_equal(timer_n_stages(), 6);
}

/* A full table counts further stages as "other". Last test: the table stays full. */
static void test_full_table(void **state)
{
  (void)state;
#ifndef SS_CHECKS /* there it stops the program */
  static char name[TIMER_MAX_STAGES][16];
  timer_stage last = TIMER_INNER;
  for (int i = 0; i < TIMER_MAX_STAGES; ++i) {
    snprintf(name[i], sizeof name[i], "extra %d", i);
    last = timer_register(name[i], 1000 + i);
  }
  assert_int_equal(timer_n_stages(), TIMER_MAX_STAGES);
  assert_int_equal(last, TIMER_OTHER);
  assert_int_equal(timer_stage_at(TIMER_MAX_STAGES - 1), TIMER_OTHER);
#endif
}

TEST_MAIN(cmocka_unit_test(test_nested_stages_are_exclusive), cmocka_unit_test(test_table_shows_rates), cmocka_unit_test(test_registration),
          cmocka_unit_test(test_full_table))
