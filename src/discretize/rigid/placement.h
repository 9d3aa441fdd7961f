/* Positions of many bodies in a region, without overlaps: a cubic lattice with random shifts, or random positions.
 *
 * Random positions: the largest body first, each at the first of many random points where its bounding sphere lies inside the region and
 * keeps its distance from all earlier ones (Poisson-disc sampling by dart throwing, random sequential addition). Bounding spheres fill up to
 * about 0.35 of the region. Earlier bodies are found through a hash table of cells, with one cell size per factor of two of body
 * sizes: the time is linear in the number of bodies for all ratios of sizes. Random numbers are functions of (seed, body, attempt).
 * Caller: rigid_copies.c. */
#ifndef SS_DISCRETIZE_RIGID_PLACEMENT_H
#define SS_DISCRETIZE_RIGID_PLACEMENT_H
#include "geometry/level_set/level_set.h"

typedef struct {
  const level_set *region;
  double           min[3], max[3];     /* bounds of the region [m] */
  double           lower[3], upper[3]; /* lattice: bounding box of a body of size 1 relative to its position [m] */
  double           radius;             /* bounding sphere of a body of size 1 about its position [m] */
  int64_t          n_points;           /* lattice: points of a body of size 1 that must lie inside the region; 0: its bounding sphere */
  const double    *point;              /* [n_points][3] relative to its position [m] */
  double           gap;                /* smallest distance between two bodies [m] */
  double           jitter; /* lattice: random shift in units of the free space around a body; 0: none, 1: neighbours may touch */
  uint64_t         seed;
} placement;

/* Sites of a lattice with cells for bodies of size `largest`, layer by layer along z, then y, then x: the first `most` sites whose body lies
 * inside the region. size(context, i): size of body i. *x [*n][3]: positions, memory_free(*x). PETSC_ERR_USER_INPUT if there are more
 * than 2^30 cells. */
typedef double (*placement_size)(const void *context, int64_t i);
PetscErrorCode placement_lattice(const placement *o, double largest, placement_size size, const void *context, int64_t most, int64_t *n,
                                 double **x);
/* Random positions x [n][3] of n bodies of the given sizes [n]. *n_placed < n: there is no room for more; x is then incomplete. */
PetscErrorCode placement_random(const placement *o, int64_t n, const double *size, double *x, int64_t *n_placed);
#endif
