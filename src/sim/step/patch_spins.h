/* Spin of rigid bodies on flat patches of contact.
 *
 * The contacts of two convex solids at the corners of a common area slide in different directions if the bodies spin on each other. The friction
 * torque is then that of loads at the border of the patch, up to twice that of a uniform load. The warning few-contact-points is issued when a
 * pair has spun by 0.05 rad, unless a body has contact points of equal area (contact_points). The angles are part of the state, so that a
 * resumed run issues the same warnings. Caller: step_record.c. */
#ifndef SS_SIM_STEP_PATCH_SPINS_H
#define SS_SIM_STEP_PATCH_SPINS_H
#include "core/field_table.h"
#include "sim/step/step_contacts.h"

/* Angles by which pairs of solids have spun on contact points at the border of a flat patch since the start of the run. */
typedef struct {
  int64_t   n, capacity;
  uint64_t *pair;  /* [n] ascending: first part of the keys of their contacts */
  double   *angle; /* [n] rad */
} patch_spins;

void patch_spins_destroy(patch_spins *m); /* accepts zeros */
/* Register group "contact/spins" of checkpoints. `m` must not move while the table exists. */
PetscErrorCode patch_spins_fields(patch_spins *m, field_table *table);
/* Add the spin in an accepted step. impulse [n][3] N s and velocity [n][3] m/s of the contacts in their frames, normal first. Error: out of memory. */
PetscErrorCode patch_spins_update(patch_spins *m, const step_contacts *c, const step_layout *l, const double *impulse,
                                  const double *velocity);
#endif
