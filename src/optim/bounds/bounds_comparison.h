/* Published methods for comparison: ADMM, primal interior point, augmented Lagrangian. Their outer loops replace the bounds by
 * penalties, barriers or proximal terms and solve linear systems with A + diag(shift). */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#define SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#include "optim/bounds/bounds_problem.h"

/* A bounds_solve_function each. */
PetscErrorCode bounds_solve_admm(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_interior_point(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_augmented_lagrangian(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
