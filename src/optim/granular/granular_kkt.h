/* Residual of the optimality conditions at a state. It is computed from the problem alone: from the rows of G and D, without
 * transposes or solver data. So it is an independent check of the solver. Called at the end of granular_solve and by tests. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#define SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#include "optim/granular/granular_problem.h"

/* Evaluate r at x; x->u and x->v are not read. Error: out of memory. */
PetscErrorCode granular_kkt(const granular_problem *f, const granular_state *x, granular_kkt_report *r);
#endif
