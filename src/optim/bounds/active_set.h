/* Active set method for a quadratic program with bounds. Each iteration fixes the unknowns that are at a bound with a positive
 * multiplier. Conjugate gradients reduce the residual of the free unknowns to a tenth. The result is projected onto the bounds, and
 * the active set is updated.
 *
 * The primal-dual method of [HintermuellerEtAl2002] updates the set from x - D^-1 g before the projection. Here it is updated after
 * the projection, so that x is always feasible. Pressures from zero then take a third of the outer iterations (balls of liquid: 9
 * instead of 31). Convergence is not guaranteed for every A. If the residual has not decreased within ten iterations, mprgp
 * continues from the best iterate. */
#ifndef SS_OPTIM_BOUNDS_ACTIVE_SET_H
#define SS_OPTIM_BOUNDS_ACTIVE_SET_H
#include "optim/bounds/bounds_problem.h"

/* A bounds_solve_function. */
PetscErrorCode bounds_solve_active_set(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
