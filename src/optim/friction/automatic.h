/* Automatic choice of the friction solver. If products with W are cheap, the projected gradient method runs first, otherwise splitting, while the
 * convergence rate predicts a lower cost than that of a Newton run. If it stalls, the proximal Newton method, the interior point method, a longer proximal Newton run, long splitting, and growing batches
 * of splitting sweeps with Newton steps follow, until one converges. For many weakly coupled bodies splitting follows
 * the projected gradient method. The decisions use errors and iteration counts, never times, so that results are reproducible. */
#ifndef SS_OPTIM_FRICTION_AUTOMATIC_H
#define SS_OPTIM_FRICTION_AUTOMATIC_H
#include "optim/friction/friction_problem.h"

/* A friction_solve_function: arguments and errors as declared in friction_problem.h. */
PetscErrorCode friction_solve_automatic(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
