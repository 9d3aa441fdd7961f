/* Damaged and foreign checkpoints: each is rejected with a message that names the problem, and the state does not change.
 *
 * The first table damages the file from outside, as disks and editors do; the seal must detect all of it before HDF5 reads a byte.
 * The second changes the file through HDF5 and seals it again, as another program or version would. */
#include "core/log.h"
#include "io/checkpoint.h"
#include "io/h5.h"
#include "io/sealed_file.h"
#include "io_fixture.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[256], good_path[512], bad_path[512];

static void copy_file(const char *from, const char *to)
{
  char  piece[4096];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  assert_non_null(in), assert_non_null(out);
  for (size_t n; (n = fread(piece, 1, sizeof piece, in)) > 0;) assert_int_equal(fwrite(piece, 1, n, out), n);
  fclose(in);
  assert_int_equal(fclose(out), 0);
}

static int64_t size_of(const char *path)
{
  struct stat about;
  assert_int_equal(stat(path, &about), 0);
  return about.st_size;
}

static void poke(int64_t at, int mask)
{
  unsigned char byte;
  const int     fd = open(bad_path, O_RDWR);
  assert_true(fd >= 0);
  assert_int_equal(pread(fd, &byte, 1, at), 1);
  byte ^= (unsigned char)mask;
  assert_int_equal(pwrite(fd, &byte, 1, at), 1);
  close(fd);
}

static void overwrite(int64_t at, const char *text, size_t n)
{
  const int fd = open(bad_path, O_RDWR);
  assert_true(fd >= 0);
  assert_int_equal(pwrite(fd, text, n, at), (ssize_t)n);
  close(fd);
}

static void cut(int64_t n) { assert_int_equal(truncate(bad_path, n), 0); }

/* ---- From outside ---- */
static void empty(void) { cut(0); }
static void cut_in_seal(void) { cut(100); }
static void cut_after_seal(void) { cut(512); }
static void cut_in_the_middle(void) { cut(size_of(bad_path) / 2); }
static void cut_one_byte(void) { cut(size_of(bad_path) - 1); }
static void appended(void) { cut(size_of(bad_path) + 4096); }
static void first_byte(void) { poke(0, 1); }
static void format_digit(void) { poke((int64_t)strlen("stickslip checkpoint\nformat "), 2); }
static void seal_padding(void) { poke(500, 4); }
static void superblock(void) { poke(512 + 9, 128); }
static void early_data(void) { poke(2000, 1); }
static void middle_data(void) { poke(size_of(bad_path) / 2, 16); }
static void last_byte(void) { poke(size_of(bad_path) - 1, 128); }
static void all_zero(void)
{
  const int64_t n = size_of(bad_path);
  cut(0), cut(n);
}
static void zeroed_page(void)
{
  static const char zeros[4096];
  overwrite(4096, zeros, sizeof zeros);
}
static void a_text(void)
{
  char line[2048];
  memset(line, 'x', sizeof line);
  cut(0), overwrite(0, line, sizeof line);
}
static void bare_hdf5(void) { overwrite(0, "\211HDF\r\n\032\n", 8); }
static void garbled_seal(void) { overwrite(21, "formal", 6); }
static void a_folder(void) { assert_int_equal(remove(bad_path) | mkdir(bad_path, 0777), 0); }
static void a_pipe(void) { assert_int_equal(remove(bad_path) | mkfifo(bad_path, 0666), 0); }
static void missing(void) { assert_int_equal(remove(bad_path), 0); }
static void dangling_link(void) { assert_int_equal(remove(bad_path) | symlink("/nowhere/at/all", bad_path), 0); }

/* ---- Through HDF5 ---- */
static hid_t file;

static void reseal(const char *kind, int format)
{
  char *temporary = NULL;
  assert_ok(file_temporary(bad_path, &temporary));
  assert_int_equal(rename(bad_path, temporary), 0);
  assert_ok(sealed_file_publish(temporary, bad_path, kind, format));
  memory_free(&temporary);
}

static void put_dataset(const char *name, hid_t type, int rank, hsize_t rows, hsize_t columns, bool is_chunked, int deflate)
{
  hsize_t     dims[2] = {rows, columns}, chunk[2] = {4, columns};
  const hid_t space = H5Screate_simple(rank, dims, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
  double      x[1024] = {0};
  uint64_t    sum[4]  = {1, 2, 3, 4};
  if (is_chunked) H5Pset_chunk(create, rank, chunk);
  if (deflate) H5Pset_deflate(create, 1);
  H5Ldelete(file, name, H5P_DEFAULT);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
  assert_true(dataset >= 0);
  if (rows * columns <= 1024) assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
  assert_ok(h5_put_text(bad_path, dataset, "unit", "m"));
  assert_ok(h5_put_numbers(bad_path, dataset, "checksum", H5T_NATIVE_UINT64, H5T_STD_U64LE, 4, sum));
  H5Dclose(dataset), H5Sclose(space), H5Pclose(create);
}

static void put_i64(const char *object, const char *name, int64_t value)
{
  const hid_t o = H5Oopen(file, object, H5P_DEFAULT);
  assert_true(o >= 0);
  H5Adelete(o, name);
  assert_ok(h5_put_numbers(bad_path, o, name, H5T_NATIVE_INT64, H5T_STD_I64LE, 1, &value));
  H5Oclose(o);
}

#define ODD "/fields/bodies/bed/odd"
static void no_dataset(void) { assert_true(H5Ldelete(file, ODD, H5P_DEFAULT) >= 0); }
static void no_fields(void) { assert_true(H5Ldelete(file, "/fields", H5P_DEFAULT) >= 0); }
static void no_group(void) { assert_true(H5Ldelete(file, "/fields/run", H5P_DEFAULT) >= 0); }
static void no_step(void) { H5Adelete(file, "step"); }
static void negative_step(void) { put_i64("/", "step", -3); }
static void negative_rows(void) { put_i64("/fields/bodies/bed", "n_rows", -1); }
static void more_rows(void) { put_i64("/fields/bodies/bed", "n_rows", 41); }
static void text_step(void)
{
  H5Adelete(file, "step");
  assert_ok(h5_put_text(bad_path, file, "step", "twelve"));
}
static void bad_time(void)
{
  const double t = NAN;
  H5Adelete(file, "time");
  assert_ok(h5_put_numbers(bad_path, file, "time", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 1, &t));
}
static void bad_geometry(void)
{
  const int32_t g = 77;
  const hid_t   o = H5Oopen(file, "/fields/run", H5P_DEFAULT);
  H5Adelete(o, "geometry");
  assert_ok(h5_put_numbers(bad_path, o, "geometry", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &g));
  H5Oclose(o);
}
static void wrong_rank(void) { put_dataset(ODD, H5T_IEEE_F64LE, 2, 40, 2, true, 0); }
static void too_wide(void) { put_dataset(ODD, H5T_IEEE_F64LE, 2, 40, 10, true, 0); }
static void fewer_rows(void) { put_dataset(ODD, H5T_IEEE_F64LE, 1, 39, 1, true, 0); }
static void wrong_type(void) { put_dataset(ODD, H5T_IEEE_F32LE, 1, 40, 1, true, 0); }
static void big_endian(void) { put_dataset(ODD, H5T_IEEE_F64BE, 1, 40, 1, true, 0); }
static void contiguous(void) { put_dataset(ODD, H5T_IEEE_F64LE, 1, 40, 1, false, 0); }
static void packed(void) { put_dataset(ODD, H5T_IEEE_F64LE, 1, 40, 1, true, 1); }
static void other_data(void) { put_dataset(ODD, H5T_IEEE_F64LE, 1, 40, 1, true, 0); }
static void extra_field(void) { assert_true(H5Ocopy(file, ODD, file, "/fields/bodies/bed/odder", H5P_DEFAULT, H5P_DEFAULT) >= 0); }
static void huge_claim(void)
{
  put_i64("/fields/bodies/bed", "n_rows", (int64_t)1 << 40);
  const char *const names[] = {"count", "flag", "key", "kind", "odd", "position", "turn"};
  for (int i = 0; i < 7; ++i) {
    char path[128];
    snprintf(path, sizeof path, "/fields/bodies/bed/%s", names[i]);
    put_dataset(path, H5T_IEEE_F64LE, 1, (hsize_t)1 << 40, 1, true, 0);
  }
}
static void extra_group(void) { assert_true(H5Ocopy(file, "/fields/run", file, "/fields/walk", H5P_DEFAULT, H5P_DEFAULT) >= 0); }
static void soft_link(void)
{
  H5Ldelete(file, ODD, H5P_DEFAULT);
  H5Lcreate_soft("/fields/bodies/bed/flag", file, ODD, H5P_DEFAULT, H5P_DEFAULT);
}
static void external_link(void)
{
  H5Ldelete(file, ODD, H5P_DEFAULT);
  H5Lcreate_external("/etc/hostname", "/", file, ODD, H5P_DEFAULT, H5P_DEFAULT);
}
static void a_cycle(void) { assert_true(H5Lcreate_hard(file, "/fields", file, "/fields/round", H5P_DEFAULT, H5P_DEFAULT) >= 0); }
/* Each level links to the one below twenty times: 20^6 paths, not too deep, but too many. */
static void a_maze(void)
{
  char path[16], name[2][32];
  for (int i = 0; i < 7; ++i) {
    snprintf(path, sizeof path, "/maze%d", i);
    H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (int k = 0; k < 20 && i; ++k) {
      snprintf(name[0], sizeof name[0], "/maze%d/%d", i, k), snprintf(name[1], sizeof name[1], "/maze%d", i - 1);
      assert_true(H5Lcreate_hard(file, name[1], file, name[0], H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
  }
  assert_true(H5Lcreate_hard(file, "/maze6", file, "/fields/maze", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}
static void a_named_type(void)
{
  const hid_t t = H5Tcopy(H5T_NATIVE_INT);
  assert_true(H5Tcommit2(file, "/fields/bodies/bed/type", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Tclose(t);
}
static void job_is_a_group(void)
{
  H5Ldelete(file, "/job", H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "/job", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}
static void job_is_numbers(void) { put_dataset("/job", H5T_IEEE_F64LE, 1, 40, 1, true, 0); }
static void long_kind(void)
{
  char text[400];
  memset(text, 'k', sizeof text - 1), text[sizeof text - 1] = 0;
  H5Adelete(file, "kind");
  assert_ok(h5_put_text(bad_path, file, "kind", text));
}
static void another_kind(void)
{
  H5Adelete(file, "kind");
  assert_ok(h5_put_text(bad_path, file, "kind", "frame"));
}

typedef struct {
  const char *name, *message;
  void (*spoil)(void);
} damage;
/* clang-format off */
#define DAMAGE(function, message) {#function, message, function}

static const damage outside[] = {
  DAMAGE(empty, "is empty"), DAMAGE(cut_in_seal, "was cut off: only 100 bytes are left"), DAMAGE(cut_after_seal, "was cut off: it has 512 bytes"),
  DAMAGE(cut_in_the_middle, "was cut off: it has"), DAMAGE(cut_one_byte, "was cut off: it has"), DAMAGE(appended, "is damaged: it has"),
  DAMAGE(first_byte, "is not a stickslip checkpoint"), DAMAGE(format_digit, "bytes have changed"), DAMAGE(seal_padding, "bytes of its header have changed"),
  DAMAGE(superblock, "bytes have changed since it was written"), DAMAGE(early_data, "bytes have changed since it was written"),
  DAMAGE(middle_data, "bytes have changed since it was written"), DAMAGE(last_byte, "bytes have changed since it was written"),
  DAMAGE(all_zero, "is not a stickslip checkpoint"), DAMAGE(zeroed_page, "bytes have changed since it was written"), DAMAGE(a_text, "is not a stickslip checkpoint"),
  DAMAGE(bare_hdf5, "is not a stickslip checkpoint"), DAMAGE(garbled_seal, "header cannot be read"), DAMAGE(a_folder, "is a folder, not a file"),
  DAMAGE(a_pipe, "is something special, not a file"), DAMAGE(missing, "cannot be opened: No such file"), DAMAGE(dangling_link, "cannot be opened: No such file"),
};
static const damage inside[] = {
  DAMAGE(no_dataset, "bodies/bed has 6 fields, 7 were written"), DAMAGE(no_fields, "group \"fields\" is missing"), DAMAGE(no_group, "group run is missing"),
  DAMAGE(no_step, "attribute \"step\" is missing"), DAMAGE(negative_step, "is negative: -3"), DAMAGE(negative_rows, "has -1 rows"),
  DAMAGE(more_rows, "has 40 rows, its group has 41"), DAMAGE(text_step, "attribute \"step\" has another type"), DAMAGE(bad_time, "\"time\" is not finite"),
  DAMAGE(bad_geometry, "unknown geometry 77"), DAMAGE(wrong_rank, "bodies/bed/odd is f64 with 2 components, this job needs f64 with 1"),
  DAMAGE(too_wide, "bodies/bed/odd has 10 components"), DAMAGE(fewer_rows, "bodies/bed/odd has 39 rows, its group has 40"),
  DAMAGE(wrong_type, "bodies/bed/odd is f32 with 1 components"), DAMAGE(big_endian, "bodies/bed/odd has a type that is none of ours"),
  DAMAGE(contiguous, "bodies/bed/odd is not stored in chunks"), DAMAGE(packed, "bodies/bed/odd has 1 filters that are not ours"),
  DAMAGE(other_data, "checksum does not fit its data"), DAMAGE(extra_field, "bodies/bed has 8 fields, 7 were written"),
  DAMAGE(huge_claim, "but the file contains fewer"), DAMAGE(extra_group, "group walk is unknown to this job"), DAMAGE(soft_link, "bodies/bed/odd is a link to elsewhere"),
  DAMAGE(external_link, "bodies/bed/odd is a link to elsewhere"), DAMAGE(a_cycle, "round has 2 links, which may form cycles"),
  DAMAGE(a_maze, "links, which may form cycles"),
  DAMAGE(a_named_type, "bodies/bed/type is neither a group nor a field"), DAMAGE(job_is_a_group, "/job is not a dataset"), DAMAGE(job_is_numbers, "/job is not a text"),
  DAMAGE(long_kind, "attribute \"kind\" is not a text of at most"), DAMAGE(another_kind, "is a frame"),
};
/* clang-format on */

static fixture *state_now, *state_before;

static void set_up(void)
{
  const checkpoint_head head = {"bed", "penalty", "name: bed\n", 1, 0.5};
  folder_make(folder);
  state_now    = fixture_create(40, 9.0);
  state_before = fixture_create(40, 9.0);
  assert_ok(checkpoint_write(folder, &head, state_now->table, 0));
  snprintf(good_path, sizeof good_path, "%s/checkpoint_000000001.h5", folder);
  snprintf(bad_path, sizeof bad_path, "%s/checkpoint_000000002.h5", folder);
  fixture_fill(state_now, 5.0), fixture_fill(state_before, 5.0); /* differs from the content of the file */
}

static void tear_down(void)
{
  fixture_destroy(&state_now), fixture_destroy(&state_before);
  folder_remove(folder);
  assert_no_leak();
}

static void expect_refusal_untouched(const char *name, const char *job_name, const char *message)
{
  int64_t              step = -7;
  double               time = -7.0;
  const PetscErrorCode code = checkpoint_read(bad_path, job_name, state_now->table, &step, &time);
  if (code != PETSC_ERR_FILE_READ) fail_msg("%s: code %d, \"%s\"", name, (int)code, error_message());
  if (!strstr(error_message(), message)) fail_msg("%s: \"%s\" does not mention \"%s\"", name, error_message(), message);
  if (!strstr(error_message(), "checkpoint_000000002.h5")) fail_msg("%s: \"%s\" names no file", name, error_message());
  error_clear();
  if (!fixture_equal(state_now, state_before)) fail_msg("%s: the state was touched", name);
  assert_int_equal(step, -7);
  assert_true(time == -7.0 && !state_now->n_restored && !state_now->n_resized);
}

static void damage_from_outside_is_caught_by_the_seal(void **unused)
{
  (void)unused;
  set_up();
  for (size_t i = 0; i < sizeof outside / sizeof *outside; ++i) {
    char  *path = NULL, *said = NULL;
    size_t n = 0;
    copy_file(good_path, bad_path);
    outside[i].spoil();
    expect_refusal_untouched(outside[i].name, "bed", outside[i].message);
    /* The newest good one wins, and the damaged one is named. */
    FILE *log = open_memstream(&said, &n);
    log_redirect(log, false);
    assert_ok(checkpoint_newest(folder, &path));
    log_redirect(NULL, false);
    fclose(log);
    assert_string_equal(path, good_path);
    struct stat about;
    if (!lstat(bad_path, &about) && (!strstr(said, "checkpoint_000000002.h5") || !strstr(said, outside[i].message)))
      fail_msg("%s: the log is \"%s\"", outside[i].name, said);
    free(said);
    memory_free(&path);
    remove(bad_path);
  }
  tear_down();
}

static void foreign_contents_are_rejected(void **unused)
{
  (void)unused;
  set_up();
  for (size_t i = 0; i < sizeof inside / sizeof *inside; ++i) {
    copy_file(good_path, bad_path);
    file = H5Fopen(bad_path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    inside[i].spoil();
    assert_true(H5Fclose(file) >= 0);
    reseal("checkpoint", CHECKPOINT_FORMAT);
    expect_refusal_untouched(inside[i].name, "bed", inside[i].message);
  }
  tear_down();
}

static void foreign_seals_are_rejected(void **unused)
{
  (void)unused;
  set_up();
  copy_file(good_path, bad_path), reseal("checkpoint", CHECKPOINT_FORMAT + 1);
  expect_refusal_untouched("newer", "bed", "has format 3");
  copy_file(good_path, bad_path), reseal("frame", 1);
  expect_refusal_untouched("frame", "bed", "is a stickslip frame, not a checkpoint");
  copy_file(good_path, bad_path), overwrite(512, "no HDF5 at all here", 19), reseal("checkpoint", 1);
  expect_refusal_untouched("no HDF5", "bed", "HDF5 failed in H5Fopen");
  copy_file(good_path, bad_path);
  expect_refusal_untouched("another job", "snow", "belongs to the job \"bed\", not to \"snow\"");
  if (geteuid()) { /* root may read everything */
    assert_int_equal(chmod(bad_path, 0), 0);
    expect_refusal_untouched("unreadable", "bed", "cannot be opened: Permission denied");
  }
  tear_down();
}

/* Continuing from an older checkpoint would discard the results of a newer program, or a file without read permission. */
static void newer_or_unreadable_checkpoints_are_not_skipped(void **unused)
{
  char *path = NULL;
  (void)unused;
  set_up();
  copy_file(good_path, bad_path), reseal("checkpoint", CHECKPOINT_FORMAT + 1);
  assert_int_equal(checkpoint_newest(folder, &path), PETSC_ERR_FILE_READ);
  assert_non_null(strstr(error_message(), "checkpoint_000000002.h5 has format 3"));
  assert_non_null(strstr(error_message(), "move it away"));
  assert_null(path);
  error_clear();
  copy_file(good_path, bad_path);
  const struct rlimit none = {3, 3}; /* too many open files: no fault of the file */
  struct rlimit       usual;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const pid_t child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_NOFILE, &none);
    char why[SEALED_WHY];
    _exit(sealed_file_state(bad_path, "checkpoint", 1, false, why) == SEALED_OUT_OF_REACH ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  tear_down();
}

static void only_damaged_ones_are_an_error(void **unused)
{
  char *path = NULL;
  (void)unused;
  set_up();
  copy_file(good_path, bad_path), cut(600);
  remove(good_path);
  assert_int_equal(checkpoint_newest(folder, &path), PETSC_ERR_FILE_READ);
  assert_non_null(strstr(error_message(), "all 1 checkpoints are damaged"));
  error_clear();
  tear_down();
}

static void other_tables_are_rejected(void **unused)
{
  (void)unused;
  set_up();
  copy_file(good_path, bad_path);
  field_group *bed = field_table_find_group(state_now->table, "bodies/bed"), *run = field_table_find_group(state_now->table, "run");
  double      *more = NULL;
  memory_alloc("test", 40, sizeof *more, &more);
  /* A count that cannot change. */
  bed->resize = NULL, state_now->n = state_before->n = 39;
  expect_refusal_untouched("fixed count", "bed", "group bodies/bed has 40 rows, this job has 39 and cannot change that");
  bed->resize = fixture_resize, state_now->n = state_before->n = 40;
  /* The table has something the file has not. */
  assert_ok(field_table_add(state_now->table, run, "news", "1", FIELD_F64, 1, &more, FIELD_CHECKPOINT, "new"));
  expect_refusal_untouched("new field", "bed", "field run/news is missing");
  run->fields[run->n_fields - 1].flags = FIELD_FRAME;
  assert_ok(field_table_add_group(state_now->table, "bodies/ball", FIELD_GROUP_PLAIN, &state_now->n_run, NULL, &run));
  assert_ok(field_table_add(state_now->table, run, "x", "1", FIELD_F64, 1, &more, FIELD_CHECKPOINT, "new"));
  expect_refusal_untouched("new group", "bed", "group bodies/ball is missing");
  run->fields[0].flags = FIELD_FRAME;
  /* A field that was state once, and one whose values must be finite now. */
  field *odd = (field *)(uintptr_t)field_group_find(bed, "odd");
  odd->flags = FIELD_FRAME;
  expect_refusal_untouched("no state any more", "bed", "field bodies/bed/odd is unknown to this job");
  odd->flags                 = FIELD_CHECKPOINT | FIELD_ANY_BITS;
  state_now->odd[33]         = INFINITY;
  const checkpoint_head head = {"bed", NULL, NULL, 2, 0.5};
  assert_ok(checkpoint_write(folder, &head, state_before->table, 0));
  state_before->odd[33] = INFINITY;
  assert_ok(checkpoint_write(folder, &head, state_before->table, 0));
  odd->flags = FIELD_CHECKPOINT;
  expect_refusal_untouched("not finite", "bed", "field bodies/bed/odd is not finite in row 33");
  memory_free(&more);
  tear_down();
}

/* Flip one random bit anywhere: always rejected, never a crash. */
static void any_flipped_bit_is_caught(void **unused)
{
  (void)unused;
  char     why[SEALED_WHY];
  uint64_t random = 7;
  set_up();
  copy_file(good_path, bad_path);
  const uint64_t n = (uint64_t)size_of(bad_path);
  assert_true(sealed_file_check(bad_path, "checkpoint", CHECKPOINT_FORMAT, false, why));
  for (int i = 0; i < 2000; ++i) {
    random           = random * 6364136223846793005u + 1442695040888963407u;
    const int64_t at = i < 512 ? i : (int64_t)((random >> 20) % n);
    poke(at, 1 << (random >> 60 & 7));
    if (sealed_file_check(bad_path, "checkpoint", CHECKPOINT_FORMAT, false, why)) fail_msg("byte %lld: not seen", (long long)at);
    poke(at, 1 << (random >> 60 & 7));
  }
  assert_true(sealed_file_check(bad_path, "checkpoint", CHECKPOINT_FORMAT, false, why));
  tear_down();
}

TEST_MAIN(cmocka_unit_test(damage_from_outside_is_caught_by_the_seal), cmocka_unit_test(foreign_contents_are_rejected),
          cmocka_unit_test(foreign_seals_are_rejected), cmocka_unit_test(newer_or_unreadable_checkpoints_are_not_skipped),
          cmocka_unit_test(only_damaged_ones_are_an_error), cmocka_unit_test(other_tables_are_rejected),
          cmocka_unit_test(any_flipped_bit_is_caught))
