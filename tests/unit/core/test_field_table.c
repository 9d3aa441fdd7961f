/* Field tables: addresses survive moving arrays, both layouts, and every refusal. */
#include "core/field_table.h"
#include "test.h"
#include <string.h>

static void both_layouts_follow_moving_arrays(void **state)
{
  (void)state;
  field_table  *table = NULL;
  field_group  *group = NULL;
  const int64_t n     = 4;
  double       *x[3]  = {NULL, NULL, NULL}, *frame = NULL;
  int32_t      *id    = NULL;

  assert_ok(field_table_create(&table));
  assert_ok(field_table_add_group(table, "bodies/bed", FIELD_GROUP_POINTS, &n, NULL, &group));
  assert_ok(field_table_add_soa(table, group, "position", "m", FIELD_F64, 3, x, FIELD_CHECKPOINT | FIELD_FRAME, "where"));
  assert_ok(field_table_add(table, group, "frame", "1", FIELD_F64, 9, &frame, FIELD_CHECKPOINT, "turn"));
  assert_ok(field_table_add(table, group, "id", NULL, FIELD_I32, 1, &id, FIELD_FRAME | FIELD_DERIVED, NULL));
  assert_null(field_component(field_group_find(group, "position"), 2));
  for (int round = 0; round < 2; ++round) { /* the second round moves everything */
    double  xs[3][4], frames[4][9];
    int32_t ids[4];
    for (int k = 0; k < 3; ++k) x[k] = xs[k];
    frame = frames[0], id = ids;
    const field *position = field_group_find(group, "position"), *turn = field_group_find(group, "frame");
    for (int k = 0; k < 3; ++k) assert_ptr_equal(field_component(position, k), xs[k]);
    for (int k = 0; k < 9; ++k) assert_ptr_equal((double *)field_component(turn, k) + 2 * turn->stride, &frames[2][k]);
    assert_int_equal(position->stride, 1);
    assert_ptr_equal(field_component(field_group_find(group, "id"), 0), ids);
  }
  assert_string_equal(field_group_find(group, "id")->unit, "1");
  assert_null(field_group_find(group, "velocity"));
  field_table_destroy(&table);
  assert_null(table);
  field_table_destroy(&table);
  assert_no_leak();
}

static void groups_stay_where_they_are(void **state)
{
  (void)state;
  field_table  *table = NULL;
  field_group  *first = NULL, *group = NULL;
  const int64_t n = 0;

  assert_ok(field_table_create(&table));
  assert_ok(field_table_add_group(table, "first", FIELD_GROUP_PLAIN, &n, NULL, &first));
  for (int i = 0; i < 100; ++i) {
    char name[32];
    snprintf(name, sizeof name, "group/%d", i);
    assert_ok(field_table_add_group(table, name, FIELD_GROUP_PLAIN, &n, &table, &group));
    assert_ptr_equal(field_table_find_group(table, name), group);
  }
  assert_int_equal(field_table_n_groups(table), 101);
  assert_ptr_equal(field_table_group(table, 0), first);
  assert_ptr_equal(field_table_group(table, 100), group);
  assert_null(field_table_group(table, 101));
  assert_null(field_table_group(table, -1));
  field_table_destroy(&table);
  assert_no_leak();
}

static void expect_refusal(PetscErrorCode code, const char *fragment)
{
  assert_int_not_equal(code, 0);
  if (!strstr(error_message(), fragment)) fail_msg("\"%s\" does not mention \"%s\"", error_message(), fragment);
  error_clear();
}

static void misuse_is_refused(void **state)
{
  (void)state;
  field_table  *t = NULL;
  field_group  *g = NULL;
  const int64_t n = 1;
  double       *x = NULL;
  char          too_long[200];

  memset(too_long, 'a', sizeof too_long - 1), too_long[sizeof too_long - 1] = 0;
  assert_ok(field_table_create(&t));
  assert_ok(field_table_add_group(t, "bed", FIELD_GROUP_PLAIN, &n, NULL, &g));
  const char *const bad_groups[] = {"", "/bed", "bed/", "a//b", "a/../b", ".", "a\nb", "a<b", "a\"b", too_long};
  for (size_t i = 0; i < sizeof bad_groups / sizeof *bad_groups; ++i)
    expect_refusal(field_table_add_group(t, bad_groups[i], FIELD_GROUP_PLAIN, &n, NULL, NULL), "group name");
  expect_refusal(field_table_add_group(t, "bed", FIELD_GROUP_PLAIN, &n, NULL, NULL), "registered twice");
  expect_refusal(field_table_add_group(t, "x", FIELD_GROUP_PLAIN, NULL, NULL, NULL), "no row count");
  assert_ok(field_table_add(t, g, "x", "m", FIELD_F64, 1, &x, FIELD_CHECKPOINT, "x"));
  expect_refusal(field_table_add(t, g, "x", "m", FIELD_F64, 1, &x, FIELD_FRAME, "x"), "registered twice");
  expect_refusal(field_table_add(t, g, "a/b", "m", FIELD_F64, 1, &x, FIELD_FRAME, "x"), "slash");
  expect_refusal(field_table_add(t, g, too_long, "m", FIELD_F64, 1, &x, FIELD_FRAME, "x"), "1 to 47 characters");
  expect_refusal(field_table_add(t, g, "y", "m", FIELD_F64, 0, &x, FIELD_FRAME, "x"), "0 components");
  expect_refusal(field_table_add_soa(t, g, "y", "m", FIELD_F64, 10, &x, FIELD_FRAME, "x"), "10 components");
  expect_refusal(field_table_add(t, g, "y", "m", (field_type)99, 1, &x, FIELD_FRAME, "x"), "unknown type");
  expect_refusal(field_table_add(t, g, "y", "m", FIELD_F64, 1, NULL, FIELD_FRAME, "x"), "no array");
  expect_refusal(field_table_add(t, g, "y", "m", FIELD_F64, 1, &x, FIELD_CHECKPOINT | FIELD_DERIVED, "x"), "derived");
  assert_int_equal(g->n_fields, 1);
  assert_int_equal(field_table_n_groups(t), 1);
  field_table_destroy(&t);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(both_layouts_follow_moving_arrays), cmocka_unit_test(groups_stay_where_they_are),
          cmocka_unit_test(misuse_is_refused))
