/* Builds an articulated body from what a job, or a URDF, says of it. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_BUILD_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_BUILD_H
#include "discretize/articulated/articulated_body.h"

/* All complaints go to `d`; then *out is NULL. */
PetscErrorCode articulated_body_create(const body_request *r, const body_world *w, diagnostics *d, articulated_body **out);
#endif
