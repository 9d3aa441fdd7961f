/* Bodies of kind mpm, made from a job: shapes filled with particles on one grid, their initial velocities, body forces, sources. */
#ifndef SS_DISCRETIZE_MPM_MPM_BODY_H
#define SS_DISCRETIZE_MPM_MPM_BODY_H
#include "discretize/body_kinds.h"
#include "discretize/mpm/mpm_domain.h"
#include "discretize/particles/particle_origins.h"

/* What all of them share. */
typedef struct mpm_world {
  mpm_domain      *domain;
  vector_field  *body_force; /* NULL: none */
  particle_origins origins;    /* kept where body_force or the world asks for them */
} mpm_world;
#endif
