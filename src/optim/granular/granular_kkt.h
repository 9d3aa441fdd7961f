/* Residual of the optimality conditions at a state, evaluated from the problem alone: rows of G and D, no transposes and no
 * solver data. Independent check of the solver, also used by the tests. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#define SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#include "optim/granular/granular_problem.h"

PetscErrorCode flow_kkt(const flow_problem *f, const flow_state *x, flow_kkt_report *r);
#endif
