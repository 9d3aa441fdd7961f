/* Solver of a friction problem by the alternating direction method of multipliers (ADMM): one factorisation for many iterations. admm.c
 * states the iteration. */
#ifndef SS_OPTIM_FRICTION_ADMM_H
#define SS_OPTIM_FRICTION_ADMM_H
#include "optim/friction/friction_problem.h"

/* A friction_solve_function. */
PetscErrorCode friction_solve_admm(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
