/* What follows from the state of material points, for frames. */
#ifndef SS_DISCRETIZE_MPM_MPM_DERIVE_H
#define SS_DISCRETIZE_MPM_MPM_DERIVE_H
#include "discretize/particles/particles.h"

/* Recompute pressure, shear, density and speed for frames. `C` of the caller's transfer is not touched. */
PetscErrorCode mpm_derive(particles *p, const material *m);
#endif
