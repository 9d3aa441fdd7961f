/* Solvers of pressure and normal contact forces: bound-constrained quadratic programs. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_PRESSURE_H
#define SS_OPTIM_GRANULAR_GRANULAR_PRESSURE_H
#include "optim/granular/granular_state.h"

/* Each minimises over its unknown with the others fixed, updates u and v, and counts iterations. */
PetscErrorCode flow_solve_p(flow_solver *S);
PetscErrorCode flow_solve_lambda(flow_solver *S);
PetscErrorCode flow_solve_unified(flow_solver *S);
#endif
