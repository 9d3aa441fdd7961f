/* Final solution of the contact forces to rounding accuracy, for the current pressure and stress. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#define SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#include "optim/granular/granular_state.h"

PetscErrorCode flow_settle_create(flow_solver *S); /* once bodies and contacts are known; S->settle */
void           flow_settle_destroy(flow_solver *S);
PetscErrorCode flow_settle_contacts(flow_solver *S); /* lambda, z, v */
#endif
