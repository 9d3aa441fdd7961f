/* Which blocks of the global vector a step's matrix couples. */
#ifndef SS_SIM_STEP_STEP_PATTERN_H
#define SS_SIM_STEP_STEP_PATTERN_H
#include "sim/step/step_layout.h"

/* Couplings that the systems say they have (body_ops.couplings), and n_pairs more (row, col), unordered, which may repeat: rows
 * *row_start
 * [n_blocks + 1] of ascending columns *col. Both are allocated: free them with memory_free. keep [n_blocks], NULL: all: of systems that
 * assemble parts only couplings of blocks both of which are kept, and diagonals. */
PetscErrorCode step_pattern(const step_layout *l, int64_t n_pairs, const int32_t *pair_row, const int32_t *pair_col, const bool *keep,
                            int64_t **row_start, int32_t **col);
/* How many couplings systems have, about: of large ones every 16th block is asked. */
double         step_pattern_size(const step_layout *l);
#endif
