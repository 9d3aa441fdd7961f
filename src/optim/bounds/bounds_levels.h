/* Coarse levels of a grid matrix for multigrid on the free unknowns: aggregates of 2 x 2 x 2 cells, level by level.
 *
 * Cells of a level are numbered by colour, red before black by the parity of i + j + k. A sweep over one colour is a loop over a
 * range of independent cells. More colours are used where a periodic axis of odd length couples cells of one colour.
 * Coefficients are divided by the largest diagonal and stored in single precision, which halves the memory traffic and is
 * accurate enough for a preconditioner. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_LEVELS_H
#define SS_OPTIM_BOUNDS_BOUNDS_LEVELS_H
#include "core/error.h"
#include "optim/bounds/grid_matrix.h"

enum { LEVEL_COLORS = 8, LEVEL_CHILDREN = 8, LEVEL_COARSEST = 24 };
typedef struct {
  int32_t n, n_colors, color[LEVEL_COLORS + 1]; /* cells of colour c: color[c] ... color[c + 1] - 1 */
  int32_t (*neighbor)[6];                       /* [n] the cell itself where there is no neighbour */
  float (*off)[6];                              /* [n] 0 where there is no neighbour */
  float   *diagonal, *inverse;                  /* [n]; [n] 1/diagonal, 0 at cells that are not free */
  int32_t *aggregate;                           /* [n] its cell on the next level */
  int32_t (*child)[LEVEL_CHILDREN];             /* [children of the cells of the next level]; n of this level: unused entry.
                                                  * NULL on the coarsest level */
  float   *x, *b, *r;                           /* [n + 1] vectors of the V-cycle; r[n] = 0 */
  uint8_t *is_stale;                            /* [n] coefficients must be summed again */
} grid_level;
typedef struct grid_levels {
  int         n_levels;
  bool        is_summed; /* the coarse coefficients agree with the inverse diagonal of the finest level */
  double      unit;      /* divisor of the coefficients */
  int32_t    *cell;      /* [n] cell of the matrix with this number on the finest level */
  grid_level *level;
} grid_levels;

/* Create a->levels if there are none; only the coefficients of the finest level are set. Costs about ten products with A. */
PetscErrorCode bounds_levels_require(grid_matrix *a);
void           bounds_levels_destroy(grid_levels **l); /* accepts NULL */
/* Copy the coefficients of a matrix with the same cells as the one the levels were created for. */
void bounds_levels_fill(grid_levels *l, const grid_matrix *a);
/* Set the free cells, and sum their coefficients on the coarse levels (Galerkin product for piecewise constants). Only
 * aggregates that changed since the last call are summed again. */
void bounds_levels_restrict(grid_levels *l, const uint8_t *is_free);
/* Projected Gauss-Seidel sweeps for A x = b, lo <= x <= hi, from x [n], in single precision, over all cells. lo, hi NULL: no
 * bounds. Fails only if memory allocation fails. */
PetscErrorCode bounds_levels_project(grid_levels *l, int64_t n, const double *b, const double *lo, const double *hi, int n_sweeps,
                                     double *x);
/* z = M^-1 r: one symmetric V-cycle with 2 + 2 sweeps. r must be zero at cells that are not free; z is zero there. The same bits
 * on any number of threads. */
void bounds_levels_cycle(grid_levels *l, int64_t n, const double *restrict r, double *restrict z);

/* Aggregates of 2 x 2 x 2 cells of a regular grid. */
typedef struct {
  int32_t n;
  int32_t (*ijk)[3];      /* [n] */
  int32_t (*neighbor)[6]; /* [n] -x +x -y +y -z +z; -1: none */
} grid_cells;
void grid_cells_free(grid_cells *c);
/* Aggregates of the cells: ijk/2, in the order of their first child. of[i] is the aggregate of cell i. A hash table makes the
 * cost proportional to the number of cells, not to their bounding box. The caller frees *coarse, also after a failure. */
PetscErrorCode grid_aggregate(const grid_cells *fine, int32_t *of, grid_cells *coarse);
#endif
