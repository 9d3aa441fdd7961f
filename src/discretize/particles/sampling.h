/* Fill a shape with material points: lattice or Poisson disks. Caller: particle_fill.c. */
#ifndef SS_DISCRETIZE_PARTICLES_SAMPLING_H
#define SS_DISCRETIZE_PARTICLES_SAMPLING_H
#include "geometry/level_set/level_set.h"

typedef enum {
  SAMPLING_BLUE_NOISE, /* Poisson disks: random, but no two points closer than 0.89 of (volume per point)^(1/3) */
  SAMPLING_LATTICE,    /* a cubic lattice fitted to the bounds, optionally jittered */
  SAMPLING_CELLS       /* a cubic number of points in every grid cell whose centre is inside, optionally jittered */
} sampling_kind;
extern const char *const sampling_names[]; /* for KEY_ENUM, NULL-terminated, in the order above */

typedef struct {
  sampling_kind kind;
  double        spacing;            /* of the grid [m] */
  double        particles_per_cell; /* requested mean number per spacing^3 */
  double        jitter; /* lattice, cells: shift by a random share of the lattice constant, up to half of this (0 to 1) both ways */
  uint64_t      seed;
  double        origin[3]; /* cells: a corner of one [m] */
} sampling_options;

/* Points strictly inside {phi < 0} within the bounds, which must hold all of it.
 *   volume  of the shape [m^3], exact
 *   n       number of points, about particles_per_cell * volume / spacing^3
 *   x       [3][n] positions, component-major, in three arrays to be freed with memory_free
 *   each    volume of one point: volume / n, so that n * each is the volume to round-off; cells: spacing^3 / particles_per_cell
 * The same options give the same points on any number of threads. Blue noise has uniform density up to the surface: it is what
 * a pattern that fills all space leaves inside. Cells: particles_per_cell must be sampling_cube(particles_per_cell)^3,
 * and no point is no error. PETSC_ERR_USER_INPUT if not one point lies inside, or more than 2^31 would. */
PetscErrorCode sampling_fill(const level_set *phi, const double min[3], const double max[3], double volume, const sampling_options *options,
                             int64_t *n, double *x[3], double *each);
/* The integer k with k^3 == n; 0: there is none. */
int sampling_cube(double n);
#endif
