/* The pattern of a 3x3-block matrix: compressed rows, with what the threaded products need. Knows no PETSc objects.
 * Shared, with a reference count, by a matrix and its duplicates; never changed once built.                           */
#ifndef SS_OPTIM_BLOCK3_PATTERN_H
#define SS_OPTIM_BLOCK3_PATTERN_H
#include "core/error.h"

typedef struct {
  int      n_references;
  int64_t  n, nnz;    /* block rows; blocks */
  int64_t *row_start; /* [n+1] */
  int32_t *col;       /* [nnz] sorted within a row */
  int64_t *diagonal;  /* [n] slot of (i,i), -1: none */
  int64_t  n_chunks;  /* runs of rows with about the same number of blocks, by the pattern alone */
  int64_t *chunk_row; /* [n_chunks+1] */
  /* By columns, built at the first transposed product; empty until then. */
  int64_t *column_start; /* [n+1] */
  int32_t *column_row;   /* [nnz] */
  int64_t *column_slot;  /* [nnz] place of the block in the row-wise value array */
  int64_t  n_column_chunks;
  int64_t *column_chunk; /* [n_column_chunks+1] */
} block3_pattern;

/* row_start [n+1], col [row_start[n]] are copied and checked (PETSC_ERR_ARG_OUTOFRANGE). */
PetscErrorCode block3_pattern_create(int64_t n, const int64_t *row_start, const int32_t *col, block3_pattern **out);
void           block3_pattern_destroy(block3_pattern **p); /* drops one reference */
PetscErrorCode block3_pattern_need_columns(block3_pattern *p);
/* Slot of block (i,j), -1 if it is not in the pattern. O(log of the row's length). */
int64_t block3_pattern_find(const block3_pattern *p, int64_t i, int32_t j);
#endif
