/* core/log: what reaches a terminal and what reaches a batch log. */
#include "core/log.h"
#include "test.h"
#include <string.h>
#include <unistd.h>

static char  text[8192];
static FILE *start(bool quiet, int verbosity, bool is_terminal)
{
  memset(text, 0, sizeof text);
  FILE *out = fmemopen(text, sizeof text, "w");
  log_open(quiet, verbosity);
  log_redirect(out, is_terminal);
  return out;
}
static void stop(FILE *out)
{
  log_progress_end();
  log_redirect(NULL, false);
  fclose(out);
}
static int count(const char *word)
{
  int n = 0;
  for (const char *p = text; (p = strstr(p, word)); ++p) ++n;
  return n;
}

static void test_levels(void **state)
{
  (void)state;
  FILE *out = start(false, 0, true);
  log_info("one %d", 1), log_warn("two"), log_debug("three");
  stop(out);
  assert_string_equal(text, "one 1\nwarning: two\n");
  out = start(true, 0, true);
  log_info("one"), log_warn("two"), log_progress("three");
  assert_int_equal(log_verbosity(), -1);
  stop(out);
  assert_string_equal(text, "warning: two\n");
  out = start(false, 1, true);
  log_debug("three");
  stop(out);
  assert_string_equal(text, "three\n");
}

static void test_batch_lines_are_stamped_and_rare(void **state)
{
  (void)state;
  FILE *out = start(false, 0, false);
  log_interval(3600.0);
  log_info("begin");
  for (int i = 0; i < 1000; ++i) log_progress("step %d", i);
  stop(out); /* the last one is shown when the loop is over */
  int y, mo, d, h, mi, s;
  assert_int_equal(sscanf(text, "%4d-%2d-%2d %2d:%2d:%2d begin\n", &y, &mo, &d, &h, &mi, &s), 6);
  assert_int_equal(count("step "), 2);
  assert_int_equal(count("step 0\n"), 1);
  assert_int_equal(count("step 999\n"), 1);
  assert_int_equal(count("\r"), 0);
  log_interval(0.0);
  out = start(false, 0, false);
  for (int i = 0; i < 10; ++i) log_progress("step %d", i);
  stop(out);
  assert_int_equal(count("step "), 10);
  log_interval(30.0);
}

static void test_terminal_rewrites_one_line(void **state)
{
  (void)state;
  FILE *out = start(false, 0, true);
  log_progress("step 1");
  log_info("news"); /* goes above the progress line */
  log_progress("step 2");
  log_progress_end();
  log_progress_end();
  stop(out);
  assert_string_equal(text, "\r\033[Kstep 1\r\033[Knews\nstep 1\r\033[Kstep 2\n");
}

/* The record has messages from before its file was known, all levels, and few progress lines; the stream is as without a record. */
static void test_record(void **state)
{
  (void)state;
  char  line[256];
  int   n_lines = 0, year;
  FILE *out     = start(true, 0, false); /* quiet */
  log_record_begin();
  log_record_note("begin %d", 1);
  log_info("early");
  FILE *file = tmpfile(), *copy;
  assert_non_null(file);
  copy = fdopen(dup(fileno(file)), "w");
  log_record_to(copy);
  log_interval(3600.0);
  for (int i = 0; i < 100; ++i) log_progress("step %d", i);
  log_warn("late");
  log_progress_end();
  log_record_text("stickslip: error\n");
  log_record_end();
  log_info("after");
  stop(out);
  assert_int_equal(count("early"), 0);
  assert_int_equal(count("warning: late\n"), 1);
  static const char *const wanted[] = {"begin 1", "early", "step 0", "warning: late", "step 99", "stickslip: error"};
  rewind(file);
  for (; fgets(line, sizeof line, file); ++n_lines) {
    assert_true(n_lines < 6);
    assert_non_null(strstr(line, wanted[n_lines]));
    assert_int_equal(sscanf(line, "%4d-", &year), n_lines < 5);
  }
  assert_int_equal(n_lines, 6);
  fclose(file);
  log_interval(30.0);
}

/* A forked process does not print the progress line that its parent has withheld. */
static void test_forgotten_progress(void **state)
{
  (void)state;
  log_interval(3600.0);
  FILE *out = start(false, 0, false);
  log_progress("first");
  log_progress("withheld");
  log_progress_forget();
  stop(out);
  assert_int_equal(count("withheld"), 0);
  log_interval(30.0);
}

TEST_MAIN(cmocka_unit_test(test_levels), cmocka_unit_test(test_batch_lines_are_stamped_and_rare),
          cmocka_unit_test(test_terminal_rewrites_one_line), cmocka_unit_test(test_record), cmocka_unit_test(test_forgotten_progress))
