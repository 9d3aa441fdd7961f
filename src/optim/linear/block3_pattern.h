/* The pattern of a 3x3-block matrix: compressed rows, with what the threaded products need. Knows no PETSc objects.
 * Shared, with a reference count, by a matrix and its duplicates; never changed once built.                           */
#ifndef SS_OPTIM_LINEAR_BLOCK3_PATTERN_H
#define SS_OPTIM_LINEAR_BLOCK3_PATTERN_H
#include "core/error.h"

typedef struct {
  int      n_references;
  int64_t  n, nnz;    /* block rows; blocks */
  int64_t *row_start; /* [n+1] */
  int32_t *col;       /* [nnz] sorted within a row */
  int64_t *diagonal;  /* [n] slot of (i,i), -1: none */
  int64_t  n_chunks;  /* runs of rows with about the same number of blocks, by the pattern alone */
  int64_t *chunk_row; /* [n_chunks+1] */
  /* For transposed products, built at the first one; empty until then. Rows are cut into tiles; each tile sums into a short
   * private vector with one entry per column it meets, then every column adds its entries in the order of the tiles. */
  int64_t  n_tiles;
  int64_t *tile_row;     /* [n_tiles+1] */
  int64_t *tile_start;   /* [n_tiles+1] first private entry of each tile */
  int32_t *tile_col;     /* [nnz] private entry of each block, counted from its tile's first */
  int64_t *entry_start;  /* [n+1] */
  int64_t *entry;        /* [tile_start[n_tiles]] private entries of each column, by tile */
  double  *private_sums; /* [tile_start[n_tiles]][3] */
} block3_pattern;

/* row_start [n+1], col [row_start[n]] are copied and checked (PETSC_ERR_ARG_OUTOFRANGE). */
PetscErrorCode block3_pattern_create(int64_t n, const int64_t *row_start, const int32_t *col, block3_pattern **out);
void           block3_pattern_destroy(block3_pattern **p); /* drops one reference */
PetscErrorCode block3_pattern_need_tiles(block3_pattern *p);
/* Slot of block (i,j), -1 if it is not in the pattern. O(log of the row's length). */
int64_t block3_pattern_find(const block3_pattern *p, int64_t i, int32_t j);
#endif
