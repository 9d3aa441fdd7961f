/* Coarse levels of a grid matrix for multigrid on the free unknowns. A cell of the next coarser level is an aggregate of 2 x 2 x 2 cells.
 *
 * Cells of a level are numbered by colour, red before black by the parity of i + j + k. A sweep over one colour is a loop over a range of
 * independent cells. More colours are used if a periodic axis of odd length couples cells of one colour. Coefficients are divided by the
 * largest diagonal entry and stored in single precision. This halves the memory traffic and is accurate enough for a preconditioner. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_LEVELS_H
#define SS_OPTIM_BOUNDS_BOUNDS_LEVELS_H
#include "core/error.h"
#include "optim/bounds/grid_matrix.h"

enum { LEVEL_COLORS = 8, LEVEL_CHILDREN = 8, LEVEL_COARSEST = 24 /* a level with at most this many cells is the coarsest */ };
typedef struct {
  int32_t n, n_colors, color[LEVEL_COLORS + 1]; /* cells of colour c: color[c] ... color[c + 1] - 1 */
  int32_t (*neighbor)[6];                       /* [n] the cell itself where there is no neighbour */
  float (*off)[6];                              /* [n] coefficient of each neighbour; 0 where there is no neighbour */
  float   *diagonal, *inverse;                  /* [n]; [n] 1/diagonal, 0 at cells that are not free */
  int32_t *aggregate;                           /* [n] the cell of the next coarser level that contains this cell */
  int32_t (*child)[LEVEL_CHILDREN];             /* [n of the next coarser level] cells of this level in each of its cells; unused
                                                  * entries are n of this level. NULL on the coarsest level */
  float   *x, *b, *r;                           /* [n + 1] vectors of the V-cycle; r[n] = 0 */
  uint8_t *is_stale;                            /* [n] 1: the coefficients of the cell must be summed again */
} grid_level;
typedef struct grid_levels {
  int         n_levels;
  bool        is_summed; /* the coarse coefficients agree with the free cells of the finest level */
  double      unit;      /* divisor of the coefficients: the largest diagonal entry */
  int32_t    *cell;      /* [n] for each cell of the finest level: its number in the matrix */
  grid_level *level;     /* [n_levels] finest first */
} grid_levels;

/* Create a->levels if there are none; only the coefficients of the finest level are set. Costs about ten products with A. */
PetscErrorCode bounds_levels_require(grid_matrix *a);
void           bounds_levels_destroy(grid_levels **l); /* accepts NULL */
/* Copy the coefficients of a. It must have the same cells as the matrix for which the levels were created. */
void bounds_levels_fill(grid_levels *l, const grid_matrix *a);
/* Set the free cells, is_free [n] in the order of the matrix, and sum their coefficients on the coarse levels (Galerkin product for
 * piecewise constants). Only aggregates that changed since the last call are summed again. */
void bounds_levels_restrict(grid_levels *l, const uint8_t *is_free);
/* Do n_sweeps projected Gauss-Seidel sweeps over all cells for A x = b, lo <= x <= hi, in single precision. x [n]: initial guess in, result
 * out. lo, hi NULL: no bounds. Fails only if memory allocation fails. */
PetscErrorCode bounds_levels_project(grid_levels *l, int64_t n, const double *b, const double *lo, const double *hi, int n_sweeps,
                                     double *x);
/* z = M^-1 r, both [n]: one symmetric V-cycle with 2 sweeps before and 2 after each coarse correction. r must be zero at cells that are not
 * free; z is zero there. The same bits on any number of threads. */
void bounds_levels_cycle(grid_levels *l, int64_t n, const double *restrict r, double *restrict z);

/* Cells of a regular grid, or aggregates of cells. */
typedef struct {
  int32_t n;
  int32_t (*ijk)[3];      /* [n] grid indices */
  int32_t (*neighbor)[6]; /* [n] -x +x -y +y -z +z; -1: none */
} grid_cells;
void grid_cells_free(grid_cells *c);
/* Group cells with equal ijk/2 into aggregates, numbered in the order of their first cell. of [fine->n]: aggregate of each cell. A hash
 * table makes the cost proportional to the number of cells, not to their bounding box. The caller frees *coarse, also after a failure. */
PetscErrorCode grid_aggregate(const grid_cells *fine, int32_t *of, grid_cells *coarse);
#endif
