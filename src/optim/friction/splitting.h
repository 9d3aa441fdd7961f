/* Splitting: block Gauss-Seidel over contacts [Daviet2011], the keys of its options. */
#ifndef SS_OPTIM_FRICTION_SPLITTING_H
#define SS_OPTIM_FRICTION_SPLITTING_H
#include "optim/friction/friction.h"

enum { SPLITTING_LOCAL_EXACT, SPLITTING_LOCAL_HYBRID };
enum { SPLITTING_SWEEP_FORWARD, SPLITTING_SWEEP_SYMMETRIC };

typedef struct friction_splitting_options {
  int     local;       /* how one contact is solved */
  int     sweep;
  int64_t check_every; /* sweeps between evaluations of the error, at most */
  int64_t freeze_after;
  double  freeze_change;
  int64_t memory;      /* of Anderson's acceleration; 0: off */
  int64_t period;      /* sweeps between its steps */
  int64_t parts;       /* of the sweep plan, -1: chosen */
} friction_splitting_options;
extern const key_table friction_splitting_table;

/* Splitting for those who combine methods: see friction_judge. Everything else as friction_solve_splitting. */
PetscErrorCode splitting_run(const friction_problem *p, const friction_options *o, friction_judge is_hopeless, void *ctx,
                             double *r, double *u, friction_result *out);
#endif
