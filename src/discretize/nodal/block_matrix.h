/* A body's own tangent: 3x3 blocks in compressed rows, of a pattern that is its own transpose. */
#ifndef SS_DISCRETIZE_NODAL_BLOCK_MATRIX_H
#define SS_DISCRETIZE_NODAL_BLOCK_MATRIX_H
#include "core/error.h"

static inline uint64_t block_pair(int64_t row, int64_t col) { return (uint64_t)row << 32 | (uint64_t)col; }
/* From n_pairs blocks, any number of times each and in any order (they are sorted in place), with every (i, j) also (j, i):
 * *row_start [n + 1], *col ascending, *transposed: where block (col, row) lies, *value [blocks][9]. memory_free each. */
PetscErrorCode block_matrix_create(int64_t n, int64_t n_pairs, uint64_t *pair, int64_t **row_start, int32_t **col, int32_t **transposed, double **value);
#endif
