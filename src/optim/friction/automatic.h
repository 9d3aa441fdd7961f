/* The choice of a method: sweeps while they promise to end soon, then Newton on proximal problems, then an interior-point
 * method, and where all these stall, accelerated sweeps, and growing batches of plain ones with Newton steps in between. Many
 * loosely held bodies begin with the projected gradient. What decides are errors and counts, never the clock. */
#ifndef SS_OPTIM_FRICTION_AUTOMATIC_H
#define SS_OPTIM_FRICTION_AUTOMATIC_H
#include "optim/friction/friction_problem.h"

/* A friction_solve_function. */
PetscErrorCode friction_solve_automatic(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
