/* Mat type "block3": square matrix in compressed rows of 3x3 blocks. Products run on the team of threads. One process only; fewer than
 * 2^31/3 block rows.
 *
 * The order of all sums depends on the pattern alone, so products have the same bits on any number of threads. Transposed
 * products run on one thread. Columns ascend within a row, without repetition.
 *
 * Assembly: mat_block3_pattern builds the pattern from a list of (row, column) pairs and returns the slot (index in col) of each pair. Then add 3x3
 * blocks to values[9*slot] (mat_block3_values) and call MatAssemblyBegin and MatAssemblyEnd. MatConvert to MATSEQAIJ is supported. */
#ifndef SS_OPTIM_LINEAR_MAT_BLOCK3_H
#define SS_OPTIM_LINEAR_MAT_BLOCK3_H
#include "core/error.h"
#include <petscmat.h>

#define MATBLOCK3 "block3"

/* Operation that returns the diagonal blocks of a Mat. A shell provides it by PetscObjectComposeFunction(mat, this name, fn) with
 *   PetscErrorCode fn(Mat mat, PetscScalar *d);   d [n_local_blocks][9], row-major                                        */
#define SS_MAT_GET_BLOCK_DIAGONAL3 "SSMatGetBlockDiagonal3_C"

/* The arrays of a matrix, borrowed from it. */
typedef struct {
  int64_t        n;         /* block rows = block columns */
  const int64_t *row_start; /* [n+1] */
  const int32_t *col;       /* [row_start[n]] sorted within a row */
  const int64_t *diagonal;  /* [n] slot of block (i,i), -1 if not in the pattern */
  double        *value;     /* [row_start[n]][9] row-major */
} block3_view;

PetscErrorCode MatCreate_Block3(Mat A); /* for MatRegister; use mat_block3_create to create matrices */

/* Create a matrix from compressed rows. row_start [n_block_rows+1] and col [row_start[n_block_rows]] are copied. values
 * [row_start[n_block_rows]][9] are copied, or used in place if `is_borrowed`; they must then outlive *A. values NULL: zeros. Errors:
 * PETSC_ERR_ARG_OUTOFRANGE for columns that are out of range or not ascending, PETSC_ERR_SUP on more than one process. */
PetscErrorCode mat_block3_create(MPI_Comm comm, int64_t n_block_rows, const int64_t *row_start, const int32_t *col, double *values,
                                 bool is_borrowed, Mat *A);

/* Build compressed rows from n_pairs index pairs (row[k], col[k]) in any order, possibly repeated. The diagonal is always added.
 *   row_start [n_block_rows+1], col_out [row_start[n_block_rows]]: allocated, free with memory_free
 *   slot [n_pairs] or NULL: filled with the index of each pair in col_out
 * PETSC_ERR_ARG_OUTOFRANGE for indices outside [0, n_block_rows) or n_pairs + n_block_rows >= 2^31; also out of memory. */
PetscErrorCode mat_block3_pattern(int64_t n_block_rows, int64_t n_pairs, const int32_t *row, const int32_t *col, int64_t **row_start,
                                  int32_t **col_out, int64_t *slot);

/* Borrow the arrays. After changes of values call MatAssemblyBegin and MatAssemblyEnd, so that preconditioners are updated. */
PetscErrorCode mat_block3_get(Mat A, block3_view *view);
/* Borrow the values alone, [row_start[n]][9]. */
PetscErrorCode mat_block3_values(Mat A, double **values);
#endif
