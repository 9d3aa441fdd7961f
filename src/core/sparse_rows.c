/* Scalar sparse matrices in compressed-row format, see sparse_rows.h. */
#include "core/sparse_rows.h"
#include "core/memory.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PARALLEL_ENTRIES = 30000 }; /* a matrix with fewer entries is applied serially: starting a team takes longer */

static PetscErrorCode sparse_rows_reserve(int64_t n_rows, int64_t n_cols, int64_t n_entries, sparse_rows *out)
{
  PetscFunctionBegin;
  *out = (sparse_rows){.n_rows = n_rows, .n_cols = n_cols};
  PetscCheck(n_cols >= 0 && n_cols <= INT32_MAX && n_rows >= 0 && n_rows <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "a matrix of %" PRId64 " x %" PRId64 " has more rows or columns than 2^31 - 1", n_rows, n_cols);
  PetscCall(MEMORY_ALLOC("sparse rows", ARRAY(out->start, n_rows + 1), ARRAY(out->col, n_entries), ARRAY(out->value, n_entries)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sparse_rows_destroy(sparse_rows *a)
{
  MEMORY_FREE(&a->start, &a->col, &a->value);
  *a = (sparse_rows){0};
}

/* `from` is transposed into `to`, which has room. Columns of a row of `to` are rows of `from` in ascending order, so that the
 * transpose of a transpose has sorted rows for any initial order. */
static void transpose_into(const sparse_rows *from, sparse_rows *to)
{
  for (int64_t k = 0; k < from->start[from->n_rows]; ++k) ++to->start[from->col[k] + 1];
  for (int64_t i = 0; i < to->n_rows; ++i) to->start[i + 1] += to->start[i];
  for (int64_t i = 0; i < from->n_rows; ++i)
    for (int64_t k = from->start[i]; k < from->start[i + 1]; ++k) {
      const int64_t slot = to->start[from->col[k]]++;
      to->col[slot]      = (int32_t)i;
      to->value[slot]    = from->value[k];
    }
  for (int64_t i = to->n_rows; i > 0; --i) to->start[i] = to->start[i - 1];
  to->start[0] = 0;
}

PetscErrorCode sparse_rows_transposed(const sparse_rows *a, sparse_rows *out)
{
  PetscFunctionBegin;
  PetscCall(sparse_rows_reserve(a->n_cols, a->n_rows, a->start[a->n_rows], out));
  transpose_into(a, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of one row that follow each other with the same column become their sum. */
static void add_repeated(sparse_rows *a)
{
  int64_t slot = 0, first = 0;
  for (int64_t i = 0; i < a->n_rows; ++i) {
    const int64_t last = a->start[i + 1], row = slot;
    for (int64_t k = first; k < last; ++k) {
      if (slot > row && a->col[slot - 1] == a->col[k]) a->value[slot - 1] += a->value[k];
      else a->col[slot] = a->col[k], a->value[slot++] = a->value[k];
    }
    first           = last;
    a->start[i + 1] = slot;
  }
}

static PetscErrorCode check_rows(const char *name, int64_t n_rows, int64_t n_cols, const int64_t *start, const int32_t *col,
                                 const double *value)
{
  PetscFunctionBegin;
  PetscCheck(start[0] == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: row 0 starts at %" PRId64 ", expected 0", name, start[0]);
  for (int64_t i = 0; i < n_rows; ++i)
    PetscCheck(start[i] <= start[i + 1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "%s: row %" PRId64 " ends at %" PRId64 ", before it starts (%" PRId64 "); row starts must not decrease", name, i,
               start[i + 1], start[i]);
  for (int64_t i = 0; i < n_rows; ++i)
    for (int64_t k = start[i]; k < start[i + 1]; ++k) {
      PetscCheck(col[k] >= 0 && col[k] < n_cols, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                 "%s: row %" PRId64 " has an entry in column %" PRId32 ", expected 0 ... %" PRId64, name, i, col[k], n_cols - 1);
      PetscCheck(isfinite(value[k]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                 "%s: the entry in row %" PRId64 ", column %" PRId32 " is not a finite number", name, i, col[k]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is every row ascending, each index once? */
static bool is_in_order(int64_t n_rows, const int64_t *start, const int32_t *col)
{
  int64_t n_out = 0;
#pragma omp parallel for schedule(static) reduction(+ : n_out) if (n_rows > 4096)
  for (int64_t i = 0; i < n_rows; ++i)
    for (int64_t k = start[i] + 1; k < start[i + 1]; ++k) n_out += col[k] <= col[k - 1];
  return n_out == 0;
}

static inline int64_t bad_in_row(int64_t n_cols, const int64_t *start, const int32_t *col, const double *value, int64_t i)
{
  int64_t n_bad = 0;
  for (int64_t k = start[i]; k < start[i + 1]; ++k) n_bad += col[k] < 0 || col[k] >= n_cols || !isfinite(value[k]);
  return n_bad;
}

/* Would check_rows find nothing? By all threads. */
static bool is_sound(int64_t n_rows, int64_t n_cols, const int64_t *start, const int32_t *col, const double *value)
{
  int64_t n_bad = start[0] != 0;
  for (int64_t i = 0; i < n_rows; ++i) n_bad += start[i] > start[i + 1];
  if (n_bad > 0) return false;
  if (start[n_rows] < PARALLEL_ENTRIES) { /* a region calls the kernel, even for one thread */
    for (int64_t i = 0; i < n_rows; ++i) n_bad += bad_in_row(n_cols, start, col, value, i);
    return n_bad == 0;
  }
#pragma omp parallel for schedule(static) reduction(+ : n_bad)
  for (int64_t i = 0; i < n_rows; ++i) n_bad += bad_in_row(n_cols, start, col, value, i);
  return n_bad == 0;
}

static PetscErrorCode copy_rows(const sparse_rows *a, sparse_rows *out)
{
  PetscFunctionBegin;
  const int64_t n = a->start[a->n_rows];
  PetscCall(sparse_rows_reserve(a->n_rows, a->n_cols, n, out));
  memcpy(out->start, a->start, (size_t)(a->n_rows + 1) * sizeof *a->start);
  if (n > 0) memcpy(out->col, a->col, (size_t)n * sizeof *a->col), memcpy(out->value, a->value, (size_t)n * sizeof *a->value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows sorted by two transpositions, repeated entries added. */
static PetscErrorCode sorted_rows(const sparse_rows *a, sparse_rows *out)
{
  sparse_rows turned = {0};
  PetscFunctionBegin;
  PetscErrorCode code = sparse_rows_transposed(a, &turned);
  if (!code) code = sparse_rows_transposed(&turned, out);
  sparse_rows_destroy(&turned);
  if (code) sparse_rows_destroy(out);
  PetscCall(code);
  add_repeated(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_rows_create(const char *name, int64_t n_rows, int64_t n_cols, const int64_t *start, const int32_t *col,
                                  const double *value, sparse_rows *out)
{
  const sparse_rows given = {n_rows, n_cols, (int64_t *)start, (int32_t *)col, (double *)value};
  PetscFunctionBegin;
  *out = (sparse_rows){0};
  if (!is_sound(n_rows, n_cols, start, col, value)) PetscCall(check_rows(name, n_rows, n_cols, start, col, value));
  const PetscErrorCode code = is_in_order(n_rows, start, col) ? copy_rows(&given, out) : sorted_rows(&given, out);
  if (code) sparse_rows_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_rows_adopt(const char *name, int64_t n_rows, int64_t n_cols, int64_t *start, int32_t *col, double *value,
                                 sparse_rows *out)
{
  sparse_rows given = {n_rows, n_cols, start, col, value};
  PetscFunctionBegin;
  *out = (sparse_rows){0};
  if (n_cols <= INT32_MAX && n_rows <= INT32_MAX && is_sound(n_rows, n_cols, start, col, value) && is_in_order(n_rows, start, col)) {
    *out = given;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const PetscErrorCode code = sparse_rows_create(name, n_rows, n_cols, start, col, value, out);
  sparse_rows_destroy(&given);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_rows_from_triplets(const char *name, int64_t n_rows, int64_t n_cols, int64_t n_entries, const int32_t *row,
                                         const int32_t *col, const double *value, sparse_rows *out)
{
  int64_t *start = NULL, *order = NULL;
  PetscFunctionBegin;
  *out = (sparse_rows){0};
  for (int64_t k = 0; k < n_entries; ++k)
    PetscCheck(row[k] >= 0 && row[k] < n_rows, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "%s: entry %" PRId64 " is in row %" PRId32 ", expected 0 ... %" PRId64, name, k, row[k], n_rows - 1);
  /* compressed rows in the order given, then as above */
  sparse_rows    rows = {0};
  PetscErrorCode code = sparse_rows_reserve(n_rows, n_cols, n_entries, &rows);
  if (!code) {
    for (int64_t k = 0; k < n_entries; ++k) ++rows.start[row[k] + 1];
    for (int64_t i = 0; i < n_rows; ++i) rows.start[i + 1] += rows.start[i];
    code = memory_alloc("places of triplets", n_rows, sizeof *order, &order);
  }
  if (!code) {
    start = rows.start;
    for (int64_t i = 0; i < n_rows; ++i) order[i] = start[i];
    for (int64_t k = 0; k < n_entries; ++k) {
      const int64_t slot = order[row[k]]++;
      rows.col[slot] = col[k], rows.value[slot] = value[k];
    }
    code = sparse_rows_create(name, n_rows, n_cols, rows.start, rows.col, rows.value, out);
  }
  memory_free(&order);
  sparse_rows_destroy(&rows);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_rows_sum(double s, const sparse_rows *a, double t, const sparse_rows *b, sparse_rows *out)
{
  int64_t slot = 0;
  PetscFunctionBegin;
  SS_ASSERT(a->n_rows == b->n_rows && a->n_cols == b->n_cols);
  PetscCall(sparse_rows_reserve(a->n_rows, a->n_cols, a->start[a->n_rows] + b->start[b->n_rows], out));
  for (int64_t i = 0; i < a->n_rows; ++i) {
    int64_t k = a->start[i], l = b->start[i];
    while (k < a->start[i + 1] || l < b->start[i + 1]) {
      const int32_t at_a = k < a->start[i + 1] ? a->col[k] : INT32_MAX, at_b = l < b->start[i + 1] ? b->col[l] : INT32_MAX;
      out->col[slot] = at_a < at_b ? at_a : at_b;
      double value   = 0.0;
      if (at_a <= at_b) value += s * a->value[k++];
      if (at_b <= at_a) value += t * b->value[l++];
      out->value[slot++] = value;
    }
    out->start[i + 1] = slot;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sparse_rows_stacked(const sparse_rows *a, const sparse_rows *b, sparse_rows *out)
{
  const sparse_rows *const part[2] = {a, b};
  int64_t                  row = 0, slot = 0;
  PetscFunctionBegin;
  SS_ASSERT(a->n_cols == b->n_cols);
  PetscCall(sparse_rows_reserve(a->n_rows + b->n_rows, a->n_cols, a->start[a->n_rows] + b->start[b->n_rows], out));
  for (int k = 0; k < 2; ++k)
    for (int64_t i = 0; i < part[k]->n_rows; ++i) {
      for (int64_t e = part[k]->start[i]; e < part[k]->start[i + 1]; ++e, ++slot)
        out->col[slot] = part[k]->col[e], out->value[slot] = part[k]->value[e];
      out->start[++row] = slot;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gustavson's row-wise product: `last[j]` remembers in which row column j was met last. */
static int64_t product_row(const sparse_rows *a, const sparse_rows *b, int64_t i, int64_t *last, double *sum, int64_t slot,
                           sparse_rows *out)
{
  const int64_t first = slot;
  for (int64_t k = a->start[i]; k < a->start[i + 1]; ++k)
    for (int64_t l = b->start[a->col[k]]; l < b->start[a->col[k] + 1]; ++l) {
      const int32_t j = b->col[l];
      if (last[j] != i + 1) {
        last[j] = i + 1;
        sum[j]  = 0.0;
        if (out) out->col[slot] = j;
        ++slot;
      }
      sum[j] += a->value[k] * b->value[l];
    }
  if (out)
    for (int64_t k = first; k < slot; ++k) out->value[k] = sum[out->col[k]];
  return slot;
}

PetscErrorCode sparse_rows_product(const sparse_rows *a, const sparse_rows *b, sparse_rows *out)
{
  int64_t    *last = NULL, n_entries = 0;
  double     *sum   = NULL;
  sparse_rows loose = {0}, turned = {0};
  PetscFunctionBegin;
  *out = (sparse_rows){0};
  SS_ASSERT(a->n_cols == b->n_rows);
  PetscErrorCode code = MEMORY_ALLOC("sparse rows", ARRAY(last, b->n_cols), ARRAY(sum, b->n_cols));
  if (!code) {
    for (int64_t i = 0; i < a->n_rows; ++i) n_entries = product_row(a, b, i, last, sum, n_entries, NULL);
    code = sparse_rows_reserve(a->n_rows, b->n_cols, n_entries, &loose);
  }
  if (!code) {
    for (int64_t j = 0; j < b->n_cols; ++j) last[j] = 0;
    for (int64_t i = 0; i < a->n_rows; ++i) loose.start[i + 1] = product_row(a, b, i, last, sum, loose.start[i], &loose);
    code = sparse_rows_transposed(&loose, &turned); /* twice: sorts the rows */
  }
  if (!code) code = sparse_rows_transposed(&turned, out);
  MEMORY_FREE(&last, &sum);
  sparse_rows_destroy(&loose), sparse_rows_destroy(&turned);
  if (code) sparse_rows_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline double apply_row(const sparse_rows *a, int64_t i, const double *restrict x)
{
  double sum = 0.0;
  for (int64_t k = a->start[i]; k < a->start[i + 1]; ++k) sum += a->value[k] * x[a->col[k]];
  return sum;
}

void sparse_rows_apply(const sparse_rows *a, const double *restrict x, double *restrict y)
{
  const int64_t n = a->n_rows;
  if (a->start[n] < PARALLEL_ENTRIES) { /* a region calls the kernel, even for one thread */
    for (int64_t i = 0; i < n; ++i) y[i] = apply_row(a, i, x);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; ++i) y[i] = apply_row(a, i, x);
}
