/* Coarse cells of a grid matrix: aggregates of 2 x 2 x 2, level by level, for multigrid within the faces of a box.
 *
 * Cells of a level are numbered by colour, red before black by the parity of i + j + k, so that a sweep over one colour is a loop
 * over a range whose cells do not see each other; where a periodic axis of odd length joins cells of one colour, more colours are
 * used. Everything is in single precision and divided by the largest diagonal: half the bytes, and a preconditioner needs no more
 * digits. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_LEVELS_H
#define SS_OPTIM_BOUNDS_BOUNDS_LEVELS_H
#include "core/error.h"
#include "optim/bounds/grid_matrix.h"

enum { LEVEL_COLORS = 8, LEVEL_CHILDREN = 8, LEVEL_COARSEST = 24 };
typedef struct {
  int32_t  n, n_colors, color[LEVEL_COLORS + 1]; /* cells of colour c: color[c] ... color[c + 1] - 1 */
  int32_t (*neighbor)[6];                        /* [n] itself where there is none */
  float   (*off)[6];                             /* [n] 0 where there is no neighbour */
  float    *diagonal, *inverse;                  /* [n]; [n] 1/diagonal, 0 at cells left out */
  int32_t  *aggregate;                           /* [n] cell of the next level */
  int32_t (*child)[LEVEL_CHILDREN];              /* [n] of the next level's cells; n of this level's: none. NULL on the coarsest */
  float    *x, *b, *r;                           /* [n + 1] of the cycle; r[n] = 0 */
  uint8_t  *is_stale;                            /* [n] coefficients must be summed anew */
} grid_level;
typedef struct grid_levels {
  int         n_levels;
  bool        is_summed; /* the coarse levels are those of the finest one's inverse diagonal */
  double      unit;     /* what coefficients were divided by */
  int32_t    *cell;     /* [n] cell of the matrix that has this number on the finest level */
  grid_level *level;
} grid_levels;

/* Make the levels that `a` keeps, a->levels, if there are none: coefficients of the finest alone. Cost: about ten products with A. */
PetscErrorCode box_levels_need(grid_matrix *a);
void           box_levels_destroy(grid_levels **l); /* accepts NULL */
/* Take the coefficients of a matrix of the same cells: the one they were made for, or one like it but for its values. */
void box_levels_fill(grid_levels *l, const grid_matrix *a);
/* Leave out cells that are not free, and sum the coefficients of those that are into the coarse levels (Galerkin's product for
 * constants on aggregates): of aggregates alone that have changed since the last time. */
void box_levels_restrict(grid_levels *l, const uint8_t *is_free);
/* Sweeps of Gauss-Seidel cut at the bounds, for A x = b, lo <= x <= hi, from x [n], in single precision; lo, hi NULL: none. The
 * cells left out are all in. */
PetscErrorCode box_levels_project(grid_levels *l, int64_t n, const double *b, const double *lo, const double *hi, int n_sweeps, double *x);
/* z = M^-1 r: one symmetric V-cycle, 2 + 2 sweeps; r must be zero at cells left out, z is. The same bits on any number of threads.
 * */
void box_levels_cycle(grid_levels *l, int64_t n, const double *restrict r, double *restrict z);

/* Aggregates of 2 x 2 x 2 cells of a regular grid. */
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
