/* Solver of a friction problem (friction_problem.h) by the alternating direction method of multipliers (ADMM). Many iterations use the
 * same factorisation. The formulas are at the top of admm.c. */
#ifndef SS_OPTIM_FRICTION_ADMM_H
#define SS_OPTIM_FRICTION_ADMM_H
#include "optim/friction/friction_problem.h"

/* A friction_solve_function: arguments and errors as declared in friction_problem.h. */
PetscErrorCode friction_solve_admm(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
