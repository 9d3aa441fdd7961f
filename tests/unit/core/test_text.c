/* Growing text buffers and escaping for man pages. */
#include "core/text.h"
#include "test.h"
#include <string.h>

static void text_grows(void **state)
{
  (void)state;
  text_buffer b = {0};
  text_append(&b, "", 0);
  assert_string_equal(b.data, "");
  for (int i = 0; i < 1000; ++i) text_printf(&b, "%03d,", i);
  assert_int_equal(b.n, 4000);
  assert_int_equal(strlen(b.data), 4000);
  assert_string_equal(b.data + 3992, "998,999,");
  assert_int_equal(strncmp(b.data, "000,001,002,", 12), 0);
  text_append(&b, "xyz", 2);
  assert_string_equal(b.data + 3996, "999,xy");
  assert_true(b.capacity > b.n && b.capacity < 4 * b.n);
  memory_free(&b.data);
}

/* One text longer than twice the capacity. */
static void long_texts_fit(void **state)
{
  (void)state;
  text_buffer b = {0};
  char        text[5001];
  memset(text, 'a', 5000), text[5000] = 0;
  text_printf(&b, "<%s>", text);
  assert_int_equal(b.n, 5002);
  assert_true(b.data[0] == '<' && b.data[5000] == 'a' && b.data[5001] == '>' && !b.data[5002]);
  memory_free(&b.data);
}

static void troff_is_escaped(void **state)
{
  (void)state;
  static const char *const texts[][2] = {{".start", "\\&.start"},  {"'quote'", "\\&\\(aqquote\\(aq"},
                                         {"a.b", "a.b"},           {"a\\b", "a\\eb"},
                                         {"--out", "\\-\\-out"},   {"`x`", "\\(gax\\(ga"},
                                         {"\"x\"", "\\(dqx\\(dq"}, {"two\nlines", "two lines"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    text_buffer b = {0};
    text_troff(&b, texts[i][0]);
    assert_string_equal(b.data, texts[i][1]);
    memory_free(&b.data);
  }
}

static void characters_are_replaced(void **state)
{
  (void)state;
  text_buffer b = {0}, all = {0};
  text_escape(&b, "$a$", '$', "$$");
  assert_string_equal(b.data, "$$a$$");
  text_put(&all, "<");
  text_join(&all, &b);
  text_put(&all, ">");
  assert_string_equal(all.data, "<$$a$$>");
  assert_int_equal(all.n, 7);
  text_clear(&b);
  text_clear(&all);
}

/* The first error stays in the buffer, later calls have no effect, and the owner receives it. */
static void errors_are_kept(void **state)
{
  (void)state;
  text_buffer b = {0}, all = {0};
  char       *text = NULL;
  text_put(&b, "begin");
  text_append(&b, "too long", INT64_MAX / 2);
  assert_int_equal(b.code, PETSC_ERR_MEM);
  text_put(&b, "end");
  text_printf(&b, "%d", 1);
  assert_string_equal(b.data, "begin");
  text_put(&all, "all:");
  text_join(&all, &b);
  text_put(&all, "more");
  assert_string_equal(all.data, "all:");
  assert_int_equal(text_take(&all, &text), PETSC_ERR_MEM);
  assert_null(text);
  assert_null(all.data);
  text_clear(&b);
  assert_int_equal(b.code, PETSC_SUCCESS);
  error_clear();
  text_put(&b, "again");
  assert_ok(text_take(&b, &text));
  assert_string_equal(text, "again");
  assert_true(!b.data && b.n == 0 && b.capacity == 0);
  memory_free(&text);
}

TEST_MAIN(cmocka_unit_test(characters_are_replaced), cmocka_unit_test(errors_are_kept), cmocka_unit_test(text_grows),
          cmocka_unit_test(long_texts_fit), cmocka_unit_test(troff_is_escaped))
