/* Paths, lists and temporary files of numbered files; other files in the folder do not count. */
#include "io/numbered_files.h"
#include "io/file.h"
#include "io_fixture.h"

static const numbered_files files = {"part/", "file", 3};

static void only_own_names_count(void **state)
{
  (void)state;
  static const char *const names[]    = {"file_012.h5",    "file_003.h5",      "file_1234.h5",  "file_0005.h5", "file_7.h5",
                                         "file_-01.h5",    "file_01x.h5",      "file_008.h5.x", "other_001.h5", "file_009.txt",
                                         "file_999999.h5", ".file_010.h5.tmp", "file_.h5",      "file_ 011.h5", "filename_001.h5"};
  static const int64_t     expected[] = {3, 12, 1234, 999999};
  char                     folder[256], path[400], *own;
  int64_t                  n, *numbers;
  folder_make(folder);
  assert_ok(numbered_files_list(&files, folder, &n, &numbers)); /* no folder */
  assert_int_equal(n, 0);
  assert_null(numbers);
  snprintf(path, sizeof path, "%s/part", folder);
  assert_ok(file_make_directory(path));
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    snprintf(path, sizeof path, "%s/part/%s", folder, names[i]);
    assert_ok(file_replace_text(path, 0, ""));
  }
  assert_ok(numbered_files_list(&files, folder, &n, &numbers));
  assert_int_equal(n, 4);
  for (int i = 0; i < 4; ++i) assert_int_equal(numbers[i], expected[i]);
  memory_free(&numbers);
  assert_ok(numbered_files_path(&files, folder, 12, &own));
  assert_int_equal(access(own, R_OK), 0);
  memory_free(&own);
  numbered_files_remove_temporaries(&files, folder);
  snprintf(path, sizeof path, "%s/part/.file_010.h5.tmp", folder);
  assert_int_not_equal(access(path, F_OK), 0);
  snprintf(path, sizeof path, "%s/part/file_0005.h5", folder);
  assert_int_equal(access(path, F_OK), 0);
  folder_remove(folder);
}

/* A file in place of the folder. */
static void unreadable_folders_are_errors(void **state)
{
  (void)state;
  char    folder[256], path[400];
  int64_t n, *numbers;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/part", folder);
  assert_ok(file_replace_text(path, 0, ""));
  expect_message(numbered_files_list(&files, folder, &n, &numbers), "cannot read the folder");
  assert_null(numbers);
  folder_remove(folder);
}

TEST_MAIN(cmocka_unit_test(only_own_names_count), cmocka_unit_test(unreadable_folders_are_errors))
