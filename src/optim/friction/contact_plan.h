/* The order of a Gauss-Seidel sweep over contacts, divided into rounds and tasks. Rounds run one after the other, the tasks of a
 * round in parallel, the contacts of a task in sequence. Tasks of one round share no contact group. The plan depends on the
 * problem alone, so the result of a sweep has the same bits on any number of threads. Used by splitting.c.
 *
 * METIS distributes the groups (bodies) over an even number of parts. The first round sweeps the contacts within each part. Then
 * the parts are paired as in a round-robin tournament, so that each pair occurs in one round. The contacts between the two parts of a
 * pair form a task. Contacts that belong to more than two parts come last, in one task. */
#ifndef SS_OPTIM_FRICTION_CONTACT_PLAN_H
#define SS_OPTIM_FRICTION_CONTACT_PLAN_H
#include "optim/friction/contact_groups.h"

typedef struct {
  int64_t  n, n_rounds, n_tasks;
  int64_t *round_start; /* [n_rounds+1] first task of each round */
  int64_t *task_start;  /* [n_tasks+1] index in `order` of the first contact of each task */
  int32_t *order;       /* [n] contacts in the order of the sweep */
} contact_plan;

/* Create a plan. n_parts is even, or 1: all contacts in one task, by ascending index. Errors: out of memory, or METIS fails. */
PetscErrorCode contact_plan_create(const contact_groups *g, int64_t n_parts, contact_plan *out);
void           contact_plan_destroy(contact_plan *p);
/* Returns the number of parts for these groups. It is 1 for small problems, where threads would mostly wait for each other. */
int64_t contact_plan_parts(const contact_groups *g);
#endif
