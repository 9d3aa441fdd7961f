/* Splitting method: block Gauss-Seidel sweeps over the contacts, each solved exactly (one_contact.h), with Anderson acceleration
 * [Daviet2011]. Also called by `automatic` and `newton_prox`. */
#ifndef SS_OPTIM_FRICTION_SPLITTING_H
#define SS_OPTIM_FRICTION_SPLITTING_H
#include "optim/friction/contact_plan.h"
#include "optim/friction/friction_problem.h"
#include "optim/friction/one_contact.h"

typedef enum { SPLITTING_LOCAL_EXACT, SPLITTING_LOCAL_FISCHER_BURMEISTER } splitting_local_solver; /* of a single contact */

/* friction_solve_splitting with a stop test (see friction_stop_test), which may be NULL. is_accelerated: with Anderson's acceleration;
 * false: plain sweeps [Daviet2011]. */
PetscErrorCode splitting_run(const friction_problem *p, const friction_options *o, bool is_accelerated, friction_stop_test stop_test,
                             void *ctx, double *r, double *u, friction_result *out);
/* A friction_solve_function. */
PetscErrorCode friction_solve_splitting(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);

/* State of the sweeps; arrays of contacts are in the order of the plan. */
typedef struct {
  const contact_groups *groups; /* of W */
  contact_plan          plan;
  int64_t               n;
  one_contact          *one;        /* [n] */
  int64_t              *side_start; /* [n+1] */
  group_side           *side;
  double               *q, *r;        /* [n][3] */
  double               *alpha;        /* [n] sliding coefficients of the last visit */
  double               *state;        /* of the groups */
  int                   local_solver; /* splitting_local_solver */
  bool                  is_far;       /* the columns exceed the cache: prefetch them */
  int                   n_lanes;      /* threads over which the tasks are distributed, longest first; the result does not depend on the
                              * distribution */
  int64_t              *lane_start;   /* [n_rounds * n_lanes + 1] */
  int32_t              *lane_task;    /* [n_tasks] */
} sweeper;

PetscErrorCode sweeper_create(const friction_problem *p, splitting_local_solver local_solver, sweeper *out);
void           sweeper_destroy(sweeper *s);
/* Set and get impulses, in the order of the contacts. Setting computes the state of all groups afresh. */
void sweeper_set_impulses(sweeper *s, const double *r);
void sweeper_get_solution(const sweeper *s, double *r, double *u);
/* Run sweeps over all contacts. Threaded; the same bits on any number of threads. */
void sweeper_run(sweeper *s, int64_t n_sweeps);
#endif
