/* Final contact solve: accurate contact forces lambda, z for the current pressure and stress, computed by a solver of exact Coulomb
 * friction (optim/friction). Called by granular.c after the outer iterations. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#define SS_OPTIM_GRANULAR_GRANULAR_SETTLE_H
#include "optim/granular/granular_state.h"

PetscErrorCode granular_settle_create(granular_solver *S); /* sets S->settle, in the arena of S except for the Delassus matrix */
void           granular_settle_destroy(granular_solver *S);
/* Update lambda, z and v. Has no effect if there are no contacts, or if is_finite of the report is false. */
PetscErrorCode granular_solve_contacts_accurately(granular_solver *S);
#endif
