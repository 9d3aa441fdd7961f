/* Published methods for comparison: an outer loop puts penalties, barriers or proximal terms in place of the bounds, and solves systems with
 * A + diag(shift). */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#define SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#include "optim/bounds/bounds_problem.h"

/* box_solve_functions */
PetscErrorCode box_solve_admm(const box_qp *q, const box_options *o, double *x, box_result *r);
PetscErrorCode box_solve_interior_point(const box_qp *q, const box_options *o, double *x, box_result *r);
PetscErrorCode box_solve_augmented_lagrangian(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
