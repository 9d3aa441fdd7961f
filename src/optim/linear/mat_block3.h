/* Mat type "block3": square 3x3-block compressed rows, products on the team of threads. One process; n block rows < 2^31.
 *
 * Sums run in an order set by the pattern alone, so products have the same bits on any number of threads. Transposed
 * products run on one thread. Columns are sorted within a row, without repetition.
 *
 * Assemble: build the pattern once from lists of (row, column) pairs (mat_block3_pattern), which also returns the slot of
 * each pair; then add 3x3 blocks to mat_block3_values()[9*slot] and call MatAssemblyBegin/End. Goes to PETSc's own formats by
 * MatConvert(A, MATSEQBAIJ or MATSEQAIJ, MAT_INITIAL_MATRIX, &B).                                                      */
#ifndef SS_OPTIM_LINEAR_MAT_BLOCK3_H
#define SS_OPTIM_LINEAR_MAT_BLOCK3_H
#include "core/error.h"
#include <petscmat.h>

#define MATBLOCK3 "block3"

/* Compose on a shell Mat: PetscObjectComposeFunction(mat, "SSMatGetBlockDiagonal3_C", fn) with
 *   PetscErrorCode fn(Mat mat, PetscScalar *d);   d [n_local_blocks][9], row-major                                        */
#define SS_MAT_GET_BLOCK_DIAGONAL3 "SSMatGetBlockDiagonal3_C"

/* The arrays behind a matrix, borrowed from it. */
typedef struct {
  int64_t        n;         /* block rows = block columns */
  const int64_t *row_start; /* [n+1] */
  const int32_t *col;       /* [row_start[n]] sorted within a row */
  const int64_t *diagonal;  /* [n] slot of block (i,i), -1 if not in the pattern */
  double        *value;     /* [row_start[n]][9] row-major */
} block3_view;

PetscErrorCode MatCreate_Block3(Mat A); /* for MatRegister; matrices are made by mat_block3_create */

/* A matrix from compressed rows. row_start [n_block_rows+1] and col are copied (and checked: range, order). With values
 * [nnz][9]: copied, or if `is_borrowed` used in place; they must then outlive *A. values == NULL: zeros.
 * Fails (PETSC_ERR_ARG_OUTOFRANGE) on a bad pattern, on more than one process (PETSC_ERR_SUP). */
PetscErrorCode mat_block3_create(MPI_Comm comm, int64_t n_block_rows, const int64_t *row_start, const int32_t *col, double *values,
                                 bool is_borrowed, Mat *A);

/* Compressed rows of n_pairs unordered, possibly repeated (row[k], col[k]); the diagonal is always added.
 *   row_start [n_block_rows+1], col_out [row_start[n_block_rows]]: allocated, free with memory_free
 *   slot [n_pairs] or NULL: filled with the place of each pair in col_out
 * Fails on indices outside [0, n_block_rows) and if memory allocation fails. n_pairs + n_block_rows < 2^31. */
PetscErrorCode mat_block3_pattern(int64_t n_block_rows, int64_t n_pairs, const int32_t *row, const int32_t *col, int64_t **row_start,
                                  int32_t **col_out, int64_t *slot);

/* Borrowed arrays. After writing values call MatAssemblyBegin and MatAssemblyEnd, so that preconditioners notice. */
PetscErrorCode mat_block3_get(Mat A, block3_view *view);
/* value array alone, [nnz][9] */
PetscErrorCode mat_block3_values(Mat A, double **values);
#endif
