/* The table of known pairs: search by key, order independent of insertion, restart. */
#include "test.h"
#include "contact/detection/pair_table.h"

static void stored_pairs_are_found(void **unused)
{
  (void)unused;
  enum { N = 5000 };
  pair_table *t;
  pair_key   *key;
  double     *X, *speed;
  assert_ok(pair_table_create(&t));
  assert_int_equal(pair_table_find(t, (pair_key){0, 0, 0}), -1);
  assert_ok(memory_alloc("key", N, sizeof *key, &key));
  assert_ok(memory_alloc("X", 3 * N, sizeof *X, &X));
  assert_ok(memory_alloc("speed", N, sizeof *speed, &speed));
  /* Neighbouring and huge identities, a permutation of 0..N-1 as arrival (7919 is prime). */
  for (int64_t i = 0; i < N; ++i) {
    const int64_t j = i * 7919 % N;
    key[i]          = (pair_key){(int32_t)(j % 3), (int32_t)(j % 7), j % 2 ? j : INT64_MAX - j};
    X[3 * i]        = (double)j;
    speed[i]        = 0.5 * (double)j;
  }
  assert_ok(pair_table_replace(t, N, key, X, speed));
  assert_int_equal(pair_table_size(t), N);
  for (int64_t i = 0; i < N; ++i) {
    const int64_t row = pair_table_find(t, key[i]);
    assert_true(row >= 0);
    assert_true(pair_table_attachment(t, row)[0] == X[3 * i]);
    assert_true(pair_table_speed(t, row) == speed[i]);
    assert_int_equal(pair_table_find(t, (pair_key){key[i].source + 3, key[i].object, key[i].point}), -1);
    assert_int_equal(pair_table_find(t, (pair_key){key[i].source, key[i].object, -key[i].point - 1}), -1);
  }
  for (int64_t row = 1; row < N; ++row) {
    const pair_key a = pair_table_key(t, row - 1), b = pair_table_key(t, row);
    assert_true(pair_key_compare(&a, &b) < 0);
  }
  assert_ok(pair_table_replace(t, 0, NULL, NULL, NULL));
  assert_int_equal(pair_table_size(t), 0);
  assert_int_equal(pair_table_find(t, key[0]), -1);
  memory_free(&key);
  memory_free(&X);
  memory_free(&speed);
  pair_table_destroy(&t);
  pair_table_destroy(&t);
  assert_no_leak();
}

static void order_is_source_object_point(void **unused)
{
  (void)unused;
  const pair_key in[4] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 9}, {0, 0, -9}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int c = pair_key_compare(&in[i], &in[j]);
      assert_int_equal((c > 0) - (c < 0), (i < j) - (i > j)); /* listed from the last to the first */
    }
  assert_no_leak();
}

static void restart(void **unused)
{
  (void)unused;
  pair_table    *t;
  field_table   *fields;
  const pair_key key[2] = {{0, 1, 5}, {1, 0, 5}};
  const double   X[6] = {1, 2, 3, 4, 5, 6}, speed[2] = {7, 8};
  assert_ok(pair_table_create(&t));
  assert_ok(field_table_create(&fields));
  assert_ok(pair_table_fields(t, 2, fields));
  field_group *g = field_table_find_group(fields, "contact/attachments");
  assert_non_null(g);
  assert_ok(pair_table_replace(t, 2, key, X, speed));
  assert_int_equal(*g->n_rows, 2);
  assert_ok(g->resize(g->context, 1));
  int64_t **point  = (int64_t **)field_group_find(g, "point")->component[0];
  int32_t **object = (int32_t **)field_group_find(g, "object")->component[0];
  (*point)[0]      = 77;
  (*object)[0]     = 1;
  assert_ok(g->restored(g->context));
  assert_int_equal(pair_table_find(t, (pair_key){0, 1, 77}), 0);
  assert_int_equal(pair_table_find(t, key[0]), -1);
  (*object)[0] = -1;
  assert_int_not_equal(g->restored(g->context), 0);
  assert_non_null(strstr(error_message(), "contact/attachments: row 0 joins body 0 to object -1"));
  error_clear();
  (*object)[0]                                                        = 1;
  ((double *)*(void **)field_group_find(g, "speed")->component[0])[0] = NAN;
  assert_int_not_equal(g->restored(g->context), 0);
  assert_non_null(strstr(error_message(), "contact/attachments: row 0 is not finite"));
  error_clear();
  assert_ok(g->resize(g->context, 0));
  assert_ok(g->restored(g->context));
  field_table_destroy(&fields);
  pair_table_destroy(&t);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(stored_pairs_are_found), cmocka_unit_test(order_is_source_object_point), cmocka_unit_test(restart))
