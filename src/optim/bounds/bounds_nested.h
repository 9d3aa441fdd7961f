/* Nested iteration: computes an initial guess on coarser grids if the given one is poor. Called by bounds_solve. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_NESTED_H
#define SS_OPTIM_BOUNDS_BOUNDS_NESTED_H
#include "optim/bounds/bounds_problem.h"

/* Improve the initial guess x [n] if q->grid has at least 200 cells and x is far from the solution; otherwise x is unchanged. Far means:
 * |x - P(x - D^-1 g)|_D is above a third of |b|_D, where g = A x - b, D = diag(A) and P is the projection onto the bounds. The function
 * solves the same program on aggregates of 2 x 2 x 2 cells to low accuracy, recursively, then interpolates and smooths the result. The
 * result predicts most of the active bounds. Terms of A that are not in the grid matrix are evaluated at the given x. */
PetscErrorCode bounds_nested_start(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
