/* The order of a Gauss-Seidel sweep over contacts, divided into rounds and tasks. Rounds run one after the other, the tasks of a
 * round in parallel, the contacts of a task in sequence. Tasks of one round share no contact group. The plan depends on the
 * problem alone, so the result of a sweep has the same bits on any number of threads. Used by splitting.c.
 *
 * METIS distributes the groups (bodies) over an even number of parts. The first round sweeps the contacts within each part. Then
 * the parts are paired as in a round-robin tournament, and the common contacts of each pair are a task. Contacts of more than
 * two parts come last, in one task. */
#ifndef SS_OPTIM_FRICTION_CONTACT_PLAN_H
#define SS_OPTIM_FRICTION_CONTACT_PLAN_H
#include "optim/friction/contact_groups.h"

typedef struct {
  int64_t  n, n_rounds, n_tasks;
  int64_t *round_start; /* [n_rounds+1] tasks */
  int64_t *task_start;  /* [n_tasks+1] places in the order */
  int32_t *order;       /* [n] contacts */
} contact_plan;

/* n_parts: 1 (all contacts in one task, in their order) or even. */
PetscErrorCode contact_plan_create(const contact_groups *g, int64_t n_parts, contact_plan *out);
void           contact_plan_destroy(contact_plan *p);
/* Number of parts for this problem: 1 if threads would mostly wait for each other. */
int64_t contact_plan_parts(const contact_groups *g);
#endif
