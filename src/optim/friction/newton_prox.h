/* Proximal Newton method: Newton's method on a sequence of problems with W + alpha I, also for redundant contacts. Also declares
 * its two ways to run, for `automatic` and `interior_point`. */
#ifndef SS_OPTIM_FRICTION_NEWTON_PROX_H
#define SS_OPTIM_FRICTION_NEWTON_PROX_H
#include "optim/friction/newton.h"

/* Data and counters of one run. */
typedef struct {
  const friction_problem *p;
  const friction_options *o;
  newton_work            *work;
  newton_matrix          *matrix;
  friction_result        *out; /* inner_iterations and linear_solves are counted on */
  double                  end; /* timer_now's clock */
  double                  mean_diagonal;
  double                 *centre; /* [n][3] */
  friction_status         status; /* FRICTION_OK, or the reason why the run stopped */
} newton_run;

PetscErrorCode newton_run_create(const friction_problem *p, const friction_options *o, double end, friction_result *out, newton_run *run);
void           newton_run_destroy(newton_run *run);
/* Solve a sequence of proximal problems from r, at most n_steps Newton steps. alpha: first shift over its value for a start from zero.
 * run->work contains the best impulses; FRICTION_OK: converged. */
PetscErrorCode newton_prox_sequence(newton_run *run, double alpha, int64_t n_steps, double *r);
/* Newton's method from r with W + alpha I in the matrix only, for several alpha: improves an almost converged r. */
PetscErrorCode newton_prox_attempts(newton_run *run, const double *r);
/* Growing batches of splitting sweeps, each followed by newton_prox_attempts, until convergence, the time limit, or most_sweeps. */
PetscErrorCode newton_prox_with_splitting(newton_run *run, int64_t most_sweeps, double *r);
/* A friction_solve_function. */
PetscErrorCode friction_solve_newton_prox(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
