/* MPRGP (modified proportioning with reduced gradient projections) [DostalSchoeberl2005], preconditioned on the free unknowns. Far from
 * the solution the active set is extended by whole conjugate gradient steps that are projected onto the bounds [KruzikEtAl2020]. Near the
 * solution it is extended by steps of fixed length, as in [TakahashiBatty2021, sec. 4.3.2].
 *
 * phi is the free gradient (g at unknowns between their bounds), beta the chopped gradient (nu - phi, nonzero only at bounds). Norms use
 * a metric w, 1/diagonal or constant without preconditioner: |beta|_w^2 = sum w beta^2. Fixed steps follow -w phi. The iterates
 * therefore do not depend on the units of the unknowns. Difference from the published method: if a whole projected step would not lower
 * the objective, the fixed step replaces it, so that the objective decreases in every iteration. */
#ifndef SS_OPTIM_BOUNDS_MPRGP_H
#define SS_OPTIM_BOUNDS_MPRGP_H
#include "optim/bounds/bounds_problem.h"

/* Each is a bounds_solve_function (bounds_problem.h). bounds_solve_mprgp_original uses only fixed steps to extend the active set. */
PetscErrorCode bounds_solve_mprgp(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_mprgp_original(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
