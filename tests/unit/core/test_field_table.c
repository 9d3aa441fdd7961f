/* Field tables: addresses survive moving arrays, both layouts, and every error. */
#include "core/field_table.h"
#include "test.h"
#include <string.h>

static void both_layouts_follow_moving_arrays(void **state)
{
  (void)state;
  field_table  *table = NULL;
  field_group  *group = NULL;
  const int64_t n     = 4;
  double       *x[3] = {NULL, NULL, NULL}, *frame = NULL;
  int32_t      *id = NULL;

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

static PetscErrorCode count_restored(void *context)
{
  ++*(int *)context;
  return PETSC_SUCCESS;
}

/* Rates in both layouts become zero; other fields and groups without rates do not change. */
static void rates_stop(void **state)
{
  (void)state;
  field_table  *table  = NULL;
  field_group  *moving = NULL, *still = NULL;
  const int64_t n    = 2;
  double        vx[] = {1, 2}, vy[] = {3, 4}, L[] = {1, 2, 3, 4, 5, 6}, x[] = {7, 8};
  double       *v[2] = {vx, vy}, *momentum = L, *position = x;
  int           n_moving = 0, n_still = 0;

  assert_ok(field_table_create(&table));
  assert_ok(field_table_add_group(table, "moving", FIELD_GROUP_PLAIN, &n, &n_moving, &moving));
  assert_ok(field_table_add_group(table, "still", FIELD_GROUP_PLAIN, &n, &n_still, &still));
  moving->restored = still->restored = count_restored;
  assert_ok(field_table_add_soa(table, moving, "velocity", "m/s", FIELD_F64, 2, v, FIELD_CHECKPOINT | FIELD_RATE, "v"));
  assert_ok(field_table_add(table, moving, "momentum", "N s", FIELD_F64, 3, &momentum, FIELD_CHECKPOINT | FIELD_RATE, "L"));
  assert_ok(field_table_add(table, still, "position", "m", FIELD_F64, 1, &position, FIELD_CHECKPOINT, "x"));
  assert_ok(field_table_stop(table));
  for (int i = 0; i < 2; ++i) assert_true(vx[i] == 0.0 && vy[i] == 0.0 && x[i] == 7.0 + i);
  for (int i = 0; i < 6; ++i) assert_true(L[i] == 0.0);
  assert_int_equal(n_moving, 1);
  assert_int_equal(n_still, 0);
  field_table_destroy(&table);
  assert_no_leak();
}

static void expect_refusal(PetscErrorCode code, const char *fragment)
{
  assert_int_not_equal(code, 0);
  if (!strstr(error_message(), fragment)) fail_msg("\"%s\" does not mention \"%s\"", error_message(), fragment);
  error_clear();
}

static void misuse_is_rejected(void **state)
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

/* Snapshots restore the bits of the state with any layout, also after its number of rows has changed; other fields do not change. */

enum { ROWS = 5 };

typedef struct {
  int64_t  n, restored;
  double  *x[3]; /* structure of arrays */
  double  *q;    /* [n][4] */
  int32_t *id;
  double  *speed; /* for frames only: not state */
} points;

static PetscErrorCode resize(void *context, int64_t n)
{
  points *p = context;
  PetscFunctionBeginUser;
  for (int k = 0; k < 3; ++k) PetscCall(memory_resize("x", n, sizeof(double), &p->x[k]));
  PetscCall(memory_resize("q", 4 * n, sizeof(double), &p->q));
  PetscCall(memory_resize("id", n, sizeof(int32_t), &p->id));
  PetscCall(memory_resize("speed", n, sizeof(double), &p->speed));
  p->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode restored(void *context)
{
  ++((points *)context)->restored;
  return PETSC_SUCCESS;
}

static void fill(points *p, double seed)
{
  for (int64_t i = 0; i < p->n; ++i) {
    for (int k = 0; k < 3; ++k) p->x[k][i] = seed + 10.0 * k + (double)i;
    for (int k = 0; k < 4; ++k) p->q[4 * i + k] = -seed - 100.0 * k - (double)i;
    p->id[i]    = (int32_t)(seed + 7.0 * (double)i);
    p->speed[i] = seed;
  }
}

static void test_state_is_restored(void **state)
{
  (void)state;
  points          p = {0};
  field_table    *table;
  field_group    *g;
  field_snapshot *s;
  assert_ok(resize(&p, ROWS));
  assert_ok(field_table_create(&table));
  assert_ok(field_table_add_group(table, "points", FIELD_GROUP_POINTS, &p.n, &p, &g));
  g->resize   = resize;
  g->restored = restored;
  assert_ok(field_table_add_soa(table, g, "position", "m", FIELD_F64, 3, p.x, FIELD_CHECKPOINT | FIELD_FRAME, "x"));
  assert_ok(field_table_add(table, g, "orientation", "1", FIELD_F64, 4, &p.q, FIELD_CHECKPOINT, "q"));
  assert_ok(field_table_add(table, g, "id", "1", FIELD_I32, 1, &p.id, FIELD_CHECKPOINT, "id"));
  assert_ok(field_table_add(table, g, "speed", "m/s", FIELD_F64, 1, &p.speed, FIELD_FRAME | FIELD_DERIVED, "speed"));
  assert_ok(field_snapshot_create(&s));

  const int64_t later[] = {ROWS, ROWS + 3, 2};
  for (int i = 0; i < 3; ++i) {
    fill(&p, 1.0 + i);
    assert_ok(field_snapshot_take(s, table)); /* again and again: the buffer is reused */
    assert_ok(resize(&p, later[i]));
    fill(&p, 99.0);
    assert_ok(field_snapshot_restore(s, table));
    assert_int_equal(p.n, ROWS);
    assert_int_equal(p.restored, i + 1);
    for (int64_t r = 0; r < ROWS; ++r) {
      for (int k = 0; k < 3; ++k) assert_close(p.x[k][r], 1.0 + i + 10.0 * k + (double)r, 0);
      for (int k = 0; k < 4; ++k) assert_close(p.q[4 * r + k], -1.0 - i - 100.0 * k - (double)r, 0);
      assert_int_equal(p.id[r], (int)(1.0 + i + 7.0 * (double)r));
    }
    if (later[i] == ROWS) assert_close(p.speed[0], 99.0, 0);
  }
  field_snapshot_destroy(&s);
  field_table_destroy(&table);
  assert_ok(resize(&p, 0));
  for (int k = 0; k < 3; ++k) memory_free(&p.x[k]);
  memory_free(&p.q);
  memory_free(&p.id);
  memory_free(&p.speed);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(both_layouts_follow_moving_arrays), cmocka_unit_test(groups_stay_where_they_are), cmocka_unit_test(rates_stop),
          cmocka_unit_test(misuse_is_rejected), cmocka_unit_test(test_state_is_restored))
