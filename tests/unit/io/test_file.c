/* Delayed flushing: written files are visible at once, and are flushed to the disk once, after the delay. */
#include "io/file.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "io/history.h"
#include "io/sealed_file.h"
#include "io_fixture.h"
#include "test.h"

/* In place of the system's: counts. */
static int n_files, n_folders;
int        fsync(int fd)
{
  struct stat about;
  assert_int_equal(fstat(fd, &about), 0);
  if (S_ISDIR(about.st_mode)) ++n_folders;
  else ++n_files;
  return 0;
}

static void expect_flushes(int files, int folders)
{
  assert_int_equal(n_files, files);
  assert_int_equal(n_folders, folders);
  n_files = n_folders = 0;
}

static void write_text(const char *folder, const char *name, const char *text)
{
  char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_ok(file_replace_text(path, strlen(text), text));
}

static void write_sealed(const char *folder, const char *name, const char *kind)
{
  char path[300], *temporary, empty[SEAL_BYTES] = "";
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_ok(file_temporary(path, &temporary));
  FILE *out = fopen(temporary, "w");
  assert_int_equal(fwrite(empty, 1, sizeof empty, out), sizeof empty);
  fclose(out);
  assert_ok(sealed_file_publish(temporary, path, kind, 1));
  char why[SEALED_WHY];
  assert_true(sealed_file_check(path, kind, 1, false, why)); /* visible, flushed or not */
  memory_free(&temporary);
}

static void test_at_once(void **state)
{
  (void)state;
  char folder[256];
  folder_make(folder);
  n_files = n_folders = 0;
  write_text(folder, "a", "x");
  expect_flushes(1, 1);
  write_sealed(folder, "b", "frame");
  expect_flushes(1, 1);
  folder_remove(folder);
  assert_no_leak();
}

static void test_put_off(void **state)
{
  (void)state;
  char folder[256], below[300], path[320];
  folder_make(folder);
  snprintf(below, sizeof below, "%s/below", folder);
  assert_int_equal(mkdir(below, 0777), 0);
  n_files = n_folders = 0;
  flush_defer(1e6);
  for (int i = 0; i < 5; ++i) write_text(folder, "a", "x");
  write_sealed(below, "frame", "frame");
  write_sealed(below, "one", "checkpoint");
  write_sealed(below, "two", "checkpoint");
  expect_flushes(0, 0);
  snprintf(path, sizeof path, "%s/one", below);
  unlink(path); /* an old checkpoint goes: nothing to flush */
  assert_ok(flush_now(true));
  expect_flushes(1, 1); /* two, below */
  write_text(folder, "a", "y");
  expect_flushes(1, 1); /* no longer put off */

  flush_defer(1e6);
  write_text(folder, "a", "x");
  write_text(folder, "b", "x");
  write_sealed(below, "frame", "frame");
  snprintf(path, sizeof path, "%s/a", folder);
  assert_ok(flush_later(path, true)); /* becomes vital */
  assert_ok(flush_now(true));
  expect_flushes(1, 1);

  flush_defer(1e6);
  write_text(folder, "a", "x");
  write_text(folder, "b", "x");
  write_sealed(below, "frame", "frame");
  assert_ok(flush_now(false));
  expect_flushes(3, 2);
  folder_remove(folder);
  assert_no_leak();
}

static void test_time_is_up(void **state)
{
  (void)state;
  char              folder[256], path[300];
  const char *const name = "step", *const unit = "";
  const double value = 1;
  history     *h;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/h.csv", folder);
  n_files = n_folders = 0;
  flush_defer(0.05);
  assert_ok(history_open(path, 1, &name, &unit, -1, &h));
  assert_ok(history_row(h, &value));
  assert_ok(history_flush(h));
  write_text(folder, "a", "x");
  expect_flushes(0, 0);
  usleep(60000);
  write_text(folder, "b", "x"); /* makes up for a and the history before it */
  expect_flushes(3, 2);
  assert_ok(history_flush(h));
  expect_flushes(1, 0);
  assert_ok(history_close(&h));
  folder_remove(folder);
  assert_no_leak();
}

/* A buffer with an error is not written; the earlier file stays. */
static void buffers_are_written(void **state)
{
  (void)state;
  char        folder[256], path[300], *text;
  text_buffer b = {0};
  size_t      n;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/text", folder);
  text_put(&b, "two\nlines\n");
  assert_ok(file_replace_with(path, &b));
  assert_null(b.data);
  text_put(&b, "new");
  text_append(&b, "too long", INT64_MAX / 2);
  assert_int_equal(file_replace_with(path, &b), PETSC_ERR_MEM);
  assert_null(b.data);
  error_clear();
  assert_ok(file_read_text(path, &text, &n));
  assert_string_equal(text, "two\nlines\n");
  assert_int_equal(n, 10);
  memory_free(&text);
  folder_remove(folder);
}

/* No file, an empty one, a folder in its place. */
static void files_are_read_whole(void **state)
{
  (void)state;
  char   folder[256], path[300], *text;
  size_t n = 1;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/none", folder);
  assert_ok(file_read_text(path, &text, &n));
  assert_true(!text && n == 0);
  write_text(folder, "none", "");
  assert_ok(file_read_text(path, &text, &n));
  assert_true(text && *text == '\0' && n == 0);
  memory_free(&text);
  assert_int_equal(file_read_text(folder, &text, &n), PETSC_ERR_FILE_OPEN);
  assert_non_null(strstr(error_message(), folder));
  assert_true(!text && n == 0);
  error_clear();
  folder_remove(folder);
}

TEST_MAIN(cmocka_unit_test(files_are_read_whole), cmocka_unit_test(buffers_are_written), cmocka_unit_test(test_at_once),
          cmocka_unit_test(test_put_off), cmocka_unit_test(test_time_is_up))
