/* Which blocks of the global vector a step's matrix couples. */
#ifndef SS_SIM_STEP_PATTERN_H
#define SS_SIM_STEP_PATTERN_H
#include "sim/step/step_layout.h"

/* Couplings that the systems say they have (body_ops.couplings), and n_pairs more (row, col), unordered, which may repeat: rows
 * *row_start
 * [n_blocks + 1] of ascending columns *col. Both are allocated: free them with memory_free. */
PetscErrorCode step_pattern(const step_layout *l, int64_t n_pairs, const int32_t *pair_row, const int32_t *pair_col,
                            int64_t **row_start, int32_t **col);
#endif
