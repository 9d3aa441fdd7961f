/* The proximal Newton method, the keys of its options, and its two ways to run for those who combine methods. */
#ifndef SS_OPTIM_FRICTION_NEWTON_PROX_H
#define SS_OPTIM_FRICTION_NEWTON_PROX_H
#include "optim/friction/newton.h"

typedef struct friction_newton_prox_options {
  double  alpha, shrink; /* first shift, over the mean diagonal of W; factor after a success */
  int64_t inner_steps;
  bool    hand_over;
} friction_newton_prox_options;
extern const key_table friction_newton_prox_table;

/* What a run of Newton's method needs, and what it has used up so far. */
typedef struct {
  const friction_problem *p;
  const friction_options *o;
  newton_work            *work;
  newton_matrix          *matrix;
  friction_result        *out;       /* inner_iterations and linear_solves are counted on */
  double                  end;       /* timer_now's clock */
  double                  mean_diagonal;
  double                 *centre;    /* [n][3] */
  friction_verdict        verdict;   /* FRICTION_OK, or why a run came back */
} newton_run;

PetscErrorCode newton_run_create(const friction_problem *p, const friction_options *o, double end, friction_result *out,
                                 newton_run *run);
void           newton_run_destroy(newton_run *run);
/* Sequence of proximal problems from r on, at most n_steps Newton steps. run->work holds the best impulses; FRICTION_OK: good
 * enough. */
PetscErrorCode newton_prox_sequence(newton_run *run, const friction_newton_prox_options *own, int64_t n_steps, double *r);
/* Newton's method from r on with W + alpha I in the matrix alone, for a few alpha: what finishes off a start that is nearly
 * right. */
PetscErrorCode newton_prox_attempts(newton_run *run, const double *r);
/* Batches of sweeps that grow, each followed by attempts, until solved or out of time or of sweeps. */
PetscErrorCode newton_prox_with_splitting(newton_run *run, int64_t most_sweeps, double *r);
/* A friction_solve_function. */
PetscErrorCode friction_solve_newton_prox(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
