/* info and diff: what they say of two states whose differences are known. */
#include "io/checkpoint.h"
#include "core/version.h"
#include "io_fixture.h"

static char  folder[256], path_a[512], path_b[512];
static char *said;

static void write_both(const fixture *a, const fixture *b, const char *job_b, double time_b)
{
  const checkpoint_head ha = {"bed", "penalty", "name: bed\nstep: 1\n", 1, 0.5}, hb = {"bed", "penalty", job_b, 1, time_b};
  char sub[300];
  snprintf(sub, sizeof sub, "%s/a", folder);
  assert_ok(checkpoint_write(sub, &ha, a->table, 0));
  snprintf(path_a, sizeof path_a, "%s/checkpoint_000000001.h5", sub);
  snprintf(sub, sizeof sub, "%s/b", folder);
  assert_ok(checkpoint_write(sub, &hb, b->table, 0));
  snprintf(path_b, sizeof path_b, "%s/checkpoint_000000001.h5", sub);
}

static int diff(double tolerance)
{
  size_t n = 0;
  int    n_different;
  free(said), said = NULL;
  FILE *out = open_memstream(&said, &n);
  assert_ok(checkpoint_diff(path_a, path_b, tolerance, out, &n_different));
  fclose(out);
  return n_different;
}

static void expect_said(const char *fragment)
{
  if (!strstr(said, fragment)) fail_msg("\"%s\" does not say \"%s\"", said, fragment);
}

static void differences_are_found_and_measured(void **state)
{
  (void)state;
  folder_make(folder);
  fixture *a = fixture_create(20, 1.0), *b = fixture_create(20, 1.0);
  write_both(a, b, "name: bed\nstep: 1\n", 0.5);
  assert_int_equal(diff(0.0), 0);
  assert_string_equal(said, "0 differences\n");

  a->x[1][7] = 4.0, b->x[1][7] = 4.0 + 0x1p-20; /* absolute 2^-20, relative 2^-20 / (4 + 2^-20) = 2.38e-7 */
  a->x[2][9] = 1.0, b->x[2][9] = 1.0 + 0x1p-30;
  b->key[3] ^= 1; /* not to be seen by doubles: relative 5e-20 */
  a->turn[5] = 0.0, b->turn[5] = -0.0;
  a->odd[4] = NAN, b->odd[4] = 3.0;
  write_both(a, b, "name: bed\nstep: 2\n", 0.5);
  assert_int_equal(diff(0.0), 4);
  expect_said("bodies/bed/position: 2 of 60 entries differ, from row 7; at most 9.53674e-07 m, relative 2.38e-07");
  expect_said("bodies/bed/key: 1 of 20 entries differ, from row 3");
  expect_said("bodies/bed/turn: 1 of 180 entries differ, from row 0; at most 0 1, relative 0");
  expect_said("bodies/bed/odd: 1 of 20 entries differ, from row 4; at most inf J");
  expect_said("  - step: 1\n  + step: 2\n");
  assert_int_equal(diff(1e-8), 2); /* position, NaN */
  expect_said("bodies/bed/position: 1 of 60 entries differ, from row 7");
  assert_int_equal(diff(1e-6), 1);
  expect_said("1 differences");
  expect_message(checkpoint_diff(path_a, path_b, -1.0, stderr, &(int){0}), "tolerance");

  free(said), said = NULL;
  fixture_destroy(&a), fixture_destroy(&b);
  folder_remove(folder);
  assert_no_leak();
}

static void other_shapes_are_differences(void **state)
{
  (void)state;
  folder_make(folder);
  fixture     *a = fixture_create(20, 1.0), *b = fixture_create(21, 1.0);
  field_group *run = field_table_find_group(b->table, "run"), *news;
  assert_ok(field_table_add(b->table, run, "extra", "s", FIELD_F64, 1, &b->dt, FIELD_CHECKPOINT, "extra"));
  assert_ok(field_table_add_group(b->table, "news", FIELD_GROUP_PLAIN, &b->n_run, NULL, &news));
  assert_ok(field_table_add(b->table, news, "extra", "s", FIELD_F64, 1, &b->dt, FIELD_CHECKPOINT, "extra"));
  field_table_find_group(b->table, "run")->fields[0].n_components = 1;
  write_both(a, b, "name: bed\nstep: 1\n", 0.75);
  assert_int_equal(diff(0.0), 1 + 7 + 1 + 1 + 1); /* time, all of bed, dt, run/extra, news */
  expect_said("time: 0.5 s against 0.75 s");
  expect_said("bodies/bed: 20 rows against 21");
  expect_said("run/dt: f64 x 2 against f64 x 1");
  expect_said("run/extra: only in the second");
  expect_said("news: only in the second");
  char swap[512];
  memcpy(swap, path_a, 512), memcpy(path_a, path_b, 512), memcpy(path_b, swap, 512);
  assert_int_equal(diff(0.5), 7 + 1 + 1 + 1); /* the times agree to a third */
  expect_said("news: only in the first");
  free(said), said = NULL;
  fixture_destroy(&a), fixture_destroy(&b);
  folder_remove(folder);
  assert_no_leak();
}

static void info_tells_what_is_there(void **state)
{
  (void)state;
  size_t n = 0;
  folder_make(folder);
  fixture *a = fixture_create(20, 1.0);
  a->odd[2]  = NAN;
  write_both(a, a, "", 0.5);
  FILE *out = open_memstream(&said, &n);
  assert_ok(checkpoint_info(path_a, out));
  fclose(out);
  expect_said("job bed, penalty, step 1, time 0.5 s");
  char line[128];
  snprintf(line, sizeof line, "written by stickslip %s, format 1", version_text());
  expect_said(line);
  expect_said("job text: 2 lines");
  expect_said("bodies/bed: 20 rows");
  expect_said("f64 x 9");
  expect_said("1 not finite");
  free(said), said = NULL;
  expect_message(checkpoint_info("/nowhere", stderr), "/nowhere cannot be opened");
  fixture_destroy(&a);
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(differences_are_found_and_measured), cmocka_unit_test(other_shapes_are_differences),
          cmocka_unit_test(info_tells_what_is_there))
