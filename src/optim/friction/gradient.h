/* Accelerated projected gradient, the keys of its options. */
#ifndef SS_OPTIM_FRICTION_GRADIENT_H
#define SS_OPTIM_FRICTION_GRADIENT_H
#include "optim/friction/friction_problem.h"

enum { GRADIENT_LIFT_EVERY, GRADIENT_LIFT_OUTER };

typedef struct friction_gradient_options {
  int    lift;          /* when mu |u_T| is brought up to date */
  double inner;         /* GRADIENT_LIFT_OUTER: error of the convex problem over that of the whole at which it is */
  bool   is_accelerated;
} friction_gradient_options;
extern const key_table friction_gradient_table;

/* As friction_solve_gradient, for those who combine methods; `is_hopeless` may be NULL. */
PetscErrorCode gradient_run(const friction_problem *p, const friction_options *o, friction_judge is_hopeless, void *ctx, double *r,
                            double *u, friction_result *out);
/* A friction_solve_function. */
PetscErrorCode friction_solve_gradient(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
