/* Active sets: what lies on a bound and is pressed against it is held, the rest is solved for by conjugate gradients to a tenth of
 * the residual, what has left the box is cut at its bounds, and again. Against the primal-dual sets of [HintermuellerEtAl2002],
 * which go by x - D^-1 g of the step before the cut, sets are chosen after it: a third of the outer steps on pressures from zero
 * (balls of liquid: 9 instead of 31), and x is feasible all the time. Nothing makes it converge for every A; where the residual is
 * what it was ten steps ago or more, mprgp goes on from the best point found. */
#ifndef SS_OPTIM_BOUNDS_ACTIVE_SET_H
#define SS_OPTIM_BOUNDS_ACTIVE_SET_H
#include "optim/bounds/bounds_problem.h"

/* box_solve_functions */
PetscErrorCode box_solve_active_set(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
