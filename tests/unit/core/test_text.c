/* Growing text buffers and escaping for man pages. */
#include "core/text.h"
#include "test.h"
#include <string.h>

static void text_grows(void **state)
{
  (void)state;
  text_buffer b = {0};
  assert_ok(text_append(&b, "", 0));
  assert_string_equal(b.data, "");
  for (int i = 0; i < 1000; ++i) assert_ok(text_printf(&b, "%03d,", i));
  assert_int_equal(b.n, 4000);
  assert_int_equal(strlen(b.data), 4000);
  assert_string_equal(b.data + 3992, "998,999,");
  assert_int_equal(strncmp(b.data, "000,001,002,", 12), 0);
  assert_ok(text_append(&b, "xyz", 2));
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
  assert_ok(text_printf(&b, "<%s>", text));
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
    assert_ok(text_troff(&b, texts[i][0]));
    assert_string_equal(b.data, texts[i][1]);
    memory_free(&b.data);
  }
}

TEST_MAIN(cmocka_unit_test(text_grows), cmocka_unit_test(long_texts_fit), cmocka_unit_test(troff_is_escaped))
