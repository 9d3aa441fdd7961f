/* Published methods for comparison: alternating direction method of multipliers (ADMM) [BoydEtAl2011], primal interior point method
 * [ForsgrenEtAl2002], augmented Lagrangian [NocedalWright2006]. Their outer iterations replace the bounds by proximal terms, barriers or
 * penalties and solve linear systems with A + diag(shift). */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#define SS_OPTIM_BOUNDS_BOUNDS_COMPARISON_H
#include "optim/bounds/bounds_problem.h"

/* Each is a bounds_solve_function: arguments and errors as declared in bounds_problem.h. */
PetscErrorCode bounds_solve_admm(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_interior_point(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_augmented_lagrangian(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
