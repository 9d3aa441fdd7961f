/* Published methods for comparison: ADMM, primal interior point, augmented Lagrangian. Their outer loops replace the bounds by
 * penalties, barriers or proximal terms and solve linear systems with A + diag(shift). */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#define SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#include "optim/bounds/bounds_problem.h"

/* A box_solve_function each. */
PetscErrorCode box_solve_admm(const box_qp *q, const box_options *o, double *x, box_result *r);
PetscErrorCode box_solve_interior_point(const box_qp *q, const box_options *o, double *x, box_result *r);
PetscErrorCode box_solve_augmented_lagrangian(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
