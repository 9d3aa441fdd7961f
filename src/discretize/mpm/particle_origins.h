/* Where all particles were when the run began, by identity: from the job, so that a resumed run has the same. */
#ifndef SS_DISCRETIZE_MPM_PARTICLE_ORIGINS_H
#define SS_DISCRETIZE_MPM_PARTICLE_ORIGINS_H
#include "discretize/mpm/mpm_domain.h"
#include "discretize/vector_field.h"

typedef struct {
  int64_t n;
  double *x; /* [n][3]; owned */
} particle_origins;
/* Fresh domain, before its first step. Free x with memory_free. */
PetscErrorCode particle_origins_create(mpm_domain *d, particle_origins *out);
/* Root of the mean square, by mass, of |v - field| (is_velocity) or |x - X - field| over particles p. */
double particle_origins_error(const particle_origins *o, const mpm_particles *p, const vector_field *f, double t, bool is_velocity);
#endif
