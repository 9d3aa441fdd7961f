/* Pressure and normal contact forces: quadratic programs in boxes. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_PRESSURE_H
#define SS_OPTIM_GRANULAR_GRANULAR_PRESSURE_H
#include "optim/granular/granular_state.h"

/* Each moves its unknown to its minimum for the others at hand, keeps u and v, and counts its iterations. */
PetscErrorCode flow_solve_p(flow_solver *S);
PetscErrorCode flow_solve_lambda(flow_solver *S);
PetscErrorCode flow_solve_unified(flow_solver *S);
#endif
