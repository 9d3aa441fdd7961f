/* Accurate final solution of the contact forces lambda, z for the current pressure and stress, by exact Coulomb friction
 * (optim/friction). Called by granular.c after the outer iterations. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#define SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#include "optim/granular/granular_state.h"

PetscErrorCode flow_settle_create(flow_solver *S); /* sets S->settle; memory is in the arena of S except the Delassus matrix */
void           flow_settle_destroy(flow_solver *S);
/* Update lambda, z and v. No effect without contacts, without flow_settle_create, or after a failed solve. */
PetscErrorCode flow_settle_contacts(flow_solver *S);
#endif
