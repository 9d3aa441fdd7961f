/* Automatic choice of the friction solver. Splitting runs while its convergence rate predicts an early end; then the proximal
 * Newton method, then the interior point method. If all stall, accelerated splitting runs, then growing batches of splitting
 * sweeps with Newton steps in between. Many weakly coupled bodies start with the projected gradient. The decisions use errors
 * and iteration counts, never times, so that results are reproducible. */
#ifndef SS_OPTIM_FRICTION_AUTOMATIC_H
#define SS_OPTIM_FRICTION_AUTOMATIC_H
#include "optim/friction/friction_problem.h"

/* A friction_solve_function. */
PetscErrorCode friction_solve_automatic(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
