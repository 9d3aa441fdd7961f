/* Particles to add to a set. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_SEED_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_SEED_H
#include "discretize/particles/particles.h"

/* x, v interleaved [n][3]; borrowed. */
typedef struct {
  int64_t        n;
  const double  *x;      /* m */
  const double  *v;      /* NULL: `velocity` + angular x (x - centre of mass) for all */
  const double  *volume; /* NULL: volume_each for all; m^3 */
  const int64_t *id;     /* NULL: the next free ones; unique over all sets on one grid, >= 0 */
  double         volume_each, velocity[3], angular_velocity[3];
} particle_seed;

/* Append them to set `p` of body `name`, undeformed and without history, at this density [kg/m^3]; with_affine: those that spin
 * carry
 * the gradient of that. *next_id: of the grid, moved on. */
PetscErrorCode particle_seed_add(const particle_seed *seed, const char *name, double density, bool with_affine, int64_t *next_id, particles *p);
#endif
