/* Accurate final solution of the contact forces lambda, z for the current pressure and stress, by exact Coulomb friction
 * (optim/friction). Called by granular.c after the outer iterations. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#define SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#include "optim/granular/granular_state.h"

PetscErrorCode granular_settle_create(granular_solver *S); /* sets S->settle; memory is in the arena of S except the Delassus matrix */
void           granular_settle_destroy(granular_solver *S);
/* Update lambda, z and v. No effect without contacts, without granular_settle_create, or after a failed solve. */
PetscErrorCode granular_solve_contacts_accurately(granular_solver *S);
#endif
