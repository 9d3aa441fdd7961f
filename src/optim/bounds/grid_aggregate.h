/* Aggregates of 2 x 2 x 2 cells of a regular grid. */
#ifndef SS_OPTIM_BOUNDS_GRID_AGGREGATE_H
#define SS_OPTIM_BOUNDS_GRID_AGGREGATE_H
#include "core/error.h"

typedef struct {
  int32_t  n;
  int32_t (*ijk)[3];      /* [n] */
  int32_t (*neighbor)[6]; /* [n] -x +x -y +y -z +z; -1: none */
} grid_cells;
void grid_cells_free(grid_cells *c);
/* The cells ijk/2 in the order in which their first child comes, through a hash table: cost follows the cells, not their box. of[i]
 * is the aggregate of cell i. The caller frees *coarse, also after a failure. */
PetscErrorCode grid_aggregate(const grid_cells *fine, int32_t *of, grid_cells *coarse);
#endif
