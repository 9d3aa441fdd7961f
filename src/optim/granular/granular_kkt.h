/* Residual of the optimality (Karush-Kuhn-Tucker) conditions at a state. It uses only the problem: the rows of G and D, no transposes and
 * no solver data. Therefore it is an independent check of the solver. Called at the end of granular_solve and by tests. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#define SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#include "optim/granular/granular_problem.h"

/* Set *r to the residual of problem f at x; x->u and x->v are not read. Error: out of memory. */
PetscErrorCode granular_kkt(const granular_problem *f, const granular_state *x, granular_kkt_report *r);
#endif
