/* Checkpoints of many rigid bodies: one row per body, names verify that bodies and order are those of the job, and checkpoints of format 1, with a group
 * for each body, are read. */
#include "io/checkpoint.h"
#include "poses_fixture.h"
#include <sys/stat.h>

static char folder[256], path[400];

static void write_checkpoint(const field_table *table)
{
  const checkpoint_head head = {"pile", "exact", NULL, 3, 0.5};
  assert_ok(checkpoint_write(folder, &head, table, 1));
  snprintf(path, sizeof path, "%s/checkpoint_000000003.h5", folder);
}

/* The state of `a` is that of poses_fill(., seed). */
static bool is_filled_with(const poses *a, double seed)
{
  poses     *b     = poses_create(a->n, seed);
  const bool equal = !memcmp(a->x, b->x, (size_t)a->n * 24) && !memcmp(a->q, b->q, (size_t)a->n * 32) &&
                     !memcmp(a->v, b->v, (size_t)a->n * 24) && !memcmp(a->w, b->w, (size_t)a->n * 24);
  poses_destroy(&b);
  return equal;
}

static void expect_refusal(poses *p, const char *message)
{
  expect_message(checkpoint_read(path, "pile", p->table, NULL, NULL), message);
  assert_true(is_filled_with(p, 2.0));
}

/* 100,000 bodies: 104 bytes each and their names. */
static void many_bodies_are_restored(void **state)
{
  (void)state;
  enum { N = 100000 };
  const int64_t n = test_samples(N);
  struct stat   about;
  poses        *a = poses_create(n, 1.0), *b = poses_create(n, 2.0);
  folder_make(folder);
  write_checkpoint(a->table);
  assert_int_equal(stat(path, &about), 0);
  assert_true(about.st_size < 105 * n + a->n_text + 40000);
  assert_true(!is_filled_with(b, 1.0));
  assert_ok(checkpoint_read(path, "pile", b->table, NULL, NULL));
  assert_true(is_filled_with(b, 1.0));
  poses_destroy(&a), poses_destroy(&b);
  folder_remove(folder);
  assert_no_leak();
}

/* Other bodies in the same number, or the same in another order, would get each other's state. */
static void other_bodies_are_rejected(void **state)
{
  (void)state;
  poses *a = poses_create(9, 1.0), *b = poses_create(9, 2.0), *fewer = poses_create(8, 2.0);
  folder_make(folder);
  write_checkpoint(a->table);
  memcpy(b->text, "b1\nb0\n", 6);
  expect_refusal(b, "rigid/names/text differs from that of this job: other bodies, or another order");
  memcpy(b->text, "b0\nb1\n", 6);
  --b->n_text;
  expect_refusal(b, "rigid/names/text differs from that of this job");
  ++b->n_text;
  expect_refusal(fewer, "group rigid/bodies has 9 rows, this job has 8 and cannot change that");
  a->x[5] = NAN;
  expect_message(checkpoint_write(folder, &(checkpoint_head){"pile", NULL, NULL, 4, 1.0}, a->table, 1),
                 "rigid/bodies/position is not finite in row 1, component 2");
  assert_ok(checkpoint_read(path, "pile", b->table, NULL, NULL));
  assert_true(is_filled_with(b, 1.0));
  poses_destroy(&a), poses_destroy(&b), poses_destroy(&fewer);
  folder_remove(folder);
  assert_no_leak();
}

/* A checkpoint of format 1: groups state/NAME with one row each. `first_rows`: row count of the first group. */
static void write_old(const poses *p, int64_t n_groups, const int64_t *first_rows, bool has_spin)
{
  static const int64_t one   = 1;
  const int            state = FIELD_CHECKPOINT | FIELD_RATE;
  double             **row;
  char                *temporary = NULL;
  field_table         *table;
  assert_ok(field_table_create(&table));
  assert_ok(memory_alloc("test", 4 * n_groups, sizeof *row, &row));
  for (int64_t i = 0; i < n_groups; ++i) {
    field_group *g;
    char         name[32];
    snprintf(name, sizeof name, "state/b%lld", (long long)i);
    row[4 * i] = p->x + 3 * i, row[4 * i + 1] = p->q + 4 * i, row[4 * i + 2] = p->v + 3 * i, row[4 * i + 3] = p->w + 3 * i;
    assert_ok(field_table_add_group(table, name, FIELD_GROUP_PLAIN, i == 0 ? first_rows : &one, NULL, &g));
    assert_ok(field_table_add(table, g, "position", "m", FIELD_F64, 3, &row[4 * i], state, "centre"));
    assert_ok(field_table_add(table, g, "orientation", "1", FIELD_F64, 4, &row[4 * i + 1], state, "quaternion"));
    assert_ok(field_table_add(table, g, "velocity", "m/s", FIELD_F64, 3, &row[4 * i + 2], state, "velocity"));
    if (has_spin || i > 0) assert_ok(field_table_add(table, g, "angular_velocity", "rad/s", FIELD_F64, 3, &row[4 * i + 3], state, "spin"));
  }
  write_checkpoint(table);
  assert_ok(file_temporary(path, &temporary));
  assert_int_equal(rename(path, temporary), 0);
  assert_ok(sealed_file_publish(temporary, path, "checkpoint", 1));
  memory_free(&temporary);
  memory_free(&row);
  field_table_destroy(&table);
}

static void old_checkpoints_are_read(void **state)
{
  (void)state;
  static const int64_t one = 1, two = 2;
  poses               *a = poses_create(12, 1.0), *b = poses_create(11, 2.0);
  size_t               n    = 0;
  char                *said = NULL;
  folder_make(folder);
  write_old(a, 11, &one, true);
  assert_ok(checkpoint_read(path, "pile", b->table, NULL, NULL));
  assert_true(is_filled_with(b, 1.0));
  FILE *out = open_memstream(&said, &n);
  assert_ok(checkpoint_info(path, out));
  fclose(out);
  assert_non_null(strstr(said, ", format 1, "));
  free(said);
  poses_fill(b, 2.0);
  write_old(a, 10, &one, true);
  expect_refusal(b, "group state/b10 is missing");
  write_old(a, 12, &one, true);
  expect_refusal(b, "group state/b11 is unknown to this job");
  write_old(a, 11, &two, true);
  expect_refusal(b, "group state/b0 has 2 rows, not 1");
  write_old(a, 11, &one, false);
  expect_refusal(b, "field rigid/bodies/angular_velocity is missing");
  poses_destroy(&a), poses_destroy(&b);
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(many_bodies_are_restored), cmocka_unit_test(other_bodies_are_rejected),
          cmocka_unit_test(old_checkpoints_are_read))
