/* Splitting method: block Gauss-Seidel sweeps over the contacts, each solved exactly (one_contact.h), with Anderson acceleration
 * [Daviet2011]. Also called by `automatic` and `newton_prox`. */
#ifndef SS_OPTIM_FRICTION_SPLITTING_H
#define SS_OPTIM_FRICTION_SPLITTING_H
#include "optim/friction/contact_plan.h"
#include "optim/friction/friction_problem.h"
#include "optim/friction/one_contact.h"

typedef enum { SPLITTING_LOCAL_EXACT, SPLITTING_LOCAL_FISCHER_BURMEISTER } splitting_local_solver; /* of a single contact */

/* friction_solve_splitting with a stop test (friction_problem.h) and its first argument ctx. stop_test may be NULL. is_accelerated: with
 * Anderson's acceleration; false: plain sweeps [Daviet2011]. */
PetscErrorCode splitting_run(const friction_problem *p, const friction_options *o, bool is_accelerated, friction_stop_test stop_test,
                             void *ctx, double *r, double *u, friction_result *out);
/* A friction_solve_function: arguments and errors as declared in friction_problem.h. */
PetscErrorCode friction_solve_splitting(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);

/* State of the sweeps. Arrays of contacts are in the order of the plan. */
typedef struct {
  const contact_groups *groups; /* of W, borrowed */
  contact_plan          plan;
  int64_t               n;
  one_contact          *one;          /* [n] data of each contact */
  int64_t              *side_start;   /* [n+1] range of each contact in `side` */
  group_side           *side;         /* copy of groups->side */
  double               *q, *r;        /* [n][3] relative velocities without impulses; impulses */
  double               *alpha;        /* [n] sliding coefficients of the last sweep */
  double               *state;        /* [groups->n_state] states of the groups */
  int                   local_solver; /* splitting_local_solver */
  bool                  is_far;       /* the columns of the groups exceed the cache, so they are prefetched */
  int                   n_lanes;      /* number of threads over which the tasks are distributed, longest task first; the result does not
                              * depend on it */
  int64_t              *lane_start;   /* [n_rounds * n_lanes + 1] range of each round and thread in lane_task */
  int32_t              *lane_task;    /* [n_tasks] tasks */
} sweeper;

PetscErrorCode sweeper_create(const friction_problem *p, splitting_local_solver local_solver, sweeper *out);
void           sweeper_destroy(sweeper *s);
/* Set the impulses r, and get r and u, [n][3] in the order of the problem. Setting recomputes the states of all groups. */
void sweeper_set_impulses(sweeper *s, const double *r);
void sweeper_get_solution(const sweeper *s, double *r, double *u);
/* Run sweeps over all contacts. Threaded; the same bits on any number of threads. */
void sweeper_run(sweeper *s, int64_t n_sweeps);
#endif
