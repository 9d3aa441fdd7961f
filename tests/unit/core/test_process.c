/* core/process: streams that are closed or full, and readers that have gone, seen from a child that has them so. */
#include "core/process.h"
#include "test.h"
#include "temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdio.h>

/* What `f` returns in a child of its own. */
static int in_child(int (*f)(void))
{
  int         status;
  const pid_t child = fork();
  if (child == 0) _exit(f());
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int first_file_with_closed_streams(void)
{
  close(0), close(1), close(2);
  process_secure_streams();
  return open("/dev/zero", O_RDONLY);
}
static int first_file_with_one_closed(void)
{
  const int would_be = open("/dev/zero", O_RDONLY);
  close(would_be);
  close(2);
  process_secure_streams();
  return open("/dev/zero", O_RDONLY) == would_be && write(2, "x", 1) == 1 ? 0 : 1;
}
static void no_file_gets_the_number_of_a_closed_stream(void **state)
{
  (void)state;
  assert_in_range(in_child(first_file_with_closed_streams), 3, 1000);
  assert_int_equal(in_child(first_file_with_one_closed), 0);
}

static int print_to(int fd)
{
  int error = 0;
  dup2(fd, 1);
  printf("text\n");
  return process_output_is_whole(&error) ? 0 : error;
}
static int print_well(void) { return print_to(open("/dev/null", O_WRONLY)); }
static int print_to_a_full_disk(void) { return print_to(open("/dev/full", O_WRONLY)); }
static int print_to_nobody(void)
{
  int ends[2];
  process_ignore_signals();
  if (pipe(ends)) return 99;
  close(ends[0]);
  return print_to(ends[1]);
}
static void lost_output_is_noticed(void **state)
{
  (void)state;
  assert_int_equal(in_child(print_well), 0);
  assert_int_equal(in_child(print_to_a_full_disk), ENOSPC);
  assert_int_equal(in_child(print_to_nobody), 0); /* and it lives */
}

static int write_beyond_the_limit(void)
{
  char                name[TEMPORARY_ROOM];
  const int           fd    = mkstemp(temporary_name(name, ""));
  const struct rlimit limit = {10, 10};
  unlink(name);
  process_ignore_signals();
  setrlimit(RLIMIT_FSIZE, &limit);
  return write(fd, "0123456789", 10) == 10 && write(fd, "x", 1) < 0 ? errno : 0;
}
static void a_limit_is_an_error_not_a_death(void **state)
{
  (void)state;
  assert_int_equal(in_child(write_beyond_the_limit), EFBIG);
}

static int hang_up(void)
{
  process_secure_streams();
  signal(SIGHUP, SIG_DFL); /* as a library might */
  process_ignore_signals();
  raise(SIGHUP);
  return process_ignores_hangup() ? 7 : 0;
}
static int hang_up_under_nohup(void)
{
  signal(SIGHUP, SIG_IGN);
  return hang_up();
}
static int hang_up_bare(void)
{
  signal(SIGHUP, SIG_DFL);
  return hang_up();
}
static void nohup_is_respected(void **state)
{
  (void)state;
  assert_int_equal(in_child(hang_up_under_nohup), 7);
  assert_int_equal(in_child(hang_up_bare), 128 + SIGHUP);
}

#ifndef __SANITIZE_ADDRESS__ /* which takes crashes itself */
/* As a library's handler might: it never returns. */
static void wait_for_ever(int number)
{
  (void)number;
  for (;;) pause();
}
static int said;
static int crash(int number)
{
  alarm(10);
  signal(number, wait_for_ever);
  dup2(said, 2);
  process_die_of_crashes();
  raise(number);
  return 0;
}
static int  crash_segv(void) { return crash(SIGSEGV); }
static int  crash_abort(void) { return crash(SIGABRT); }
static void a_crash_is_reported_and_ends_the_process(void **state)
{
  int  ends[2];
  char line[256] = "";
  (void)state;
  assert_int_equal(pipe(ends), 0);
  said = ends[1];
  assert_int_equal(in_child(crash_segv), 128 + SIGSEGV);
  assert_true(read(ends[0], line, sizeof line - 1) > 0);
  assert_non_null(strstr(line, "crashed (signal 11)"));
  memset(line, 0, sizeof line);
  assert_int_equal(in_child(crash_abort), 128 + SIGABRT);
  assert_true(read(ends[0], line, sizeof line - 1) > 0);
  assert_non_null(strstr(line, "crashed (signal 06)"));
  close(ends[0]), close(ends[1]);
}

#define CRASHES cmocka_unit_test(a_crash_is_reported_and_ends_the_process)
#else
#define CRASHES cmocka_unit_test(nohup_is_respected)
#endif

/* Words as a shell reads them back, and what commands say. */

static void test_a_shell_reads_back_what_was_quoted(void **state)
{
  static const char *const words[] = {"plain", "",      "two words",    "it's", "$HOME `id` $(id) \\ \"x\" !*?[a]{b,c}~;&|<>#",
                                      "a\nb",  "--set", "time.end=0.5", "'",    "''x"};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    text_buffer command = {0};
    char       *back;
    int         code;
    text_printf(&command, "printf %%s ");
    shell_append_word(&command, words[i]);
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
  shell_append_word(&b, "run/dam-0.3:a=b,c@d%e");
  assert_string_equal(b.data, "run/dam-0.3:a=b,c@d%e");
  memory_free(&b.data);
  assert_no_leak();
}

static void test_output_and_status_of_commands(void **state)
{
  char *output;
  int   code;
  (void)state;
  assert_ok(shell_run("echo one; echo two; echo lost >/dev/null; exit 7", &code, &output));
  assert_int_equal(code, 7);
  assert_string_equal(output, "one\ntwo\n");
  shell_first_line(output);
  assert_string_equal(output, "one");
  memory_free(&output);
  assert_ok(shell_run("kill -9 $$", &code, &output));
  assert_int_equal(code, -1);
  assert_string_equal(output, "");
  memory_free(&output);
  assert_ok(shell_run("seq 20000", &code, &output));
  assert_int_equal(strlen(output), 108894);
  memory_free(&output);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(no_file_gets_the_number_of_a_closed_stream), cmocka_unit_test(lost_output_is_noticed),
          cmocka_unit_test(a_limit_is_an_error_not_a_death), cmocka_unit_test(nohup_is_respected), CRASHES,
          cmocka_unit_test(test_a_shell_reads_back_what_was_quoted), cmocka_unit_test(test_words_that_need_none_stay_as_they_are),
          cmocka_unit_test(test_output_and_status_of_commands))
