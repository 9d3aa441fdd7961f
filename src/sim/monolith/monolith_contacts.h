/* The contacts among rigid bodies and obstacles in a step of `monolith`: as rows over the bodies that are solved for, their forces
 * as impulses and back, and what is pushed apart after the step.
 *
 * Contacts, their frames and rows are those of sim/step. With u = row . v + known in the contact's frame, known holds what moves as
 * prescribed and the shift of step_contacts.h: what is apart may close its gap. Overlaps are left to the positions: [theory,
 * section 11]
 *
 *   min 1/2 dx^T M dx,   N dx >= -share gap  where the bodies overlap at the end of the step,  N dx >= -gap  elsewhere
 *
 * with gaps and normals N to first order about the start of the step; velocities stay as they are. */
#ifndef SS_SIM_MONOLITH_MONOLITH_CONTACTS_H
#define SS_SIM_MONOLITH_MONOLITH_CONTACTS_H
#include "optim/granular/granular.h"
#include "sim/monolith/monolith_bodies.h"
#include "sim/step/step_record.h"

typedef struct {
  step_contacts  found;
  step_record    record;
  int64_t        n, capacity;
  flow_contact  *contact;  /* [n] */
  double        *r, *u;    /* [n][3] impulses, N s; velocities with shift, m/s */
  double        *W;        /* [n][9] diagonal blocks of H M^-1 H^T */
} monolith_contacts;

PetscErrorCode monolith_contacts_create(scene *s, monolith_contacts *c); /* in place, zeros before */
void           monolith_contacts_destroy(monolith_contacts *c);
/* Those of the step that `l` has begun, with the guess lambda [n], z [n][2] [N] from the step before. */
PetscErrorCode monolith_contacts_find(monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, step_verdict *verdict);
void           monolith_contacts_guess(const monolith_contacts *c, double dt, double *lambda, double *z);
/* wrench [n_bodies][6] += the forces, about the centres of mass [N, N m]. */
void monolith_contacts_add(const monolith_contacts *c, const double *lambda, const double *z, double (*wrench)[6]);
/* The step is solved, l->v and l->frames are those of its end: forces, points, summary; and the memory. */
PetscErrorCode monolith_contacts_accept(monolith_contacts *c, const step_layout *l, const double *lambda, const double *z,
                                        contact_summary *out);
/* After it: dx [n_bodies][6] by which bodies have to move, way and turn, each way at most `most` [m]. *worst: the deepest overlap
 * before [m]. Nothing (false) if no overlap is deeper than `enough`. */
PetscErrorCode monolith_contacts_part(const monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, double share,
                                      double enough, double most, double (*dx)[6], double *worst, bool *is_needed);
#endif
