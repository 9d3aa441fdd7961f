/* Fills a shape with points: cubic lattice, lattice in each grid cell, or Poisson disks. Caller: particle_fill.c. */
#ifndef SS_DISCRETIZE_PARTICLES_SAMPLING_H
#define SS_DISCRETIZE_PARTICLES_SAMPLING_H
#include "geometry/level_set/level_set.h"

typedef enum {
  SAMPLING_BLUE_NOISE, /* Poisson disks: random, but no two points closer than 0.89 of (volume per point)^(1/3) */
  SAMPLING_LATTICE,    /* a cubic lattice fitted to the bounds, optionally jittered */
  SAMPLING_CELLS       /* k^3 points on a cubic lattice in every grid cell whose centre is inside, optionally jittered */
} sampling_kind;
extern const char *const sampling_names[]; /* for KEY_ENUM, NULL-terminated, in the order above */

typedef struct {
  sampling_kind kind;
  double        spacing;            /* of the grid [m] */
  double        particles_per_cell; /* requested mean number per spacing^3 */
  double        jitter;             /* lattice, cells: each coordinate is shifted by -jitter/2 to jitter/2 lattice constants; 0 to 1 */
  uint64_t      seed;               /* of the random numbers */
  double        origin[3];          /* cells: corner of a grid cell [m] */
} sampling_options;

/* Create points in the shape phi < 0. The box min ... max [m] must contain the whole shape.
 *   volume  exact volume of the shape [m^3]
 *   n       number of points, about particles_per_cell * volume / spacing^3
 *   x       [3][n] positions, component-major, in three arrays to be freed with memory_free
 *   each    volume of one point [m^3]: volume / n, so that n * each is the volume to round-off; cells: spacing^3 / particles_per_cell
 * The same options give the same points on any number of threads. Blue noise has uniform density up to the surface, because points
 * are also generated around the shape and then removed. Cells: particles_per_cell must be a cube (sampling_cube).
 * PETSC_ERR_USER_INPUT if no point is inside (cells: no error), or if there would be more than 2^31 points. */
PetscErrorCode sampling_fill(const level_set *phi, const double min[3], const double max[3], double volume, const sampling_options *options,
                             int64_t *n, double *x[3], double *each);
/* Returns the integer k with k^3 = n, or 0 if n is no cube. */
int sampling_cube(double n);
#endif
