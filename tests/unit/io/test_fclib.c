/* FCLIB files: written problems are read back, in every storage of the format; invalid files are rejected with the name of the
 * dataset. */
#include "fclib_fixture.h"
#include "io/sealed_file.h"
#include <glob.h>
#include <sys/stat.h>

static char folder[256], path[300];

static void begin(void)
{
  folder_make(folder);
  snprintf(path, sizeof path, "%s/p.hdf5", folder);
}

static void write_global(fclib_problem *p)
{
  fixture_global(p);
  assert_ok(fclib_write(path, p, NULL, 0, NULL));
}

static void write_local(fclib_problem *p)
{
  fixture_local(p);
  assert_ok(fclib_write(path, p, NULL, 0, NULL));
}

static void test_round_trip(void **state)
{
  (void)state;
  begin();
  for (int is_global = 0; is_global < 2; ++is_global) {
    fclib_problem p, back;
    if (is_global) fixture_global(&p);
    else fixture_local(&p);
    double           *r = fixture_vector(6, 3), *u = fixture_vector(6, 4), *v = fixture_vector(6, 5), got[6];
    const fclib_state solution = {v, u, r}, guess[2] = {{NULL, u, v}, {NULL, v, u}};
    assert_ok(fclib_write(path, &p, &solution, 2, guess));
    assert_ok(fclib_read(path, &back));
    assert_int_equal(back.is_global, is_global);
    assert_int_equal(back.dimension, 3);
    assert_int_equal(back.n_contacts, 2);
    assert_int_equal(back.n_dof, 6);
    assert_int_equal(back.n_guesses, 2);
    assert_true(back.has_solution && !back.was_half_stored);
    assert_memory_equal(back.mu, p.mu, 2 * sizeof(double));
    if (is_global) {
      assert_true(fixture_same_matrix(&back.M, &p.M) && fixture_same_matrix(&back.H, &p.H));
      assert_memory_equal(back.f, p.f, 48);
      assert_memory_equal(back.w, p.w, 48);
    } else {
      assert_true(fixture_same_matrix(&back.W, &p.W));
      assert_memory_equal(back.q, p.q, 48);
    }
    assert_string_equal(back.title, p.title);
    assert_string_equal(back.description, p.description);
    assert_ok(fclib_read_guess(path, &back, 0, got));
    assert_memory_equal(got, r, 48);
    assert_ok(fclib_read_guess(path, &back, 2, got));
    assert_memory_equal(got, u, 48);
    expect_message(fclib_read_guess(path, &back, 3, got), "no guess 3; there are 2");
    memory_free(&r), memory_free(&u), memory_free(&v);
    fclib_clear(&p);
    fclib_clear(&back);
  }
  folder_remove(folder);
  assert_no_leak();
}

/* The first byte is HDF5's, for programs that look; the same problem gives the same bytes. */
static void test_bytes(void **state)
{
  (void)state;
  fclib_problem p;
  char         *a, *b;
  size_t        n, n_again;
  begin();
  write_local(&p);
  assert_ok(file_read_text(path, &a, &n));
  assert_memory_equal(a, "\211HDF\r\n\032\n", 8);
  assert_ok(fclib_write(path, &p, NULL, 0, NULL));
  assert_ok(file_read_text(path, &b, &n_again));
  assert_int_equal(n, n_again);
  assert_memory_equal(a, b, n);
  memory_free(&a), memory_free(&b);
  fclib_clear(&p);
  folder_remove(folder);
  assert_no_leak();
}

/* H as triplets out of order with a duplicate in two parts and a zero; as rows; as columns out of order: one matrix. p has the columns of triplets. */
static void test_storages(void **state)
{
  (void)state;
  fclib_problem p, back;
  begin();
  for (int storage = 0; storage < 3; ++storage) {
    write_global(&p);
    const fclib_matrix *H = &p.H;
    const int64_t       n = H->start[6];
    int64_t             pp[64], ii[64], at = 0;
    double              x[64];
    if (storage == 0) { /* triplets, last first */
      for (int64_t j = 5; j >= 0; --j)
        for (int64_t k = H->start[j + 1] - 1; k >= H->start[j]; --k)
          pp[at] = j, ii[at] = H->row[k], x[at++] = k ? H->value[k] : 0.25 * H->value[k];
      pp[at] = 0, ii[at] = H->row[0], x[at++] = 0.75 * H->value[0];
      pp[at] = 5, ii[at] = 1, x[at++] = 0.0;
      pp[at] = 99, ii[at] = -7, x[at] = NAN; /* beyond nz: not used */
      spoil_number(path, "fclib_global/H/nz", at);
      spoil_whole(path, "fclib_global/H/p", at + 1, pp);
    } else if (storage == 1) { /* rows, each backwards */
      int64_t starts[7] = {0};
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t j = 5; j >= 0; --j)
          if (fixture_H[i][j] != 0) ii[at] = j, x[at++] = fixture_H[i][j];
        starts[i + 1] = at;
      }
      ii[at] = 1000, x[at] = INFINITY;
      spoil_number(path, "fclib_global/H/nz", -2);
      spoil_whole(path, "fclib_global/H/p", 7, starts);
    } else { /* columns, each backwards */
      for (int64_t j = 0; j < 6; ++j)
        for (int64_t k = H->start[j + 1] - 1; k >= H->start[j]; --k) ii[at] = H->row[k], x[at++] = H->value[k];
      ii[at] = -1, x[at] = NAN;
    }
    spoil_number(path, "fclib_global/H/nzmax", at + 1);
    spoil_whole(path, "fclib_global/H/i", at + 1, ii);
    spoil_real(path, "fclib_global/H/x", at + 1, x);
    assert_true(at >= n);
    assert_ok(fclib_read(path, &back));
    if (!fixture_same_matrix(&back.H, &p.H)) fail_msg("storage %d is read as another matrix", storage);
    fclib_clear(&back);
    fclib_clear(&p);
  }
  folder_remove(folder);
  assert_no_leak();
}

/* Either triangle of M alone is the whole M; H, just as lopsided, is left as it is, and so is W. */
static void test_half_stored(void **state)
{
  (void)state;
  fclib_problem p, back;
  begin();
  for (int is_lower = 0; is_lower < 2; ++is_lower) {
    write_global(&p);
    const int64_t starts_upper[7] = {0, 1, 3, 4, 5, 6, 7}, rows_upper[7] = {0, 0, 1, 2, 3, 4, 5};
    const int64_t starts_lower[7] = {0, 2, 3, 4, 5, 6, 7}, rows_lower[7] = {0, 1, 1, 2, 3, 4, 5};
    const double  upper[7] = {2, 0.25, 2, 4, 0.5, 0.5, 1}, lower[7] = {2, 0.25, 2, 4, 0.5, 0.5, 1};
    spoil_whole(path, "fclib_global/M/p", 7, is_lower ? starts_lower : starts_upper);
    spoil_whole(path, "fclib_global/M/i", 7, is_lower ? rows_lower : rows_upper);
    spoil_real(path, "fclib_global/M/x", 7, is_lower ? lower : upper);
    assert_ok(fclib_read(path, &back));
    assert_true(back.was_half_stored);
    assert_true(fixture_same_matrix(&back.M, &p.M));
    fclib_clear(&back);
    fclib_clear(&p);
  }
  write_local(&p);
  for (int64_t j = 0, n = 0; j < 6; ++j) { /* keep the upper triangle of W */
    const int64_t from = p.W.start[j], to = p.W.start[j + 1];
    p.W.start[j] = n;
    for (int64_t k = from; k < to; ++k)
      if (p.W.row[k] <= j) p.W.row[n] = p.W.row[k], p.W.value[n++] = p.W.value[k];
    if (j == 5) p.W.start[6] = n;
    else p.W.start[j + 1] = to;
  }
  assert_ok(fclib_write(path, &p, NULL, 0, NULL));
  assert_ok(fclib_read(path, &back));
  assert_true(!back.was_half_stored && fixture_same_matrix(&back.W, &p.W));
  fclib_clear(&back);
  fclib_clear(&p);
  folder_remove(folder);
  assert_no_leak();
}

/* Numbers of other widths, scalars as scalars, attributes as arrays of one: read all the same. */
static void test_other_types(void **state)
{
  (void)state;
  fclib_problem p, back;
  const int64_t three = 3, dof = 17;
  begin();
  write_local(&p);
  spoil_array(path, "fclib_local/spacedim", H5T_NATIVE_INT64, H5T_STD_I64BE, 1, &three);
  const double mu[2] = {0.5, 0.25};
  spoil_array(path, "fclib_local/vectors/mu", H5T_NATIVE_DOUBLE, H5T_IEEE_F32BE, 2, mu);
  {
    H5_SCOPE(scope);
    const hid_t file = h5_keep(&scope, spoil_open(path)), info = h5_keep(&scope, H5Gopen2(file, "fclib_local/info", H5P_DEFAULT));
    H5Adelete(info, "numberOfDegreeOfFreedom");
    const hsize_t one   = 1;
    const hid_t   space = h5_keep(&scope, H5Screate_simple(1, &one, NULL));
    const hid_t   a     = h5_keep(&scope, H5Acreate2(info, "numberOfDegreeOfFreedom", H5T_STD_I16LE, space, H5P_DEFAULT, H5P_DEFAULT));
    assert_true(H5Awrite(a, H5T_NATIVE_INT64, &dof) >= 0);
    const hid_t text = h5_keep(&scope, H5Tcopy(H5T_C_S1)), scalar = h5_keep(&scope, H5Screate(H5S_SCALAR));
    H5Tset_size(text, H5T_VARIABLE);
    H5Ldelete(info, "title", H5P_DEFAULT);
    const hid_t title = h5_keep(&scope, H5Dcreate2(info, "title", text, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const char *words = "of variable length";
    assert_true(H5Dwrite(title, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, &words) >= 0);
  }
  assert_ok(fclib_read(path, &back));
  assert_int_equal(back.dimension, 3);
  assert_int_equal(back.n_dof, 17);
  assert_true(back.mu[1] == 0.25);
  assert_string_equal(back.title, "of variable length");
  fclib_clear(&back);
  spoil_delete(path, "fclib_local/info");
  assert_ok(fclib_read(path, &back));
  assert_int_equal(back.n_dof, 0);
  assert_null(back.title);
  fclib_clear(&back);
  fclib_clear(&p);
  folder_remove(folder);
  assert_no_leak();
}

static void refused(const char *fragment)
{
  fclib_problem        back;
  const PetscErrorCode code = fclib_read(path, &back);
  if (code && error_exit_code(code) != SS_EXIT_BAD_INPUT && error_exit_code(code) != SS_EXIT_ENVIRONMENT)
    fail_msg("\"%s\" is reported as an internal error", error_message());
  if (code && !strstr(error_message(), folder)) fail_msg("\"%s\" does not name the file", error_message());
  expect_message(code, fragment);
  assert_null(back.mu); /* nothing is left */
}

static void test_other_files(void **state)
{
  (void)state;
  static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  begin();
  refused("cannot be opened");
  assert_ok(file_replace_text(path, sizeof lfs - 1, lfs));
  refused("is a pointer of Git LFS");
  assert_ok(file_replace_text(path, 0, ""));
  refused("is empty");
  assert_ok(file_replace_text(path, 5, "hello"));
  refused("is not an HDF5 file");
  unlink(path);
  assert_int_equal(mkdir(path, 0777), 0);
  refused("is a folder");
  rmdir(path);
  assert_int_equal(mkfifo(path, 0666), 0);
  refused("is not a regular file");
  unlink(path);
  H5_SCOPE(scope);
  hid_t file;
  assert_ok(h5_create(&scope, path, 0, &file));
  h5_scope_close(&scope);
  refused("no FCLIB problem");
  folder_remove(folder);
  assert_no_leak();
}

/* Each file is good but for one thing. */
static void test_errors_local(void **state)
{
  (void)state;
  fclib_problem p;
  begin();
#define BUT(change, words) (write_local(&p), (change), refused(words), fclib_clear(&p))
#define WHOLE(...) (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__}
  BUT(spoil_group(path, "fclib_global"), "both fclib_local and fclib_global");
  BUT(spoil_number(path, "fclib_local/spacedim", 5), "rolling friction");
  BUT(spoil_number(path, "fclib_local/spacedim", 4), "spacedim is 4; expected 2 or 3");
  BUT(spoil_delete(path, "fclib_local/spacedim"), "spacedim is missing");
  BUT(spoil_delete(path, "fclib_local/vectors"), "vectors is missing");
  BUT(spoil_delete(path, "fclib_local/vectors/q"), "vectors/q is missing");
  BUT(spoil_real(path, "fclib_local/vectors/q", 5, p.q), "has 5 entries; expected a multiple of spacedim = 3");
  BUT(spoil_real(path, "fclib_local/vectors/q", 0, p.q), "no contacts");
  BUT(spoil_real(path, "fclib_local/vectors/mu", 1, p.mu), "vectors/mu has 1 entries; expected 2");
  BUT(spoil_entry(path, "fclib_local/vectors/mu", 1, -0.5), "mu[1] is -0.5; expected a coefficient of friction >= 0");
  BUT(spoil_entry(path, "fclib_local/vectors/mu", 0, NAN), "mu[0] is nan");
  BUT(spoil_entry(path, "fclib_local/vectors/q", 4, INFINITY), "fclib_local/vectors/q[4] is inf");
  BUT(spoil_entry(path, "fclib_local/W/x", 3, NAN), "fclib_local/W/x[3] is nan");
  BUT(spoil_number(path, "fclib_local/W/m", 9), "is 9 x 6; expected 6 x 6");
  BUT(spoil_number(path, "fclib_local/W/nz", -3), "nz is -3");
  BUT(spoil_number(path, "fclib_local/W/nz", 100000), "expected at most nzmax");
  BUT(spoil_number(path, "fclib_local/W/nzmax", 3), "expected at most nzmax = 3");
  BUT(spoil_number(path, "fclib_local/W/nzmax", -1), "nzmax is -1");
  BUT(spoil_whole(path, "fclib_local/W/p", WHOLE(0, 3, 2, 4, 5, 6, 7)), "p[2] is 2, less than the entry before");
  BUT(spoil_whole(path, "fclib_local/W/p", WHOLE(1, 3, 4, 4, 5, 6, 7)), "p[0] is 1; expected 0");
  BUT(spoil_whole(path, "fclib_local/W/p", WHOLE(0, 3)), "W/p has 2 entries; expected 7");
  BUT(spoil_whole(path, "fclib_local/W/i", WHOLE(0, 1, 2)), "W/i has 3 entries");
  BUT((spoil_number(path, "fclib_local/W/nzmax", 36), spoil_whole(path, "fclib_local/W/p", WHOLE(0, 0, 0, 0, 0, 0, 0))), "dense matrix");
  BUT((spoil_whole(path, "fclib_local/W/p", WHOLE(0, 0, 0, 0, 0, 0, 0))), "is empty");
  BUT((spoil_whole(path, "fclib_local/W/p", WHOLE(0, 1, 2, 3, 4, 5, INT32_MAX)), spoil_number(path, "fclib_local/W/nzmax", INT32_MAX)),
      "entries; expected 2147483647"); /* 16 GB */
  BUT(spoil_delete(path, "fclib_local/W/x"), "fclib_local/W/x is missing");
  BUT(spoil_delete(path, "fclib_local/W"), "fclib_local/W is missing");
  BUT(spoil_group(path, "fclib_local/V"), "bilateral constraints (V)");
  BUT(spoil_real(path, "fclib_local/vectors/s", 1, p.q), "bilateral constraints (vectors/s)");
  BUT(spoil_real(path, "fclib_local/W/i", 36, (double[36]){0}), "does not hold whole numbers");
  BUT(spoil_array(path, "fclib_local/vectors/mu", H5T_C_S1, H5T_C_S1, 2, "ab"), "does not hold real numbers");
  BUT(spoil_entry(path, "fclib_local/W/x", 0, 0), "W[0][0] is 0, of the normal of contact 0");
  folder_remove(folder);
  assert_no_leak();
}

static void test_errors_global(void **state)
{
  (void)state;
  fclib_problem p;
  begin();
#undef BUT
#define BUT(change, words) (write_global(&p), (change), refused(words), fclib_clear(&p))
  BUT(spoil_group(path, "fclib_global_rolling"), "both fclib_global and fclib_global_rolling");
  BUT((spoil_delete(path, "fclib_global"), spoil_group(path, "fclib_global_rolling")), "rolling friction");
  BUT(spoil_real(path, "fclib_global/vectors/f", 5, p.f), "M is 6 x 6; expected 5 x 5");
  BUT(spoil_number(path, "fclib_global/H/n", 3), "H is 6 x 3; expected 6 x 6");
  BUT(spoil_group(path, "fclib_global/G"), "bilateral constraints (G)");
  BUT(spoil_real(path, "fclib_global/vectors/b", 1, p.f), "bilateral constraints (vectors/b)");
  BUT(spoil_entry(path, "fclib_global/M/x", 1, 0.3), "M is not symmetric");
  BUT(spoil_entry(path, "fclib_global/vectors/f", 1, NAN), "vectors/f[1] is nan");
  BUT(spoil_entry(path, "fclib_global/vectors/w", 0, NAN), "vectors/w[0] is nan");
  BUT((spoil_number(path, "fclib_global/H/nz", 1), spoil_whole(path, "fclib_global/H/p", WHOLE(6)),
       spoil_whole(path, "fclib_global/H/i", WHOLE(0))),
      "p[0] = 6 is no column; expected 0 to 5 (in triplets, p has the columns and i the rows)");
  BUT((spoil_number(path, "fclib_global/H/nz", 1), spoil_whole(path, "fclib_global/H/p", WHOLE(0)),
       spoil_whole(path, "fclib_global/H/i", WHOLE(-1))),
      "i[0] = -1 is no row");
  BUT((spoil_number(path, "fclib_global/H/nz", 1), spoil_whole(path, "fclib_global/H/p", WHOLE(0)),
       spoil_whole(path, "fclib_global/H/i", WHOLE(0))),
      "contact 1 acts on no degree of freedom");
  BUT((spoil_number(path, "fclib_global/H/nz", 2), spoil_whole(path, "fclib_global/H/p", WHOLE(1, 4)),
       spoil_whole(path, "fclib_global/H/i", WHOLE(0, 1))),
      "the normal of contact 0 acts on no degree of freedom");
  folder_remove(folder);
  assert_no_leak();
}

/* Nothing outside the file is read, and a small file cannot cause a large allocation. */
static void test_invalid_hdf5_is_rejected(void **state)
{
  (void)state;
  fclib_problem p;
  begin();
  write_local(&p);
  hid_t file = spoil_open(path);
  H5Ldelete(file, "fclib_local/vectors/q", H5P_DEFAULT);
  assert_true(H5Lcreate_external("/etc/hostname", "q", file, "fclib_local/vectors/q", H5P_DEFAULT, H5P_DEFAULT) >= 0 &&
              H5Fclose(file) >= 0);
  refused("q is a link");
  assert_ok(fclib_write(path, &p, NULL, 0, NULL));
  {
    H5_SCOPE(scope);
    file = h5_keep(&scope, spoil_open(path));
    H5Ldelete(file, "fclib_local/vectors/q", H5P_DEFAULT);
    const hsize_t n = (hsize_t)3 << 40, chunk = 1024;
    const hid_t   space = h5_keep(&scope, H5Screate_simple(1, &n, NULL)), create = h5_keep(&scope, H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(create, 1, &chunk);
    assert_true(h5_keep(&scope, H5Dcreate2(file, "fclib_local/vectors/q", H5T_IEEE_F64LE, space, H5P_DEFAULT, create, H5P_DEFAULT)) >= 0);
  }
  refused("claims");
  assert_ok(fclib_write(path, &p, NULL, 0, NULL));
  {
    H5_SCOPE(scope);
    file = h5_keep(&scope, spoil_open(path));
    H5Ldelete(file, "fclib_local/vectors/q", H5P_DEFAULT);
    const hsize_t n     = 6;
    const hid_t   space = h5_keep(&scope, H5Screate_simple(1, &n, NULL)), create = h5_keep(&scope, H5Pcreate(H5P_DATASET_CREATE));
    assert_true(H5Pset_external(create, "/etc/hostname", 0, 48) >= 0);
    assert_true(h5_keep(&scope, H5Dcreate2(file, "fclib_local/vectors/q", H5T_IEEE_F64LE, space, H5P_DEFAULT, create, H5P_DEFAULT)) >= 0);
  }
  refused("stored in another file");
  fclib_clear(&p);
  folder_remove(folder);
  assert_no_leak();
}

/* A failed write leaves the old file unchanged; initial guesses are validated when they are read. */
static void test_writing(void **state)
{
  (void)state;
  fclib_problem p, back;
  double        r[6];
  char          nowhere[400];
  begin();
  write_local(&p);
  snprintf(nowhere, sizeof nowhere, "%s/none/p.hdf5", folder);
  expect_message(fclib_write(nowhere, &p, NULL, 0, NULL), "cannot write");
  const fclib_state guess = {NULL, p.q, p.q};
  assert_ok(fclib_write(path, &p, NULL, 1, &guess));
  assert_ok(fclib_read(path, &back));
  expect_message(fclib_read_guess(path, &back, 0, r), "has no solution");
  spoil_entry(path, "guesses/1/r", 2, NAN);
  expect_message(fclib_read_guess(path, &back, 1, r), "guesses/1/r[2] is nan");
  spoil_real(path, "guesses/1/r", 4, p.q);
  expect_message(fclib_read_guess(path, &back, 1, r), "has 4 entries; expected 6");
  fclib_clear(&back);
  spoil_number(path, "guesses/number_of_guesses", -1);
  refused("number_of_guesses is -1");
  fclib_clear(&p);
  folder_remove(folder);
  assert_no_leak();
}

static void test_products(void **state)
{
  (void)state;
  fclib_problem p;
  double        x[6] = {1, -2, 3, 0.5, 0, 1}, y[6];
  fixture_global(&p);
  fclib_apply(&p.H, x, y);
  for (int i = 0; i < 6; ++i) {
    double row = 0;
    for (int j = 0; j < 6; ++j) row += fixture_H[i][j] * x[j];
    assert_close(y[i], row, 1e-15);
  }
  assert_close(fclib_asymmetry(&p.M), 0, 0);
  p.M.value[1] += 0.04;
  assert_close(fclib_asymmetry(&p.M), 0.01, 1e-15);
  char text[16];
  fclib_clean_text("\250 a\tb\033\303\251", sizeof text, text);
  assert_string_equal(text, "? a b?\303\251");
  fclib_clean_text("abcdefghijklmn\303\251", sizeof text, text);
  assert_string_equal(text, "abcdefghijklmn");
  fclib_clear(&p);
  assert_no_leak();
}

/* If reading terminates the process, it is reported as an error of the file. */
static void test_validation_in_a_child_process(void **state)
{
  (void)state;
  fclib_problem p;
  begin();
  write_local(&p);
  assert_ok(fclib_check_readable(path, 20));
  spoil_number(path, "fclib_local/spacedim", 7);
  assert_ok(fclib_check_readable(path, 20)); /* wrong, but it does no harm to read */
  fclib_clear(&p);
  folder_remove(folder);
  assert_no_leak();
}

/* STICKSLIP_FCLIB=FOLDER: every file of a collection is read, or rejected with the right reason; after writing it is the same problem. */
static void test_collection(void **state)
{
  (void)state;
  const char *base  = getenv("STICKSLIP_FCLIB");
  glob_t      files = {0};
  char        pattern[400];
  if (!base) skip();
  snprintf(pattern, sizeof pattern, "%s/*.hdf5", base);
  assert_int_equal(glob(pattern, 0, NULL, &files), 0);
  begin();
  for (size_t i = 0; i < files.gl_pathc; ++i) {
    fclib_problem p, back;
    assert_ok(fclib_check_readable(files.gl_pathv[i], 20));
    if (fclib_read(files.gl_pathv[i], &p)) {
      expect_message(PETSC_ERR_USER_INPUT, "rolling friction");
      continue;
    }
    assert_ok(fclib_write(path, &p, NULL, 0, NULL));
    assert_ok(fclib_read(path, &back));
    assert_int_equal(back.n_dof, p.n_dof);
    if (p.is_global) assert_true(fixture_same_matrix(&back.M, &p.M) && fixture_same_matrix(&back.H, &p.H) && !back.was_half_stored);
    else assert_true(fixture_same_matrix(&back.W, &p.W));
    fclib_clear(&p);
    fclib_clear(&back);
  }
  globfree(&files);
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_bytes), cmocka_unit_test(test_storages),
          cmocka_unit_test(test_half_stored), cmocka_unit_test(test_other_types), cmocka_unit_test(test_other_files),
          cmocka_unit_test(test_errors_local), cmocka_unit_test(test_errors_global), cmocka_unit_test(test_invalid_hdf5_is_rejected),
          cmocka_unit_test(test_writing), cmocka_unit_test(test_products), cmocka_unit_test(test_validation_in_a_child_process),
          cmocka_unit_test(test_collection))
