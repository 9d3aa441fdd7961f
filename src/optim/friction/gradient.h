/* Solver of a friction problem by accelerated projected gradient steps on the convex problem with a fixed term mu |u_T| [Cadoux2009],
 * and the keys of its options. gradient.c states the iteration. Also called by the solver `automatic`. */
#ifndef SS_OPTIM_FRICTION_GRADIENT_H
#define SS_OPTIM_FRICTION_GRADIENT_H
#include "optim/friction/friction_problem.h"

enum { GRADIENT_LIFT_EVERY, GRADIENT_LIFT_OUTER };

typedef struct friction_gradient_options {
  int    lift;  /* when the term mu |u_T| is updated */
  double inner; /* GRADIENT_LIFT_OUTER: error of the convex problem, relative to the error of the whole problem, at
                         * which it is updated */
  bool   is_accelerated;
} friction_gradient_options;
extern const key_table friction_gradient_table;

/* friction_solve_gradient with a stop test: see friction_stop_test. The test may be NULL. */
PetscErrorCode gradient_run(const friction_problem *p, const friction_options *o, friction_stop_test stop_test, void *ctx, double *r,
                            double *u, friction_result *out);
/* A friction_solve_function. */
PetscErrorCode friction_solve_gradient(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
