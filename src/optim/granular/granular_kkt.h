/* How far a state is from a solution, from the problem alone: rows of G and D, no transposes, nothing that a solver has kept. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#define SS_OPTIM_GRANULAR_GRANULAR_KKT_H
#include "optim/granular/granular_problem.h"

PetscErrorCode flow_kkt(const flow_problem *f, const flow_state *x, flow_kkt_report *r);
#endif
