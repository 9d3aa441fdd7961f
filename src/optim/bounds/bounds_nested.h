/* A start from coarser grids, for programs that come without one. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_NESTED_H
#define SS_OPTIM_BOUNDS_BOUNDS_NESTED_H
#include "optim/bounds/bounds_problem.h"

/* Where x is far from the answer (its natural residual |x - P(x - D^-1 g)|_D is above a third of |b|_D) and q->grid has cells
 * enough: the same program on aggregates of 2 x 2 x 2 cells, solved roughly and by the same recipe, gives x a start that knows most
 * of the bounds that hold. Elsewhere x stays. What is beyond the grid enters as it is at x. */
PetscErrorCode box_nested_start(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
