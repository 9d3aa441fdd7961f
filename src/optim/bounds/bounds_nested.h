/* Nested iteration: an initial guess from coarser grids for programs without a good one. Called by bounds_solve. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_NESTED_H
#define SS_OPTIM_BOUNDS_BOUNDS_NESTED_H
#include "optim/bounds/bounds_problem.h"

/* Improve x if it is far from the solution, i.e. if |x - P(x - D^-1 g)|_D is above a third of |b|_D, and q->grid has at least
 * 200 cells. Solves the same program on aggregates of 2 x 2 x 2 cells to low accuracy, recursively, interpolates the result and
 * smooths it. The result predicts most of the active bounds. Else x is unchanged. Terms of A that are not in the grid matrix are
 * evaluated at the given x. */
PetscErrorCode bounds_nested_start(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
