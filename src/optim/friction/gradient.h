/* Solver of a friction problem by accelerated projected gradient steps on the convex problem with a fixed term mu |u_T| [Cadoux2009].
 * gradient.c states the iteration. Also called by the solver `automatic`. */
#ifndef SS_OPTIM_FRICTION_GRADIENT_H
#define SS_OPTIM_FRICTION_GRADIENT_H
#include "optim/friction/friction_problem.h"

/* friction_solve_gradient with a stop test: see friction_stop_test. The test may be NULL. */
PetscErrorCode gradient_run(const friction_problem *p, const friction_options *o, friction_stop_test stop_test, void *ctx, double *r,
                            double *u, friction_result *out);
/* A friction_solve_function. */
PetscErrorCode friction_solve_gradient(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
