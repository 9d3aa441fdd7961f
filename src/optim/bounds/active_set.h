/* Active set method for a quadratic program with bounds (bounds_problem.h). Each outer iteration fixes the unknowns that are at a bound
 * with a positive multiplier. Conjugate gradients reduce the residual of the free unknowns to a tenth. The solution is projected onto
 * the bounds, and the active set is updated.
 *
 * The primal-dual method of [HintermuellerEtAl2002] updates the set from x - D^-1 g, D = diag(A), g = A x - b, before the projection.
 * Here the set is updated after the projection, so that x is always feasible. From the initial guess 0, pressures then converge in a
 * third of the outer iterations (balls of liquid: 9 instead of 31). Convergence is not guaranteed for every A. If the residual has not
 * decreased within ten iterations, mprgp continues from the best iterate. */
#ifndef SS_OPTIM_BOUNDS_ACTIVE_SET_H
#define SS_OPTIM_BOUNDS_ACTIVE_SET_H
#include "optim/bounds/bounds_problem.h"

/* A bounds_solve_function: arguments and errors as declared in bounds_problem.h. */
PetscErrorCode bounds_solve_active_set(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
