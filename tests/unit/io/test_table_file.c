/* Tables are equal after writing and reading, with our own reader and with HDF5. */
#include "io/table_file.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "io/h5.h"
#include "io/sealed_file.h"
#include "io_fixture.h"
#include "test.h"

static const double       reals[3]   = {0.1, NAN, -INFINITY};
static const int64_t      wholes[3]  = {1, -2, 9007199254740993};
static const char *const  texts[3]   = {"plain", NULL, "a, \"b\"\nc"};
static const table_column columns[3] = {{.name = "speed/x", .unit = "m/s", .type = TABLE_REAL, .real = reals},
                                        {.name = "n", .unit = "1", .type = TABLE_WHOLE, .whole = wholes},
                                        {.name = "why", .unit = "", .type = TABLE_TEXT, .text = texts}};

static void test_csv(void **state)
{
  (void)state;
  char   folder[256], path[300], *text;
  size_t n;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/t.csv", folder);
  assert_ok(table_write_csv(path, 3, 3, columns));
  assert_ok(file_read_text(path, &text, &n));
  assert_string_equal(text, "speed/x [m/s],n,why\n0.1,1,plain\n,-2,\n,9007199254740993,\"a, \"\"b\"\"\nc\"\n");
  memory_free(&text);
  folder_remove(folder);
  assert_no_leak();
}

static void test_h5(void **state)
{
  (void)state;
  char folder[256], path[300], why[SEALED_WHY], unit[16];
  folder_make(folder);
  snprintf(path, sizeof path, "%s/t.h5", folder);
  assert_ok(table_write_h5(path, "a title", 3, 3, columns));
  assert_true(sealed_file_check(path, "results", TABLE_FORMAT, false, why));
  {
    H5_SCOPE(scope);
    hid_t   file, set, type;
    double  x[3];
    int64_t k[3];
    char    rows[3][16];
    assert_ok(h5_open(&scope, path, &file));
    set = h5_keep(&scope, H5Dopen2(file, "results/speed_x", H5P_DEFAULT));
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    assert_true(x[0] == 0.1 && isnan(x[1]) && isnan(x[2]));
    assert_ok(h5_get_text(path, set, "unit", sizeof unit, unit));
    assert_string_equal(unit, "m/s");
    set = h5_keep(&scope, H5Dopen2(file, "results/n", H5P_DEFAULT));
    assert_true(H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, k) >= 0);
    assert_memory_equal(k, wholes, sizeof k);
    type = h5_keep(&scope, H5Tcopy(H5T_C_S1));
    H5Tset_size(type, sizeof rows[0]);
    H5Tset_cset(type, H5T_CSET_UTF8);
    set = h5_keep(&scope, H5Dopen2(file, "columns", H5P_DEFAULT));
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    assert_string_equal(rows[0], "speed_x");
    assert_string_equal(rows[2], "why");
    set = h5_keep(&scope, H5Dopen2(file, "results/why", H5P_DEFAULT));
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    assert_string_equal(rows[1], "");
    assert_string_equal(rows[2], texts[2]);
  }
  /* What stood there stays if the new one cannot be written. */
  assert_true(table_write_h5("/nonexistent/folder/t.h5", "", 3, 3, columns) != 0);
  error_clear();
  assert_ok(table_write_h5(path, "no rows", 0, 3, columns));
  assert_true(sealed_file_check(path, "results", TABLE_FORMAT, false, why));
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_csv), cmocka_unit_test(test_h5))
