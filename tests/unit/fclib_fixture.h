/* Small FCLIB problems, and ways to spoil their files. */
#ifndef SS_TESTS_FCLIB_FIXTURE_H
#define SS_TESTS_FCLIB_FIXTURE_H
#include "io/fclib.h"
#include "io/h5.h"
#include "io_fixture.h"

/* Two contacts that share a body of 6 degrees of freedom: H has 4 entries a column in places; W = H^T M^-1 H, M diagonal. */
enum { FIXTURE_DOF = 6, FIXTURE_ROWS = 6 };
static const double fixture_M[FIXTURE_DOF]               = {2.0, 2.0, 4.0, 0.5, 0.5, 1.0};
static const double fixture_H[FIXTURE_DOF][FIXTURE_ROWS] = {{1, 0, 0, 0, 1, 0},      {0, 1, 0, 1, 0, 0},   {0, 0, 1, 0, 0, 1},
                                                            {0, 0.5, 0, 0, 0, 0.25}, {0.5, 0, 0, 0, 0, 0}, {0, 0, -1, 0.125, 0, 0}};

/* A dense n_rows x n_columns matrix, row by row, compressed. */
static inline void fixture_compress(int64_t n_rows, int64_t n_columns, const double *dense, fclib_matrix *A)
{
  int64_t n = 0;
  A->n_rows = n_rows, A->n_columns = n_columns;
  assert_ok(memory_alloc("test", n_columns + 1, sizeof *A->start, &A->start));
  assert_ok(memory_alloc("test", n_rows * n_columns, sizeof *A->row, &A->row));
  assert_ok(memory_alloc("test", n_rows * n_columns, sizeof *A->value, &A->value));
  for (int64_t j = 0; j < n_columns; ++j) {
    for (int64_t i = 0; i < n_rows; ++i)
      if (dense[i * n_columns + j] != 0) A->row[n] = (int32_t)i, A->value[n++] = dense[i * n_columns + j];
    A->start[j + 1] = n;
  }
}

static inline double *fixture_vector(int64_t n, double seed)
{
  double *x;
  assert_ok(memory_alloc("test", n, sizeof *x, &x));
  for (int64_t i = 0; i < n; ++i) x[i] = sin(seed + 1.7 * (double)i);
  return x;
}

static inline char *fixture_text(const char *s)
{
  char *copy;
  assert_ok(memory_alloc("test", (int64_t)strlen(s) + 1, 1, &copy));
  strcpy(copy, s);
  return copy;
}

static inline void fixture_common(fclib_problem *p, bool is_global)
{
  memset(p, 0, sizeof *p);
  p->is_global  = is_global;
  p->dimension  = 3;
  p->n_contacts = 2;
  p->n_dof      = FIXTURE_DOF;
  assert_ok(memory_alloc("test", 2, sizeof *p->mu, &p->mu));
  p->mu[0] = 0.5, p->mu[1] = 0;
  p->title       = fixture_text("two contacts");
  p->description = fixture_text("\250 Latin-1, as found in the wild; SI units");
}

static inline void fixture_global(fclib_problem *p)
{
  double M[FIXTURE_DOF * FIXTURE_DOF] = {0};
  fixture_common(p, true);
  for (int i = 0; i < FIXTURE_DOF; ++i) M[FIXTURE_DOF * i + i] = fixture_M[i];
  M[1] = M[FIXTURE_DOF] = 0.25; /* (0, 1) and (1, 0) */
  fixture_compress(FIXTURE_DOF, FIXTURE_DOF, M, &p->M);
  fixture_compress(FIXTURE_DOF, FIXTURE_ROWS, fixture_H[0], &p->H);
  p->f = fixture_vector(FIXTURE_DOF, 0.3);
  p->w = fixture_vector(FIXTURE_ROWS, 1.1);
}

static inline void fixture_local(fclib_problem *p)
{
  double W[FIXTURE_ROWS * FIXTURE_ROWS] = {0};
  fixture_common(p, false);
  for (int i = 0; i < FIXTURE_ROWS; ++i)
    for (int j = 0; j < FIXTURE_ROWS; ++j)
      for (int k = 0; k < FIXTURE_DOF; ++k) W[FIXTURE_ROWS * i + j] += fixture_H[k][i] * fixture_H[k][j] / fixture_M[k];
  W[1] *= 1.001; /* not symmetric, as those of rigid bodies */
  fixture_compress(FIXTURE_ROWS, FIXTURE_ROWS, W, &p->W);
  p->q = fixture_vector(FIXTURE_ROWS, 2.2);
}

static inline bool fixture_same_matrix(const fclib_matrix *a, const fclib_matrix *b)
{
  if (a->n_rows != b->n_rows || a->n_columns != b->n_columns || memcmp(a->start, b->start, (size_t)(a->n_columns + 1) * 8)) return false;
  const size_t n = (size_t)a->start[a->n_columns];
  return !memcmp(a->row, b->row, n * 4) && !memcmp(a->value, b->value, n * 8);
}

/* --- spoiling --------------------------------------------------------------------------------------------------------- */

static inline hid_t spoil_open(const char *path)
{
  assert_ok(h5_start());
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(file >= 0);
  return file;
}
static inline void spoil_delete(const char *path, const char *object)
{
  const hid_t file = spoil_open(path);
  assert_true(H5Ldelete(file, object, H5P_DEFAULT) >= 0 && H5Fclose(file) >= 0);
}
/* Put other entries in the place of a data set, or where there was none. */
static inline void spoil_array(const char *path, const char *object, hid_t memory_type, hid_t file_type, int64_t n, const void *data)
{
  const hid_t file = spoil_open(path);
  if (H5Lexists(file, object, H5P_DEFAULT) > 0) assert_true(H5Ldelete(file, object, H5P_DEFAULT) >= 0);
  assert_ok(h5_array_write(path, file, object, memory_type, file_type, n, data));
  assert_true(H5Fclose(file) >= 0);
}
static inline void spoil_whole(const char *path, const char *object, int64_t n, const int64_t *x)
{
  spoil_array(path, object, H5T_NATIVE_INT64, H5T_STD_I32LE, n, x);
}
static inline void spoil_real(const char *path, const char *object, int64_t n, const double *x)
{
  spoil_array(path, object, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, n, x);
}
static inline void spoil_number(const char *path, const char *object, int64_t x) { spoil_whole(path, object, 1, &x); }
/* One entry of a data set of reals. */
static inline void spoil_entry(const char *path, const char *object, int64_t at, double value)
{
  H5_SCOPE(scope);
  const hid_t   file  = h5_keep(&scope, spoil_open(path));
  const hid_t   d     = h5_keep(&scope, H5Dopen2(file, object, H5P_DEFAULT));
  const hid_t   space = h5_keep(&scope, H5Dget_space(d)), one = h5_keep(&scope, H5Screate(H5S_SCALAR));
  const hsize_t i = (hsize_t)at;
  assert_true(H5Sselect_elements(space, H5S_SELECT_SET, 1, &i) >= 0);
  assert_true(H5Dwrite(d, H5T_NATIVE_DOUBLE, one, space, H5P_DEFAULT, &value) >= 0);
}
static inline void spoil_group(const char *path, const char *object)
{
  const hid_t file = spoil_open(path), g = H5Gcreate2(file, object, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(g >= 0 && H5Gclose(g) >= 0 && H5Fclose(file) >= 0);
}
#endif
