/* Only regular files are opened, without waiting, and outputs not through symbolic links. */
#include "core/regular_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test.h"
#include "temporary.h"

enum { FILE_NAME, LINK, FOLDER, PIPE, DANGLING, MISSING, N_NAMES };
static char        root[TEMPORARY_ROOM], path[N_NAMES][TEMPORARY_ROOM + 16];
static const char *names[N_NAMES] = {"file", "link", "folder", "pipe", "dangling", "missing"};

static void make_files(void)
{
  assert_non_null(mkdtemp(temporary_name(root, "")));
  for (int i = 0; i < N_NAMES; ++i) (void)snprintf(path[i], sizeof path[i], "%s/%s", root, names[i]);
  FILE *out = fopen(path[FILE_NAME], "w");
  assert_non_null(out);
  assert_true(fputs("text", out) >= 0);
  assert_int_equal(fclose(out), 0);
  assert_int_equal(symlink(path[FILE_NAME], path[LINK]) | mkdir(path[FOLDER], 0777) | mkfifo(path[PIPE], 0666) |
                       symlink(path[MISSING], path[DANGLING]),
                   0);
}

static void remove_files(void)
{
  for (int i = 0; i < N_NAMES; ++i) (void)remove(path[i]);
  (void)rmdir(root);
}

static void assert_opens(const char *name, int flags, const char *reason)
{
  const char *why;
  const int   fd = regular_file_open(name, flags, &why);
  if (fd >= 0) close(fd);
  assert_int_equal(fd >= 0, reason == NULL);
  if (reason) assert_non_null(strstr(why, reason));
}

static void test_inputs(void **state)
{
  (void)state;
  make_files();
  assert_opens(path[FILE_NAME], O_RDONLY, NULL);
  assert_opens(path[LINK], O_RDONLY, NULL);
  assert_opens(path[FOLDER], O_RDONLY, "it is a folder");
  assert_opens(path[PIPE], O_RDONLY, "it is a pipe");
  assert_opens("/dev/null", O_RDONLY, "it is a device");
  assert_opens("/dev/zero", O_RDONLY, "it is a device");
  assert_opens(path[MISSING], O_RDONLY, "No such file");
  const char *why;
  FILE       *in = regular_file_stream(path[LINK], "r", &why);
  char        text[8];
  assert_non_null(in);
  assert_non_null(fgets(text, sizeof text, in));
  assert_string_equal(text, "text");
  fclose(in);
  remove_files();
}

static void test_outputs(void **state)
{
  static const int kinds[] = {LINK, FOLDER, PIPE, DANGLING};
  const char      *why;
  struct stat      about;
  (void)state;
  make_files();
  assert_opens(path[FILE_NAME], O_WRONLY | O_CREAT | O_NOFOLLOW, NULL);
  for (int i = 0; i < 4; ++i) {
    assert_opens(path[kinds[i]], O_RDWR | O_CREAT | O_NOFOLLOW, "it is a ");
    assert_null(regular_file_stream(path[kinds[i]], "w", &why));
    assert_null(regular_file_stream(path[kinds[i]], "a", &why));
  }
  assert_int_equal(stat(path[FILE_NAME], &about), 0);
  assert_int_equal(about.st_size, 4); /* not through the link */
  assert_true(lstat(path[MISSING], &about) && errno == ENOENT);
  remove_files();
}

static void test_create_replaces(void **state)
{
  const char *why;
  struct stat about;
  (void)state;
  make_files();
  static const int kinds[] = {FILE_NAME, LINK, PIPE, DANGLING, MISSING};
  for (int i = 0; i < 5; ++i) {
    const int fd = regular_file_create(path[kinds[i]], &why);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(lstat(path[kinds[i]], &about), 0);
    assert_true(S_ISREG(about.st_mode) && about.st_size == 0);
  }
  assert_int_equal(regular_file_create(path[FOLDER], &why), -1);
  assert_non_null(strstr(why, "folder"));
  remove_files();
}

TEST_MAIN(cmocka_unit_test(test_inputs), cmocka_unit_test(test_outputs), cmocka_unit_test(test_create_replaces))
