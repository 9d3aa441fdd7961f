/* Proximal Newton method: solves a sequence of friction problems with u = W r + q + alpha (r - centre) by Newton's method (newton.h). The shift
 * alpha makes the systems regular, also for redundant contacts. The functions of one run are public for `automatic` and `interior_point`. */
#ifndef SS_OPTIM_FRICTION_NEWTON_PROX_H
#define SS_OPTIM_FRICTION_NEWTON_PROX_H
#include "optim/friction/newton.h"

/* Data and counters of one run. */
typedef struct {
  const friction_problem *p;
  const friction_options *o;
  newton_work            *work;
  newton_matrix          *matrix;
  friction_result        *out;           /* its iteration counters are incremented */
  double                  end;           /* time limit: value of timer_now() [s]; INFINITY: none */
  double                  mean_diagonal; /* of W; unit of alpha [1/kg] */
  double                 *centre;        /* [n][3] impulses of the last accepted problem */
  friction_status         status;        /* FRICTION_OK, or the reason why the run stopped */
} newton_run;

/* Allocate the data of a run; p, o and out are borrowed. */
PetscErrorCode newton_run_create(const friction_problem *p, const friction_options *o, double end, friction_result *out, newton_run *run);
void           newton_run_destroy(newton_run *run);
/* Solve a sequence of proximal problems from r [n][3] with at most n_steps Newton steps. alpha: factor on the default first shift, 1 for
 * r = 0, smaller for a better r. The best impulses are in run->work, the outcome is in run->status. */
PetscErrorCode newton_prox_sequence(newton_run *run, double alpha, int64_t n_steps, double *r);
/* Try Newton's method from an almost converged r [n][3] with several alpha, where alpha shifts only the matrix, not the problem. The best
 * impulses are in run->work. */
PetscErrorCode newton_prox_attempts(newton_run *run, const double *r);
/* Run batches of splitting sweeps of increasing length, each followed by newton_prox_attempts. Ends at convergence, at the time limit or
 * after most_sweeps sweeps. */
PetscErrorCode newton_prox_with_splitting(newton_run *run, int64_t most_sweeps, double *r);
/* A friction_solve_function: arguments and errors as declared in friction_problem.h. */
PetscErrorCode friction_solve_newton_prox(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
