/* Builds an articulated body from its job entry or a URDF. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_BUILD_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_BUILD_H
#include "discretize/articulated/articulated_body.h"

/* Create the body of entry r. Errors in the job or the URDF are reported to `d`; *out is then NULL. Called by the kind articulated. */
PetscErrorCode articulated_body_create(const body_request *r, const body_world *w, diagnostics *d, articulated_body **out);
#endif
