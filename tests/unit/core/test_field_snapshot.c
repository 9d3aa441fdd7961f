/* Snapshots: state comes back to the same bits, whatever its layout, also after its row count has changed; the rest is left alone. */
#include "test.h"
#include <string.h>
#include "core/field_table.h"

enum { ROWS = 5 };

typedef struct {
  int64_t  n, restored;
  double  *x[3];      /* structure of arrays */
  double  *q;         /* [n][4] */
  int32_t *id;
  double  *speed;     /* for frames only: not state */
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

static void test_state_comes_back(void **state)
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

TEST_MAIN(cmocka_unit_test(test_state_comes_back))
