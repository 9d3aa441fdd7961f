/* Words of a command line as a shell reads them back: what a resubmitted job runs. */
#include "test.h"
#include <stdio.h>
#include <string.h>
#include "sim/run/requeue.h"

static void test_a_shell_reads_back_what_was_quoted(void **state)
{
  static const char *const words[] = {"plain", "", "two words", "it's", "$HOME `id` $(id) \\ \"x\" !*?[a]{b,c}~;&|<>#", "a\nb", "--set", "time.end=0.5", "'", "''x"};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    char *quoted, command[600], back[300] = "";
    assert_ok(requeue_quote(words[i], &quoted));
    snprintf(command, sizeof command, "printf %%s %s", quoted);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    back[fread(back, 1, sizeof back - 1, in)] = '\0';
    assert_int_equal(pclose(in), 0);
    assert_string_equal(back, words[i]);
    memory_free(&quoted);
  }
  assert_no_leak();
}

static void test_words_that_need_none_stay_as_they_are(void **state)
{
  char *quoted;
  (void)state;
  assert_ok(requeue_quote("run/dam-0.3:a=b,c@d%e", &quoted));
  assert_string_equal(quoted, "run/dam-0.3:a=b,c@d%e");
  memory_free(&quoted);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_a_shell_reads_back_what_was_quoted), cmocka_unit_test(test_words_that_need_none_stay_as_they_are))
