/* Scalar sparse matrices in compressed-row format (CSR): column indices ascend within a row, without repetition. Plain data without state, for use on
 * any thread. Every function that creates a matrix allocates it; sparse_rows_destroy frees it. */
#ifndef SS_CORE_SPARSE_ROWS_H
#define SS_CORE_SPARSE_ROWS_H
#include "core/error.h"

typedef struct {
  int64_t  n_rows, n_cols;
  int64_t *start; /* [n_rows + 1] */
  int32_t *col;   /* [start[n_rows]] */
  double  *value; /* [start[n_rows]] */
} sparse_rows;

/* Copy a matrix in compressed rows whose entries may be unsorted and repeated. Rows are sorted, repeated entries are added in the given order.
 * PETSC_ERR_USER_INPUT, with `name`, row and position, for decreasing `start`, columns outside 0 ... n_cols - 1 and values that are not finite. *out is
 * empty after a failure. */
PetscErrorCode sparse_rows_create(const char *name, int64_t n_rows, int64_t n_cols, const int64_t *start, const int32_t *col,
                                  const double *value, sparse_rows *out);
/* As sparse_rows_create, without copy: the arrays come from memory_alloc, and the function owns them from then on, even if it fails. */
PetscErrorCode sparse_rows_adopt(const char *name, int64_t n_rows, int64_t n_cols, int64_t *start, int32_t *col, double *value,
                                 sparse_rows *out);
/* As sparse_rows_create, from n_entries triplets (row, column, value) in any order. */
PetscErrorCode sparse_rows_from_triplets(const char *name, int64_t n_rows, int64_t n_cols, int64_t n_entries, const int32_t *row,
                                         const int32_t *col, const double *value, sparse_rows *out);
PetscErrorCode sparse_rows_transposed(const sparse_rows *a, sparse_rows *out);
/* out = s A + t B, on the union of the patterns. */
PetscErrorCode sparse_rows_sum(double s, const sparse_rows *a, double t, const sparse_rows *b, sparse_rows *out);
/* out = the rows of A followed by those of B. */
PetscErrorCode sparse_rows_stacked(const sparse_rows *a, const sparse_rows *b, sparse_rows *out);
/* out = A B. Each row is summed in a fixed order, so the bits depend on the matrices alone. */
PetscErrorCode sparse_rows_product(const sparse_rows *a, const sparse_rows *b, sparse_rows *out);
/* Free the arrays and make the matrix empty; accepts an empty matrix. */
void sparse_rows_destroy(sparse_rows *a);
/* y = A x, parallel over rows, with the same bits on any number of threads. x and y must not overlap. */
void sparse_rows_apply(const sparse_rows *a, const double *restrict x, double *restrict y);
#endif
