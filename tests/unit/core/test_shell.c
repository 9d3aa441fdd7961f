/* Words as a shell reads them back, and what commands say. */
#include "test.h"
#include <stdio.h>
#include <string.h>
#include "core/process.h"

static void test_a_shell_reads_back_what_was_quoted(void **state)
{
  static const char *const words[] = {"plain", "", "two words", "it's", "$HOME `id` $(id) \\ \"x\" !*?[a]{b,c}~;&|<>#", "a\nb", "--set", "time.end=0.5", "'", "''x"};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    text_buffer command = {0};
    char       *back;
    int         code;
    assert_ok(text_printf(&command, "printf %%s "));
    assert_ok(shell_append_word(&command, words[i]));
    assert_ok(shell_run(command.data, &code, &back));
    assert_int_equal(code, 0);
    assert_string_equal(back, words[i]);
    memory_free(&back);
    memory_free(&command.data);
  }
  assert_no_leak();
}

static void test_words_that_need_none_stay_as_they_are(void **state)
{
  text_buffer b = {0};
  (void)state;
  assert_ok(shell_append_word(&b, "run/dam-0.3:a=b,c@d%e"));
  assert_string_equal(b.data, "run/dam-0.3:a=b,c@d%e");
  memory_free(&b.data);
  assert_no_leak();
}

static void test_what_commands_say_and_how_they_end(void **state)
{
  char *said;
  int   code;
  (void)state;
  assert_ok(shell_run("echo one; echo two; echo lost >/dev/null; exit 7", &code, &said));
  assert_int_equal(code, 7);
  assert_string_equal(said, "one\ntwo\n");
  shell_first_line(said);
  assert_string_equal(said, "one");
  memory_free(&said);
  assert_ok(shell_run("kill -9 $$", &code, &said));
  assert_int_equal(code, -1);
  assert_string_equal(said, "");
  memory_free(&said);
  assert_ok(shell_run("seq 20000", &code, &said));
  assert_int_equal(strlen(said), 108894);
  memory_free(&said);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_a_shell_reads_back_what_was_quoted), cmocka_unit_test(test_words_that_need_none_stay_as_they_are),
          cmocka_unit_test(test_what_commands_say_and_how_they_end))
