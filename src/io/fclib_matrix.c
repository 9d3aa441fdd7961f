#include "io/fclib_matrix.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"

/* Entries as they stand in the file. */
typedef struct {
  int64_t  n;
  int64_t *row, *column; /* [n] */
  double  *value;
} entry_list;

static void entries_clear(entry_list *e)
{
  memory_free(&e->row);
  memory_free(&e->column);
  memory_free(&e->value);
}

void fclib_matrix_clear(fclib_matrix *A)
{
  memory_free(&A->start);
  memory_free(&A->row);
  memory_free(&A->value);
  A->n_rows = A->n_columns = 0;
}

#define REFUSE(path, place, ...)                                                      \
  do {                                                                                \
    char what_[256];                                                                  \
    (void)snprintf(what_, sizeof what_, __VA_ARGS__);                                 \
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s%s", (path), (place), what_); \
  } while (0)

static PetscErrorCode read_scalar(const char *path, hid_t group, const char *name, int64_t *out)
{
  char    place[H5_PLACE];
  int64_t n;

  PetscFunctionBegin;
  h5_place(group, name, place);
  PetscCall(h5_array_length(path, group, name, &n));
  if (n > 1) REFUSE(path, place, " has %lld entries; expected one", (long long)n);
  PetscCall(h5_array_whole(path, group, name, 1, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asked before memory is: what other data sets say of their number may be anything. */
static PetscErrorCode check_length(const char *path, hid_t group, const char *place, const char *array, int64_t n)
{
  int64_t length;

  PetscFunctionBegin;
  PetscCall(h5_array_length(path, group, array, &length));
  if (length < 0) REFUSE(path, place, "/%s is missing", array);
  if (length < n) REFUSE(path, place, "/%s has %lld entries; expected %lld", array, (long long)length, (long long)n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compressed storage: every entry's line (column or row) from the starts of the lines. */
static PetscErrorCode read_starts(const char *path, hid_t group, const char *place, int64_t n_lines, int64_t nzmax, int64_t n_dense,
                                  int64_t *n_used, int64_t **line)
{
  int64_t *start __attribute__((cleanup(memory_free))) = NULL;
  int64_t bad = -1;

  PetscFunctionBegin;
  PetscCall(check_length(path, group, place, "p", n_lines + 1));
  PetscCall(memory_alloc("FCLIB matrix", n_lines + 1, sizeof *start, &start));
  PetscCall(h5_array_whole(path, group, "p", n_lines + 1, start));
  if (start[0] != 0) REFUSE(path, place, "/p[0] is %lld; expected 0", (long long)start[0]);
  for (int64_t j = n_lines; j > 0; --j)
    if (start[j] < start[j - 1]) bad = j;
  if (bad > 0)
    REFUSE(path, place, "/p[%lld] is %lld, less than the entry before it; starts may not decrease", (long long)bad,
           (long long)start[bad]);
  *n_used = start[n_lines];
  if (*n_used == 0 && nzmax > 0 && nzmax == n_dense)
    REFUSE(path, place,
           " is a dense matrix in the place of a compressed one: its starts are all 0 while nzmax = m n = %lld; write it as FCLIB "
           "compressed columns",
           (long long)nzmax);
  if (*n_used == 0 && nzmax > 0) REFUSE(path, place, " is empty, its starts are all 0, while nzmax is %lld", (long long)nzmax);
  if (*n_used > nzmax) REFUSE(path, place, "/p ends with %lld; expected at most nzmax = %lld", (long long)*n_used, (long long)nzmax);
  PetscCall(check_length(path, group, place, "x", *n_used));
  PetscCall(memory_alloc("FCLIB matrix", *n_used, sizeof **line, line));
  for (int64_t j = 0; j < n_lines; ++j)
    for (int64_t k = start[j]; k < start[j + 1]; ++k) (*line)[k] = j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_range(const char *path, const char *place, const char *array, const char *what, int64_t n,
                                  const int64_t *index, int64_t limit, const char *advice)
{
  PetscFunctionBegin;
  for (int64_t k = 0; k < n; ++k)
    if (index[k] < 0 || index[k] >= limit)
      REFUSE(path, place, "/%s[%lld] = %lld is no %s; expected 0 to %lld%s", array, (long long)k, (long long)index[k], what,
             (long long)limit - 1, advice);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In every real file, p has the columns of triplets and i their rows, whatever the header of the reference library says. */
static PetscErrorCode read_entries(const char *path, hid_t group, const char *place, int64_t n_rows, int64_t n_columns, int64_t nz,
                                   int64_t nzmax, entry_list *e)
{
  static const char swapped[] = " (in triplets, p has the columns and i the rows)";
  const bool        is_rows = nz == -2, is_triplets = nz >= 0;

  PetscFunctionBegin;
  if (is_triplets) {
    if (nz > nzmax) REFUSE(path, place, "/nz is %lld; expected at most nzmax = %lld", (long long)nz, (long long)nzmax);
    e->n = nz;
    PetscCall(check_length(path, group, place, "p", nz));
    PetscCall(check_length(path, group, place, "x", nz));
    PetscCall(memory_alloc("FCLIB matrix", nz, sizeof *e->column, &e->column));
    PetscCall(h5_array_whole(path, group, "p", nz, e->column));
  } else {
    PetscCall(read_starts(path, group, place, is_rows ? n_rows : n_columns, nzmax, n_rows * n_columns, &e->n,
                          is_rows ? &e->row : &e->column));
  }
  int64_t **index = is_rows ? &e->column : &e->row;
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof **index, index));
  PetscCall(h5_array_whole(path, group, "i", e->n, *index));
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof *e->value, &e->value));
  PetscCall(h5_array_real(path, group, "x", e->n, e->value));
  PetscCall(check_range(path, place, is_rows ? "p" : "i", "row", is_rows ? 0 : e->n, e->row, n_rows, is_triplets ? swapped : ""));
  PetscCall(check_range(path, place, is_triplets ? "p" : "i", "column", is_rows || is_triplets ? e->n : 0, e->column, n_columns,
                        is_triplets ? swapped : ""));
  for (int64_t k = 0; k < e->n; ++k)
    if (!isfinite(e->value[k])) REFUSE(path, place, "/x[%lld] is %g; expected a finite number", (long long)k, e->value[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries in a stable order by `key`: order[] is refilled with the sorted permutation of itself. */
static PetscErrorCode sort_by(int64_t n, const int64_t *key, int64_t n_keys, int64_t *order, int64_t *spare)
{
  int64_t *count __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(memory_alloc("FCLIB matrix", n_keys + 1, sizeof *count, &count));
  for (int64_t k = 0; k < n; ++k) ++count[key[k] + 1];
  for (int64_t j = 0; j < n_keys; ++j) count[j + 1] += count[j];
  for (int64_t k = 0; k < n; ++k) spare[count[key[order[k]]]++] = order[k];
  for (int64_t k = 0; k < n; ++k) order[k] = spare[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By columns, in them by rows; equal ones become their sum, and what is 0 is left out. */
static PetscErrorCode compress(const entry_list *e, const int64_t *order, fclib_matrix *A)
{
  int64_t n = 0, k = 0;

  PetscFunctionBegin;
  PetscCall(memory_alloc("FCLIB matrix", A->n_columns + 1, sizeof *A->start, &A->start));
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof *A->row, &A->row));
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof *A->value, &A->value));
  for (int64_t j = 0; j < A->n_columns; ++j) {
    while (k < e->n && e->column[order[k]] == j) {
      const int64_t i   = e->row[order[k]];
      double        sum = 0;
      for (; k < e->n && e->column[order[k]] == j && e->row[order[k]] == i; ++k) sum += e->value[order[k]];
      if (sum != 0) A->row[n] = (int32_t)i, A->value[n++] = sum;
    }
    A->start[j + 1] = n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sort_entries(const entry_list *e, fclib_matrix *A)
{
  int64_t *order __attribute__((cleanup(memory_free))) = NULL;
  int64_t *spare __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof *order, &order));
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof *spare, &spare));
  for (int64_t k = 0; k < e->n; ++k) order[k] = k;
  PetscCall(sort_by(e->n, e->row, A->n_rows, order, spare));
  PetscCall(sort_by(e->n, e->column, A->n_columns, order, spare));
  PetscCall(compress(e, order, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fclib_matrix_read(const char *path, hid_t parent, const char *name, int64_t n_rows, int64_t n_columns, fclib_matrix *out)
{
  H5_SCOPE(scope);
  hid_t      group;
  char       place[H5_PLACE];
  int64_t    m, n, nz, nzmax;
  entry_list e __attribute__((cleanup(entries_clear))) = {0};

  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  h5_place(parent, name, place);
  PetscCall(h5_open_group(&scope, path, parent, name, &group));
  if (group < 0) REFUSE(path, place, " is missing");
  PetscCall(read_scalar(path, group, "m", &m));
  PetscCall(read_scalar(path, group, "n", &n));
  PetscCall(read_scalar(path, group, "nz", &nz));
  PetscCall(read_scalar(path, group, "nzmax", &nzmax));
  if (m != n_rows || n != n_columns)
    REFUSE(path, place, " is %lld x %lld; expected %lld x %lld by the lengths of the vectors", (long long)m, (long long)n,
           (long long)n_rows, (long long)n_columns);
  if (nz < -2)
    REFUSE(path, place, "/nz is %lld; expected -2 (compressed rows), -1 (compressed columns) or the number of triplets",
           (long long)nz);
  if (nzmax < 0) REFUSE(path, place, "/nzmax is %lld; expected at least 0", (long long)nzmax);
  PetscCall(read_entries(path, group, place, m, n, nz, nzmax, &e));
  out->n_rows = m, out->n_columns = n;
  PetscErrorCode code = sort_entries(&e, out);
  for (int64_t k = 0; !code && k < out->start[n]; ++k)
    if (!isfinite(out->value[k])) { /* duplicates of opposite or huge values */
      fclib_matrix_clear(out);
      REFUSE(path, place, "/x has entries for row %lld whose sum is not finite", (long long)out->row[k]);
    }
  if (code) fclib_matrix_clear(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fclib_matrix_mirror(fclib_matrix *A, bool *is_mirrored)
{
  entry_list   e __attribute__((cleanup(entries_clear))) = {0};
  fclib_matrix full    = {A->n_rows, A->n_columns, NULL, NULL, NULL};
  int64_t      n_above = 0, n_below = 0;

  PetscFunctionBegin;
  *is_mirrored = false;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) n_above += A->row[k] < j, n_below += A->row[k] > j;
  if ((n_above == 0) == (n_below == 0)) PetscFunctionReturn(PETSC_SUCCESS);
  e.n = A->start[A->n_columns] + n_above + n_below;
  PetscCall(memory_alloc("FCLIB matrix", e.n, sizeof *e.row, &e.row));
  PetscCall(memory_alloc("FCLIB matrix", e.n, sizeof *e.column, &e.column));
  PetscCall(memory_alloc("FCLIB matrix", e.n, sizeof *e.value, &e.value));
  int64_t at = 0;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) {
      const int64_t i = A->row[k];
      e.row[at] = i, e.column[at] = j, e.value[at++] = A->value[k];
      if (i != j) e.row[at] = j, e.column[at] = i, e.value[at++] = A->value[k];
    }
  const PetscErrorCode code = sort_entries(&e, &full);
  if (code) fclib_matrix_clear(&full);
  PetscCall(code);
  fclib_matrix_clear(A);
  *A           = full;
  *is_mirrored = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fclib_matrix_write(const char *path, hid_t parent, const char *name, const fclib_matrix *A)
{
  H5_SCOPE(scope);
  hid_t         group;
  const int64_t n = A->start[A->n_columns], size[4] = {A->n_rows, A->n_columns, -1, n};
  static const char *const names[4] = {"m", "n", "nz", "nzmax"};

  PetscFunctionBegin;
  PetscCheck(A->n_rows < INT32_MAX && A->n_columns < INT32_MAX && n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "cannot write %s: matrix %s has %lld entries, and FCLIB's numbers end at 2147483647", path, name, (long long)n);
  PetscCall(h5_make_group(&scope, path, parent, name, &group));
  for (int k = 0; k < 4; ++k) PetscCall(h5_array_write(path, group, names[k], H5T_NATIVE_INT64, H5T_STD_I32LE, 1, &size[k]));
  PetscCall(h5_array_write(path, group, "p", H5T_NATIVE_INT64, H5T_STD_I32LE, A->n_columns + 1, A->start));
  PetscCall(h5_array_write(path, group, "i", H5T_NATIVE_INT32, H5T_STD_I32LE, n, A->row));
  PetscCall(h5_array_write(path, group, "x", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, n, A->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void fclib_apply(const fclib_matrix *A, const double *x, double *y)
{
  for (int64_t i = 0; i < A->n_rows; ++i) y[i] = 0;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) y[A->row[k]] += A->value[k] * x[j];
}

void fclib_apply_transposed(const fclib_matrix *A, const double *x, double *y)
{
  for (int64_t j = 0; j < A->n_columns; ++j) {
    double sum = 0;
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) sum += A->value[k] * x[A->row[k]];
    y[j] = sum;
  }
}

/* a_ij, 0 where nothing is stored. */
static double entry(const fclib_matrix *A, int64_t i, int64_t j)
{
  int64_t lo = A->start[j], hi = A->start[j + 1];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (A->row[mid] < i) lo = mid + 1;
    else hi = mid;
  }
  return lo < A->start[j + 1] && A->row[lo] == i ? A->value[lo] : 0;
}

double fclib_asymmetry(const fclib_matrix *A)
{
  double difference = 0, largest = 0;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) {
      largest    = fmax(largest, fabs(A->value[k]));
      difference = fmax(difference, fabs(A->value[k] - entry(A, j, A->row[k])));
    }
  return largest > 0 ? difference / largest : 0;
}
