/* Solver of the granular problem (granular_problem.h): staggered projections in the published order [TakahashiBatty2021], and weakly
 * coupled schemes for comparison. Called by sim/monolith once per step. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_H
#define SS_OPTIM_GRANULAR_GRANULAR_H
#include "optim/granular/granular_kkt.h"
#include "optim/granular/granular_problem.h"

/* Memory that is reused between solves, for speed only; results do not depend on it. */
typedef struct granular_work granular_work;
PetscErrorCode               granular_work_create(granular_work **out);
void                         granular_work_destroy(granular_work **w);
void                         granular_work_set_solvers(granular_work *w, const granular_solvers *solvers); /* copies the pointers */

/* Solve the problem f of one time step. x in: initial guess, out: solution. w NULL: scratch memory is created for this call.
 * The result is bit-identical for any number of threads. Errors: invalid input and out of memory. A solve that does not converge is
 * no error; see r->is_converged and r->is_finite. */
PetscErrorCode granular_solve(const granular_problem *f, const granular_options *o, granular_work *w, granular_state *x,
                              granular_report *r);
#endif
