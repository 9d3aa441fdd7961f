/* Solver of a friction problem (friction_problem.h) by accelerated projected gradient steps on a convex problem, in which the term
 * mu |u_T| is constant [Cadoux2009]. The formulas are at the top of gradient.c. Also called by the solver `automatic`. */
#ifndef SS_OPTIM_FRICTION_GRADIENT_H
#define SS_OPTIM_FRICTION_GRADIENT_H
#include "optim/friction/friction_problem.h"

/* friction_solve_gradient with a stop test (friction_problem.h) and its first argument ctx. stop_test may be NULL. */
PetscErrorCode gradient_run(const friction_problem *p, const friction_options *o, friction_stop_test stop_test, void *ctx, double *r,
                            double *u, friction_result *out);
/* A friction_solve_function: arguments and errors as declared in friction_problem.h. */
PetscErrorCode friction_solve_gradient(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
