/* The alternating direction method of multipliers, the keys of its options. */
#ifndef SS_OPTIM_FRICTION_ADMM_H
#define SS_OPTIM_FRICTION_ADMM_H
#include "core/key_table.h"
#include "optim/friction/friction_problem.h"

typedef struct friction_admm_options {
  double  penalty; /* rho over its default */
  double  relaxation;
  int64_t rebalance_every; /* iterations; 0: never */
  int64_t check_every;
} friction_admm_options;
extern const key_table friction_admm_table;
/* A friction_solve_function. */
PetscErrorCode friction_solve_admm(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
