/* The order of a Gauss-Seidel sweep over contacts, cut into tasks: rounds one after the other, the tasks of a round at once, the
 * contacts of a task one by one. Tasks of one round share no group of contacts. The plan depends on the problem alone, so the
 * result of a sweep has the same bits on any number of threads.
 *
 * Groups (bodies) are dealt to an even number of parts by METIS. The first round sweeps each part's own contacts; then parts are
 * paired as in a tournament, and each pair's common contacts are a task. Contacts across more than two parts come last, in one
 * task. */
#ifndef SS_OPTIM_FRICTION_CONTACT_PLAN_H
#define SS_OPTIM_FRICTION_CONTACT_PLAN_H
#include "optim/friction/contact_groups.h"

typedef struct {
  int64_t  n, n_rounds, n_tasks;
  int64_t *round_start; /* [n_rounds+1] tasks */
  int64_t *task_start;  /* [n_tasks+1] places in the order */
  int32_t *order;       /* [n] contacts */
} contact_plan;

/* n_parts 1: all contacts in one task, in their own order; else even. */
PetscErrorCode contact_plan_create(const contact_groups *g, int64_t n_parts, contact_plan *out);
void           contact_plan_destroy(contact_plan *p);
/* The number of parts for a problem of this size: 1 where threads would wait for each other most of the time. */
int64_t contact_plan_parts(const contact_groups *g);
#endif
