/* Working set: the contacts that are unknowns of the friction problems of a step. Where strands are close, three of four candidate
 * contacts stay inactive. A contact is excluded if it had no impulse in the last step and its gap does not close in this step at the
 * initial velocities. Excluded contacts are checked after each solve and added if the solution would violate them. A contact that
 * stays excluded has no impulse and no overlap, so Coulomb's law is satisfied for all contacts. Used by step_coulomb.c. */
#ifndef SS_SIM_STEP_STEP_WORKING_SET_H
#define SS_SIM_STEP_STEP_WORKING_SET_H
#include "sim/step/step_contacts.h"

enum {
  WORKING_SET_FEW = 128
}; /* up to this number of contacts: all are included, and every friction problem is solved to the final
                           * tolerance */

typedef struct {
  int64_t          n, n_all;
  int32_t         *contact;    /* [n] indices among the contacts of the step, ascending */
  bool            *is_in;      /* [n_all] included */
  contact_jacobian rows;       /* [n] start, block, value, known */
  double          *shift, *mu; /* [n] */
  double          *r, *u, *q;  /* [n][3] */
  double          *r_all;      /* [n_all][3] initial guess, before the first solve */
} step_working_set;

/* Select the working set of a step; *s must be zero before the call. r_all [n_all][3]: initial guess [N s]; v [n_blocks][3]:
 * velocities at the start of the step. includes_all: all contacts are included. Error: out of memory. */
PetscErrorCode step_working_set_create(const step_contacts *c, const double *v, const double *r_all, bool includes_all,
                                       step_working_set *s);
void           step_working_set_destroy(step_working_set *s);
/* Add the excluded contacts whose normal velocity plus shift at velocities v is below -speed [m/s]. *n_joined: their number. r of
 * the other contacts is unchanged; new impulses are zero. */
PetscErrorCode step_working_set_join(step_working_set *s, const step_contacts *c, const double *v, double speed, int64_t *n_joined);
/* Adapt to a repeated detection, which adds contacts and renumbers all. key [n_old][2]: keys of the previous contacts, ascending.
 * New contacts are included. */
PetscErrorCode step_working_set_extend(step_working_set *s, const step_contacts *c, int64_t n_old, const uint64_t *key);
/* Impulses r and velocities u (including the shift) of all contacts [n_all][3] at velocities v. */
void step_working_set_spread(const step_working_set *s, const step_contacts *c, const double *v, double *r, double *u);
#endif
