/* core/csv: cells are equal after writing and reading; damage is reported; an incomplete row is ignored. */
#include "core/csv.h"
#include <string.h>
#include "test.h"

static void round_trip(void **state)
{
  (void)state;
  static const char *const cell[3][4] = {
      {"a", "b c", "", "d"}, {"1,2", "say \"no\"", "two\nlines", "\""}, {"[0, 1]", "\"\"", " x ", "\xc3\xa4"}};
  text_buffer b = {0};
  csv_table   t;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 4; ++k) csv_append(&b, cell[i][k], k == 0);
    text_append(&b, "\n", 1);
  }
  assert_ok(csv_read("t.csv", b.data, &t));
  assert_int_equal(t.n_rows, 3);
  assert_int_equal(t.n_columns, 4);
  for (int i = 0; i < 12; ++i) assert_string_equal(t.cell[i], cell[i / 4][i % 4]);
  csv_clear(&t);
  memory_free(&b.data);
  assert_no_leak();
}

static void unfinished_rows(void **state)
{
  (void)state;
  static const char *const text[] = {"a,b\n1,2\n3", "a,b\n1,2\n3,", "a,b\n1,2\n3,4", "a,b\n1,2\n3,\"4", "a,b\n1,2\n3,\"4\""};
  for (size_t i = 0; i < sizeof text / sizeof *text; ++i) {
    csv_table t;
    assert_ok(csv_read("t.csv", text[i], &t));
    assert_int_equal(t.n_rows, 2);
    assert_string_equal(t.cell[3], "2");
    csv_clear(&t);
  }
  assert_no_leak();
}

static void damage(void **state)
{
  (void)state;
  static const char *const text[] = {"a,b\n1\n", "a,b\n1,2,3\n", "a,b\n\"1\"x,2\n", "a,b\n\n"};
  for (size_t i = 0; i < sizeof text / sizeof *text; ++i) {
    csv_table t;
    assert_int_equal(csv_read("t.csv", text[i], &t), PETSC_ERR_FILE_READ);
    assert_non_null(strstr(error_message(), "t.csv: row 2"));
    error_clear();
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(round_trip), cmocka_unit_test(unfinished_rows), cmocka_unit_test(damage))
