/* What contacts pushed with in the last accepted step, by their keys: where the next one starts from, and state, since a solution
 * may depend on the guess. Kept as forces in world axes: frames of contacts turn, steps change. */
#ifndef SS_SIM_STEP_STEP_IMPULSES_H
#define SS_SIM_STEP_STEP_IMPULSES_H
#include "contact/rows/contact_jacobian.h"
#include "core/field_table.h"

typedef struct {
  int64_t   n, capacity;
  uint64_t *key;   /* [n][2] ascending, as in contact sets */
  double   *force; /* [n][3] N */
} step_impulses;

void step_impulses_destroy(step_impulses *m);
/* r [n][3]: impulses [N s] of contacts sorted by key, in the frames of `j`; 0 for those not known. */
void step_impulses_guess(const step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt, double *r);
/* Forget all, then remember these that are not 0. */
PetscErrorCode step_impulses_remember(step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt,
                                       const double *r);
/* Group "contact/impulses" of checkpoints; what is restored must be sorted and finite. `m` must stay where it is as long as the
 * table. */
PetscErrorCode step_impulses_fields(step_impulses *m, field_table *table);
#endif
