#include "test.h"
#include "core/log.h"
#include "core/warning_list.h"
#include <string.h>

static void test_repeated_and_disabled_codes(void **state)
{
  warning_list *w;
  (void)state;
  assert_ok(warning_list_create(&w));
  assert_ok(warning_list_disable(w, "long-step"));
  for (int k = 0; k < 3; ++k) warning_list_add(w, "unsupported-body", "bodies.ball", "falls %d m", k);
  warning_list_add(w, "unsupported-body", "bodies.box", "falls");
  warning_list_add(w, "long-step", "bodies.box", "not listed");
  assert_int_equal(warning_list_count(w), 2);
  assert_string_equal(warning_list_text(w, 0), "bodies.ball: falls 0 m [unsupported-body]");
  assert_string_equal(warning_list_text(w, 1), "bodies.box: falls [unsupported-body]");
  assert_string_equal(warning_list_code(w, 1), "unsupported-body");
  assert_int_equal(warning_list_repeated(w, 0), 3);
  assert_int_equal(warning_list_repeated(w, 1), 1);
  warning_list_destroy(&w);
  warning_list_destroy(&w);
  assert_no_leak();
}

static void test_log_prints_each_entry_once(void **state)
{
  warning_list *w;
  char          text[400] = "";
  FILE         *out       = tmpfile();
  (void)state;
  assert_non_null(out);
  assert_ok(warning_list_create(&w));
  log_redirect(out, true);
  warning_list_add(w, "a", "x", "one");
  assert_int_equal(warning_list_log(w, 0), 1);
  warning_list_add(w, "b", "x", "two");
  assert_int_equal(warning_list_log(w, 1), 2);
  log_redirect(NULL, false);
  rewind(out);
  assert_true(fread(text, 1, sizeof text - 1, out) > 0);
  fclose(out);
  assert_string_equal(text, "warning: x: one [a]\nwarning: x: two [b]\n");
  warning_list_destroy(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_repeated_and_disabled_codes), cmocka_unit_test(test_log_prints_each_entry_once))
