/* The solver of the granular problem (granular_problem.h): staggered projections in the published order, and the weak couplings that it
 * is compared with. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_H
#define SS_OPTIM_GRANULAR_GRANULAR_H
#include "optim/granular/granular_kkt.h"
#include "optim/granular/granular_problem.h"

/* Memory that is kept from solve to solve, for speed only: answers do not depend on it. */
typedef struct flow_work flow_work;
PetscErrorCode flow_work_create(flow_work **out);
void           flow_work_destroy(flow_work **w);

/* Solve one step. w may be NULL. Same bits on any number of threads. Fails on bad input and when memory does; no convergence is no
 * failure. */
PetscErrorCode flow_solve(const flow_problem *f, const flow_options *o, flow_work *w, flow_state *x, flow_report *r);
#endif
