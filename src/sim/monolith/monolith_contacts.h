/* Contacts of rigid bodies with each other and with obstacles in a step of formulation monolith: contact rows, conversion between
 * forces and impulses, and the correction of overlaps after the step. Used by monolith.c and monolith_flow.c.
 *
 * Contacts, frames and rows are those of sim/step/step_contacts.h. In u = row . v + known (contact frame), `known` contains
 * prescribed motion and the shift of Coulomb's law. Overlaps are corrected by a displacement dx of the bodies with masses M:
 *
 *    min 1/2 dx^T M dx,   N dx >= -share gap  where the bodies overlap at the end of the step,  N dx >= -gap  elsewhere
 *
 * N: rows of the contact normals. Gaps and N are linearised about the start of the step. Velocities do not change. */
#ifndef SS_SIM_MONOLITH_MONOLITH_CONTACTS_H
#define SS_SIM_MONOLITH_MONOLITH_CONTACTS_H
#include "optim/granular/granular.h"
#include "sim/monolith/monolith_bodies.h"
#include "sim/step/step_record.h"

typedef struct {
  step_contacts     found;
  step_record       record;
  int64_t           n, capacity;
  granular_contact *contact; /* [n] */
  double           *r, *u;   /* [n][3] impulses, N s; velocities with shift, m/s */
  double           *W;       /* [n][9] diagonal blocks of H M^-1 H^T */
} monolith_contacts;

PetscErrorCode monolith_contacts_create(scene *s, monolith_contacts *c); /* fills in *c, which is zero */
void           monolith_contacts_destroy(monolith_contacts *c);
/* Detect the contacts of the step that `l` has begun. */
PetscErrorCode monolith_contacts_find(monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, step_status *status);
/* Initial guess from the previous step: normal forces lambda [n] and friction forces z [n][2] [N]. */
void monolith_contacts_guess(const monolith_contacts *c, double dt, double *lambda, double *z);
/* wrench [n_bodies][6] += contact forces, about the centres of mass [N, N m]. */
void monolith_contacts_add(const monolith_contacts *c, const double *lambda, const double *z, double (*wrench)[6]);
/* Record forces, points, summary and the initial guess of the next step. Call it when the step is solved, with l->v and l->frames of
 * its end. */
PetscErrorCode monolith_contacts_accept(monolith_contacts *c, const step_layout *l, const double *lambda, const double *z,
                                        contact_summary *out);
/* After the step: compute dx [n_bodies][6], displacements [m] and rotations [rad] that correct the fraction `share` of overlaps; no
 * displacement exceeds `most` [m]. *worst: deepest overlap before the correction [m]. *is_needed = false: no overlap exceeds
 * `tolerance` [m], and dx is not set. */
PetscErrorCode monolith_contacts_separate(const monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, double share,
                                          double tolerance, double most, double (*dx)[6], double *worst, bool *is_needed);
#endif
