/* MPRGP: modified proportioning with reduced gradient projections [DostalSchoeberl2005], preconditioned on the free unknowns.
 * Far from the solution the active set expands by whole projected conjugate gradient steps [KruzikEtAl2020], near it by fixed
 * steps, as in [TakahashiBatty2021, sec. 4.3.2].
 *
 * All norms use a metric w (1/diagonal; constant without preconditioner): |beta|_w^2 = sum w beta^2, and fixed steps follow -w
 * phi. The iterates therefore do not depend on the units of the unknowns. Addition to the published method: if a whole projected
 * step would not lower the objective, the fixed step is used instead, so that the objective decreases in every iteration. */
#ifndef SS_OPTIM_BOUNDS_MPRGP_H
#define SS_OPTIM_BOUNDS_MPRGP_H
#include "optim/bounds/bounds_problem.h"

/* A bounds_solve_function each; `original` expands by fixed steps only. */
PetscErrorCode bounds_solve_mprgp(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_mprgp_original(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
