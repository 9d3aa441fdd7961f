/* Solvers of pressure p and normal contact forces lambda of the granular problem (granular_problem.h). They are bound-constrained
 * quadratic programs (bounds_qp.h) with p >= -cohesion and lambda >= 0. Called by granular.c in every outer iteration. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_PRESSURE_H
#define SS_OPTIM_GRANULAR_GRANULAR_PRESSURE_H
#include "optim/granular/granular_state.h"

/* Each function minimises J over its unknowns (p; lambda; both) with the other unknowns constant. It updates u and v and adds its
 * iterations to the report. If the result is not finite, it sets is_finite of the report to false. Error: out of memory. */
PetscErrorCode granular_solve_p(granular_solver *S);
PetscErrorCode granular_solve_lambda(granular_solver *S);
PetscErrorCode granular_solve_unified(granular_solver *S);
#endif
