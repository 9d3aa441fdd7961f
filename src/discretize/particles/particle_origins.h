/* Where all particles were when the run began, by identity: from the job, so that a resumed run has the same. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_ORIGINS_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_ORIGINS_H
#include "discretize/particles/particles.h"
#include "discretize/body/vector_field.h"

typedef struct particle_origins {
  int64_t n;
  double *x; /* [n][3]; owned */
} particle_origins;
/* Of all sets on one grid, before its first step; the sets then know of it, *out must outlive them. Free x with memory_free. */
PetscErrorCode particle_origins_create(int n_sets, particles *const *sets, particle_origins *out);
/* Root of the mean square, by mass, of |v - field| (is_velocity) or |x - X - field| over particles p, which have origins. */
double particle_origins_error(const particles *p, const vector_field *f, double t, bool is_velocity);
#endif
