/* Working set: the contacts that the friction problems of a step are solved for. Where strands are close, three of four
 * candidate contacts stay inactive. A contact is excluded if it had no impulse in the last step and its bodies do not touch at
 * their current velocities. Excluded contacts are checked after each solve and added if the solution would violate them. A
 * contact that stays excluded has no impulse and no overlap, so Coulomb's law is satisfied for all contacts. Used by exact.c. */
#ifndef SS_SIM_EXACT_EXACT_WORKING_SET_H
#define SS_SIM_EXACT_EXACT_WORKING_SET_H
#include "sim/step/step_contacts.h"

enum {
  EXACT_FEW = 128
}; /* up to this number all contacts are included and solved to the final tolerance from the first
                           * iteration */

typedef struct {
  int64_t          n, n_all;
  int32_t         *contact;    /* [n] indices among the contacts of the step, ascending */
  bool            *is_in;      /* [n_all] included */
  contact_jacobian rows;       /* [n] start, block, value, known */
  double          *shift, *mu; /* [n] */
  double          *r, *u, *q;  /* [n][3] */
  double          *r_all;      /* [n_all][3] initial guess, before the first solve */
} exact_working_set;

/* Fill in s, which is zero, for the contacts of a step. r_all [n_all][3]: initial guess; v [n_blocks][3]: velocities at the
 * start of the step. */
PetscErrorCode exact_working_set_create(const step_contacts *c, const double *v, const double *r_all, exact_working_set *s);
void           exact_working_set_destroy(exact_working_set *s);
/* Add excluded contacts that velocities v would close beyond touching by more than `speed`. r is kept; the new impulses are
 * zero. */
PetscErrorCode exact_working_set_join(exact_working_set *s, const step_contacts *c, const double *v, double speed, int64_t *n_joined);
/* Adapt to additional contacts of the step, which have renumbered all: key [n_old][2] are the keys of the old ones in their
 * order. New contacts are included. */
PetscErrorCode exact_working_set_extend(exact_working_set *s, const step_contacts *c, int64_t n_old, const uint64_t *key);
/* Impulses r and velocities u (including the shift) of all contacts [n_all][3] at velocities v. */
void exact_working_set_spread(const exact_working_set *s, const step_contacts *c, const double *v, double *r, double *u);
#endif
