/* Modified proportioning with reduced gradient projections [DostalSchoeberl2005], preconditioned in the face, with the expansion of
 * [KruzikEtAl2020] far from the answer and the fixed step near it, as [TakahashiBatty2021, sec. 4.3.2] has it.
 *
 * Everything is measured with a metric w (1/diagonal, or 1 without preconditioner): |beta|_w^2 = sum w beta^2, fixed steps go along
 * -w phi, so that the iterates do not change with the unit of an unknown. What is added to the published method: where a whole step
 * of conjugate gradients that is cut at the bounds would not lower the objective, the fixed step is taken instead, so that the
 * objective falls with every iterate.   */
#ifndef SS_OPTIM_BOUNDS_MPRGP_H
#define SS_OPTIM_BOUNDS_MPRGP_H
#include "optim/bounds/bounds_problem.h"

/* box_solve_functions */
PetscErrorCode box_solve_mprgp(const box_qp *q, const box_options *o, double *x, box_result *r);
PetscErrorCode box_solve_mprgp_original(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
