/* Arbitrary files as FCLIB problems: rejected with a message and without leaks, or read into a valid problem that is the same after
 * writing and reading it again.
 *
 * The first byte selects a mode. 0: the rest is the file (HDF5 files are only passed to fclib_check_readable, because they would find faults
 * of libhdf5). 1: the rest changes entries of a valid file. 2: the rest is a program that changes the file through HDF5. */
#define _GNU_SOURCE /* memmem */
#include "fuzz_h5.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/fclib.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static char           folder[256], path[300], again[300];
static unsigned char *good[2];
static long           n_good[2];
static bool           is_global;

static void clean_up(void) { remove(path), remove(again), remove(folder); }

static const char *name_at(int i)
{
  static const char *const names[2][20] = {
      {"/fclib_local",           "/fclib_local/W",          "/fclib_local/W/m",       "/fclib_local/W/n", "/fclib_local/W/nz",
       "/fclib_local/W/nzmax",   "/fclib_local/W/p",        "/fclib_local/W/i",       "/fclib_local/W/x", "/fclib_local/vectors",
       "/fclib_local/vectors/q", "/fclib_local/vectors/mu", "/fclib_local/vectors/s", "/fclib_local/V",   "/fclib_local/spacedim",
       "/fclib_local/info",      "/fclib_local/info/title", "/fclib_global",          "/solution",        "/guesses/number_of_guesses"},
      {"/fclib_global",           "/fclib_global/M",
       "/fclib_global/M/nz",      "/fclib_global/M/p",
       "/fclib_global/M/i",       "/fclib_global/M/x",
       "/fclib_global/H",         "/fclib_global/H/m",
       "/fclib_global/H/nz",      "/fclib_global/H/nzmax",
       "/fclib_global/H/p",       "/fclib_global/H/i",
       "/fclib_global/H/x",       "/fclib_global/vectors/f",
       "/fclib_global/vectors/w", "/fclib_global/vectors/mu",
       "/fclib_global/spacedim",  "/fclib_global/info/description",
       "/fclib_global_rolling",   "/guesses/1/r"}};
  return names[is_global][i % 20];
}

/* Two contacts on two unknowns each and one they share. */
static void write_good(int global)
{
  int64_t       start_M[6] = {0, 2, 4, 5, 6, 7}, start_H[7] = {0, 1, 3, 4, 5, 6, 8}, start_W[7] = {0, 2, 4, 5, 7, 9, 10};
  int32_t       row_M[7] = {0, 1, 0, 1, 2, 3, 4}, row_H[8] = {0, 1, 2, 2, 3, 4, 2, 4}, row_W[10] = {0, 3, 1, 2, 2, 0, 3, 1, 4, 5};
  double        M[7] = {2, 0.5, 0.5, 1, 1, 3, 1}, H[8] = {1, 1, 0.5, 1, 1, 1, -1, 0.25}, W[10] = {1, 0.1, 1, 0.2, 1, 0.1, 1, 0.3, 1, 1};
  double        v[6] = {-1, 0.5, 0.25, -0.5, 0.1, 1}, mu[2] = {0.5, 0};
  char          text[] = "fuzz";
  fclib_problem p      = {.is_global   = global,
                          .dimension   = 3,
                          .n_contacts  = 2,
                          .n_dof       = 5,
                          .q           = v,
                          .f           = v,
                          .w           = v,
                          .mu          = mu,
                          .title       = text,
                          .description = text};
  p.W = (fclib_matrix){6, 6, start_W, row_W, W}, p.M = (fclib_matrix){5, 5, start_M, row_M, M},
  p.H                     = (fclib_matrix){5, 6, start_H, row_H, H};
  const fclib_state state = {global ? v : NULL, v, v};
  MUST(!fclib_write(path, &p, &state, 1, &state));
  FILE *in = fopen(path, "rb");
  MUST(in && !fseek(in, 0, SEEK_END) && (n_good[global] = ftell(in)) > 0 && (good[global] = malloc((size_t)n_good[global])));
  rewind(in);
  MUST(fread(good[global], 1, (size_t)n_good[global], in) == (size_t)n_good[global]);
  fclose(in);
}

static void fuzz_set_up(void)
{
  const char *base = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/stickslip-fuzz-XXXXXX", base ? base : "/tmp");
  MUST(mkdtemp(folder));
  atexit(clean_up);
  snprintf(path, sizeof path, "%s/p.hdf5", folder);
  snprintf(again, sizeof again, "%s/again.hdf5", folder);
  FILE *nowhere = fopen("/dev/null", "w");
  MUST(nowhere);
  log_redirect(nowhere, false);
  for (int k = 0; k < 2; ++k) write_good(k);
}

static void write_bytes(const void *bytes, size_t n)
{
  FILE *out = fopen(path, "wb");
  MUST(out && fwrite(bytes, 1, n, out) == n && !fclose(out));
}

/* One entry of a data set, or all of a shorter one: 3 bytes a change. */
static void entry_op(tape *t, hid_t file)
{
  H5_SCOPE(scope);
  static const double values[] = {0, 1, -1, 2, 3, 5, 6, 7, -2, 0.5, 1e300, -1e300, NAN, INFINITY, 2147483647.0, -2147483648.0};
  const hid_t         d        = h5_keep(&scope, H5Dopen2(file, name_at(next(t)), H5P_DEFAULT));
  const int           at       = next(t);
  const double        value    = values[next(t) % 16];
  if (d < 0) return;
  const hid_t type = h5_keep(&scope, H5Dget_type(d)), space = h5_keep(&scope, H5Dget_space(d)),
              one  = h5_keep(&scope, H5Screate(H5S_SCALAR));
  const hssize_t n = H5Sget_simple_extent_npoints(space);
  if (n < 1 || H5Sget_simple_extent_ndims(space) != 1 || H5Tget_class(type) > H5T_FLOAT) return;
  const hsize_t i = (hsize_t)(at % n);
  H5Sselect_elements(space, H5S_SELECT_SET, 1, &i);
  H5Dwrite(d, H5T_NATIVE_DOUBLE, one, space, H5P_DEFAULT, &value);
}

static void write_changed(const uint8_t *data, size_t n, bool only_entries)
{
  tape t    = {data, n, 0};
  is_global = next(&t) & 1;
  write_bytes(good[is_global], (size_t)n_good[is_global]);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  MUST(file >= 0);
  for (int i = 0; i < 32 && t.at < t.n; ++i) switch (only_entries ? 0 : next(&t) % 3) {
    case 0: entry_op(&t, file); break;
    case 1: dataset_op(&t, file); break;
    default: link_op(&t, file); break;
    }
  H5Eclear2(H5E_DEFAULT);
  H5Fclose(file);
}

static void check_matrix(const fclib_matrix *A, int64_t n_rows, int64_t n_columns)
{
  MUST(A->n_rows == n_rows && A->n_columns == n_columns && A->start[0] == 0);
  for (int64_t j = 0; j < n_columns; ++j) {
    MUST(A->start[j] <= A->start[j + 1]);
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) {
      MUST(A->row[k] >= 0 && A->row[k] < n_rows && isfinite(A->value[k]) && A->value[k] != 0);
      MUST(k == A->start[j] || A->row[k - 1] < A->row[k]);
    }
  }
}

static bool same_matrix(const fclib_matrix *a, const fclib_matrix *b)
{
  const size_t n = a->start ? (size_t)a->start[a->n_columns] : 0;
  if (!a->start) return !b->start;
  return !memcmp(a->start, b->start, (size_t)(a->n_columns + 1) * 8) &&
         (n == 0 || (!memcmp(a->row, b->row, n * 4) && !memcmp(a->value, b->value, n * 8)));
}

static void check_problem(const fclib_problem *p)
{
  const int64_t m = p->dimension * p->n_contacts;
  fclib_problem back;
  MUST((p->dimension == 2 || p->dimension == 3) && p->n_contacts > 0 && p->n_guesses >= 0);
  if (p->is_global) {
    check_matrix(&p->M, p->n_dof, p->n_dof);
    check_matrix(&p->H, p->n_dof, m);
    MUST(fclib_asymmetry(&p->M) <= 1e-8);
  } else {
    check_matrix(&p->W, m, m);
  }
  for (int64_t a = 0; a < p->n_contacts; ++a) MUST(isfinite(p->mu[a]) && p->mu[a] >= 0);
  for (int64_t i = 0; i < m; ++i) MUST(isfinite(p->is_global ? p->w[i] : p->q[i]));
  MUST(!fclib_write(again, p, NULL, 0, NULL) && !fclib_read(again, &back));
  MUST(back.n_contacts == p->n_contacts && same_matrix(&p->M, &back.M) && same_matrix(&p->H, &back.H) && same_matrix(&p->W, &back.W));
  fclib_clear(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static int64_t live = -1;
  static double  r[1 << 16];
  fclib_problem  p, nothing = {0};
  if (n < 1) return 0;
  if (data[0] % 3 == 0 && memmem(data, n, "\211HDF", 4)) return 0;
  if (data[0] % 3 == 0) write_bytes(data + 1, n - 1);
  else write_changed(data + 1, n - 1, data[0] % 3 == 1);
  if (live < 0) live = memory_live();
  if (fclib_read(path, &p)) {
    MUST(*error_message() && strstr(error_message(), path) && !memcmp(&p, &nothing, sizeof p));
    error_clear();
  } else {
    check_problem(&p);
    for (int g = 0; g < 3 && p.dimension * p.n_contacts < 1 << 16; ++g)
      if (fclib_read_guess(path, &p, g, r)) error_clear();
    fclib_clear(&p);
  }
  MUST(memory_live() == live);
  return 0;
}
