/* Sweeps over contacts: the moving parts of splitting.c. */
#ifndef SS_OPTIM_FRICTION_SPLITTING_SWEEP_H
#define SS_OPTIM_FRICTION_SPLITTING_SWEEP_H
#include "optim/friction/friction.h"
#include "optim/friction/one_contact.h"
#include "optim/friction/splitting.h"
#include "optim/friction/contact_plan.h"

/* Everything in the order of the plan. */
typedef struct {
  const contact_groups *groups; /* of W */
  contact_plan   plan;
  int64_t        n;
  one_contact   *one;        /* [n] */
  int64_t       *side_start; /* [n+1] */
  group_side    *side;
  double        *q, *r;      /* [n][3] */
  double        *alpha;      /* [n] sliding coefficients of the last visit */
  double        *state;      /* of the groups */
  uint8_t       *quiet, *sleep; /* [n] visits without change; sweeps to leave out */
  double         freeze_change2; /* squared, of r and relative; 0: never */
  int            freeze_after, local;
  bool           is_far;     /* columns come from memory: ask for them ahead */
  int            n_lanes;    /* threads that the tasks are dealt to, longest first; who does a task makes no difference to it */
  int64_t       *lane_start; /* [n_rounds * n_lanes + 1] */
  int32_t       *lane_task;  /* [n_tasks] */
} sweeper;

PetscErrorCode sweeper_create(const friction_problem *p, const friction_splitting_options *o, sweeper *out);
void           sweeper_destroy(sweeper *s);
/* Put impulses (in the order of the contacts) in, and take them out; taking is cheap. Putting in computes the state afresh. */
void sweeper_put(sweeper *s, const double *r);
void sweeper_take(const sweeper *s, double *r, double *u);
/* Sweeps over all contacts, forward or forth and back. Threaded, the same bits on any number of threads. */
void sweeper_run(sweeper *s, int64_t n_sweeps, bool is_symmetric);
void sweeper_wake(sweeper *s);
#endif
