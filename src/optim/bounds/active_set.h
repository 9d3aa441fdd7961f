/* Active set method: unknowns at a bound with a positive multiplier are fixed, conjugate gradients reduce the residual of the
 * others to a tenth, the result is projected onto the bounds, and the sets are chosen again.
 *
 * The primal-dual method of [HintermuellerEtAl2002] chooses the sets from x - D^-1 g before the projection; here they are chosen
 * after it. This takes a third of the outer iterations on pressures from zero (balls of liquid: 9 instead of 31), and x is
 * always feasible. Convergence is not guaranteed for every A: if the residual is not below that of ten iterations ago, mprgp
 * continues from the best iterate. */
#ifndef SS_OPTIM_BOUNDS_ACTIVE_SET_H
#define SS_OPTIM_BOUNDS_ACTIVE_SET_H
#include "optim/bounds/bounds_problem.h"

/* A bounds_solve_function. */
PetscErrorCode bounds_solve_active_set(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
