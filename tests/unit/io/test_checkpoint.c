/* Checkpoints: every bit comes back, the same state gives the same bytes, retention, and writers killed at any moment. */
#include "io/checkpoint.h"
#include "io_fixture.h"
#include "io/h5.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "core/version.h"

static const char JOB[] = "name: bed\ntime: {end: 1.0}\n";

static checkpoint_head head_of(int64_t step) { return (checkpoint_head){"bed", "penalty", JOB, step, 0.1 * (double)step}; }

static void write_step(const char *folder, const fixture *s, int64_t step, int keep)
{
  const checkpoint_head head = head_of(step);
  assert_ok(checkpoint_write(folder, &head, s->table, keep));
}

static bool exists(const char *folder, int64_t step)
{
  char path[512];
  snprintf(path, sizeof path, "%s/checkpoint_%09lld.h5", folder, (long long)step);
  return access(path, F_OK) == 0;
}

static void restored_state_has_every_bit(void **state)
{
  (void)state;
  static const uint64_t odd_bits[] = {0x7ff8000000001234u, 0xfff0000000000000u, 0x7ff0000000000000u, 0x8000000000000000u,
                                      0x0000000000000001u, 0x000fffffffffffffu, 0x7ff4dead0000beefu};
  const double          denormal = 4.9406564584124654e-324, time = 0.1 + 0.2;
  char                  folder[256], *path                       = NULL;
  int64_t               step;
  double                t;

  folder_make(folder);
  fixture *a = fixture_create(20000, 3.0), *b = fixture_create(7, 0.0); /* several chunks; a count to be resized */
  memcpy(a->odd, odd_bits, sizeof odd_bits);
  a->x[1][3] = -0.0, a->x[2][4] = denormal, a->turn[8] = -denormal;
  const checkpoint_head head = {"bed", NULL, JOB, 12, time};
  assert_ok(checkpoint_write(folder, &head, a->table, 0));
  assert_ok(checkpoint_newest(folder, &path));
  assert_non_null(path);
  assert_ok(checkpoint_read(path, "bed", b->table, &step, &t));
  assert_true(fixture_equal(a, b));
  assert_int_equal(step, 12);
  assert_memory_equal(&t, &time, sizeof t);
  assert_int_equal(b->n_resized, 1);
  assert_int_equal(b->n_restored, 1);

  checkpoint_origin origin;
  assert_ok(checkpoint_read_head(path, &origin));
  assert_string_equal(origin.job_text, JOB);
  assert_string_equal(origin.job_name, "bed");
  assert_int_equal(origin.step, 12);
  checkpoint_origin_destroy(&origin);

  memory_free(&path);
  fixture_destroy(&a), fixture_destroy(&b);
  folder_remove(folder);
  assert_no_leak();
}

static void no_rows_and_no_folder_are_fine(void **state)
{
  (void)state;
  char folder[256], deep[300], *path = NULL;
  folder_make(folder);
  snprintf(deep, sizeof deep, "%s/a/b", folder);
  fixture *a = fixture_create(0, 1.0), *b = fixture_create(5, 2.0);
  assert_ok(checkpoint_newest(deep, &path));
  assert_null(path);
  write_step(deep, a, 0, 3);
  assert_ok(checkpoint_newest(deep, &path));
  assert_ok(checkpoint_read(path, NULL, b->table, NULL, NULL));
  assert_true(fixture_equal(a, b));
  memory_free(&path);
  fixture_destroy(&a), fixture_destroy(&b);
  folder_remove(folder);
  assert_no_leak();
}

static void the_same_state_gives_the_same_bytes(void **state)
{
  (void)state;
  char        text[2][2048], folder[256], path[512];
  fixture    *a = fixture_create(1000, 1.0);
  struct stat about[2];

  folder_make(folder);
  for (int i = 0; i < 2; ++i) {
    write_step(folder, a, 4, 1);
    snprintf(path, sizeof path, "%s/checkpoint_000000004.h5", folder);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fread(text[i], 1, sizeof text[i], in), sizeof text[i]); /* the seal contains a checksum of the rest */
    fclose(in);
    stat(path, &about[i]);
  }
  assert_memory_equal(text[0], text[1], sizeof text[0]);
  /* Nor does the clock get in. */
  static const char *const objects[] = {"/", "/job", "/fields", "/fields/bodies", "/fields/bodies/bed", "/fields/bodies/bed/position"};
  H5_SCOPE(scope);
  hid_t file;
  assert_ok(h5_open(&scope, path, &file));
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) {
    H5O_info_t info;
    assert_true(H5Oget_info_by_name2(file, objects[i], &info, H5O_INFO_TIME, H5P_DEFAULT) >= 0);
    assert_true(info.ctime == 0 && info.mtime == 0 && info.btime == 0);
  }
  assert_int_equal(about[0].st_size, about[1].st_size);
  fixture_destroy(&a);
  folder_remove(folder);
  assert_no_leak();
}

static void a_state_that_cannot_be_resumed_is_not_written(void **state)
{
  (void)state;
  char folder[256], *path = NULL;
  folder_make(folder);
  fixture *a = fixture_create(30, 1.0);
  write_step(folder, a, 1, 1);
  a->x[1][17]                = NAN;
  const checkpoint_head head = head_of(2);
  expect_message(checkpoint_write(folder, &head, a->table, 1), "bodies/bed/position is not finite in row 17, component 1");
  assert_true(exists(folder, 1));
  assert_false(exists(folder, 2));
  assert_ok(checkpoint_newest(folder, &path));
  assert_non_null(strstr(path, "000000001"));
  memory_free(&path);
  fixture_destroy(&a);
  folder_remove(folder);
  assert_no_leak();
}

static void retention_keeps_the_newest_good_ones(void **state)
{
  (void)state;
  char folder[256], path[512];
  folder_make(folder);
  fixture *a = fixture_create(10, 1.0);
  for (int64_t step = 1; step <= 5; ++step) write_step(folder, a, step, 3);
  for (int64_t step = 1; step <= 5; ++step) assert_int_equal(exists(folder, step), step > 2);
  /* A damaged one does not count towards the good ones. */
  snprintf(path, sizeof path, "%s/checkpoint_000000004.h5", folder);
  assert_int_equal(truncate(path, 700), 0);
  write_step(folder, a, 6, 3);
  for (int64_t step = 3; step <= 6; ++step) assert_true(exists(folder, step));
  /* Back to step 3: later checkpoints are moved away on request, and only then. */
  write_step(folder, a, 3, 1);
  assert_true(exists(folder, 6));
  assert_ok(checkpoint_continue_from(folder, 3));
  for (int64_t step = 4; step <= 6; ++step) assert_false(exists(folder, step));
  assert_true(exists(folder, 3));
  snprintf(path, sizeof path, "%s/checkpoint_000000004.h5.damaged", folder);
  assert_int_equal(access(path, F_OK), 0);
  assert_ok(checkpoint_drop_all(folder));
  assert_false(exists(folder, 3));
  fixture_destroy(&a);
  folder_remove(folder);
  assert_no_leak();
}

/* Temporary files of killed writers may fill the disk: they are removed before anything is written, and when a run continues. */
static void leftovers_are_removed(void **state)
{
  (void)state;
  char folder[256], path[512];
  folder_make(folder);
  fixture *a = fixture_create(10, 1.0);
  for (int by = 0; by < 2; ++by) {
    snprintf(path, sizeof path, "%s/.checkpoint_000000009.h5.tmp", folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fclose(out);
    if (by) assert_ok(checkpoint_continue_from(folder, 1));
    else write_step(folder, a, 1, 3);
    assert_int_not_equal(access(path, F_OK), 0);
  }
  fixture_destroy(&a);
  folder_remove(folder);
  assert_no_leak();
}

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Write checkpoints whose state identifies their step, until killed; or the same one repeatedly (stride 0). */
static void write_forever(const char *folder, fixture *s, int64_t step, int stride)
{
  for (;; step += stride) {
    const checkpoint_head head = head_of(step);
    fixture_fill(s, (double)step);
    if (checkpoint_write(folder, &head, s->table, 2)) _exit(1);
  }
}

static void kill_at_any_moment_leaves_a_good_one(void **state)
{
  (void)state;
  enum { N_KILLS = 60 };
  char     folder[256];
  int64_t  last   = 1;
  uint64_t random = 12345;
  folder_make(folder);
  fixture *s = fixture_create(3000, 1.0), *expected = fixture_create(3000, 0.0);

  const double start = seconds();
  write_step(folder, s, last, 2);
  double span = 3.0 * (seconds() - start); /* of the random delay: about two checkpoints on any machine */
  for (int i = 0; i < N_KILLS; ++i) {
    char       *path = NULL;
    int64_t     step;
    int         status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) write_forever(folder, s, i % 3 ? last + 1 : last, i % 3 ? 1 : 0);
    random = random * 6364136223846793005u + 1442695040888963407u;
    usleep((useconds_t)(1e6 * span * (double)(random >> 33) * 0x1p-31));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_ok(checkpoint_newest(folder, &path));
    assert_non_null(path);
    fixture_fill(s, -1.0);
    assert_ok(checkpoint_read(path, "bed", s->table, &step, NULL));
    assert_true(step >= last);
    fixture_fill(expected, (double)step);
    assert_true(fixture_equal(s, expected));
    if (i % 3) span *= step == last ? 1.2 : 0.95; /* other loads come and go */
    if (span > 0.1) span = 0.1;
    last = step;
    memory_free(&path);
  }
  print_message("%d kills, %lld checkpoints, %.2f s\n", N_KILLS, (long long)last, seconds() - start);
  assert_true(last > N_KILLS / 6); /* the kills hit writers at work */
  fixture_destroy(&s), fixture_destroy(&expected);
  folder_remove(folder);
  assert_no_leak();
}

/* A disk that fills up while writing: file sizes limited to 100 kB. */
static void a_full_disk_leaves_old_checkpoints(void **state)
{
  (void)state;
  char folder[256], *path = NULL;
  int  status;
  folder_make(folder);
  fixture *s = fixture_create(3000, 1.0);
  write_step(folder, s, 1, 1);
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit   limit = {100000, 100000};
    const checkpoint_head head  = head_of(2);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    const PetscErrorCode code = checkpoint_write(folder, &head, s->table, 1);
    _exit(code == PETSC_ERR_FILE_WRITE && strstr(error_message(), "checkpoint_000000002") ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_ok(checkpoint_newest(folder, &path));
  assert_non_null(strstr(path, "000000001"));
  assert_false(exists(folder, 2));
  memory_free(&path);
  fixture_destroy(&s);
  folder_remove(folder);
  assert_no_leak();
}

/* info and diff: their output for two states with known differences. */

static char  folder[256], path_a[512], path_b[512];
static char *said;

static void write_both(const fixture *a, const fixture *b, const char *job_b, double time_b)
{
  const checkpoint_head ha = {"bed", "penalty", "name: bed\nstep: 1\n", 1, 0.5}, hb = {"bed", "penalty", job_b, 1, time_b};
  char                  sub[300];
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
  assert_ok(checkpoint_diff(path_a, path_b, tolerance, NULL, out, &n_different));
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
  expect_message(checkpoint_diff(path_a, path_b, -1.0, NULL, stderr, &(int){0}), "tolerance");

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

static void info_lists_the_contents(void **state)
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
  snprintf(line, sizeof line, "written by stickslip %s, format %d", version_text(), CHECKPOINT_FORMAT);
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

TEST_MAIN(cmocka_unit_test(restored_state_has_every_bit), cmocka_unit_test(no_rows_and_no_folder_are_fine),
          cmocka_unit_test(the_same_state_gives_the_same_bytes), cmocka_unit_test(a_state_that_cannot_be_resumed_is_not_written),
          cmocka_unit_test(retention_keeps_the_newest_good_ones), cmocka_unit_test(leftovers_are_removed),
          cmocka_unit_test(kill_at_any_moment_leaves_a_good_one), cmocka_unit_test(a_full_disk_leaves_old_checkpoints),
          cmocka_unit_test(differences_are_found_and_measured), cmocka_unit_test(other_shapes_are_differences),
          cmocka_unit_test(info_lists_the_contents))
