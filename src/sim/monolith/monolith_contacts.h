/* Contacts between rigid bodies and obstacles in a step of `monolith`: contact rows over the unknown bodies, conversion between
 * forces and impulses, and the correction of overlaps after the step. Used by monolith.c and monolith_flow.c.
 *
 * Contacts, frames and rows are those of sim/step/step_contacts.h. In u = row . v + known (contact frame), `known` contains
 * prescribed motion and the shift, which lets separate bodies close their gap. Overlaps are corrected by positions:
 *
 *    min 1/2 dx^T M dx,   N dx >= -share gap  where the bodies overlap at the end of the step,  N dx >= -gap  elsewhere
 *
 * with gaps and normals N to first order about the start of the step. Velocities do not change. */
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
/* Detect the contacts of the step that `l` has begun; the guess is lambda [n], z [n][2] [N] of the previous step. */
PetscErrorCode monolith_contacts_find(monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, step_status *status);
void           monolith_contacts_guess(const monolith_contacts *c, double dt, double *lambda, double *z);
/* wrench [n_bodies][6] += contact forces, about the centres of mass [N, N m]. */
void monolith_contacts_add(const monolith_contacts *c, const double *lambda, const double *z, double (*wrench)[6]);
/* To be called when the step is solved, with l->v and l->frames of its end: record forces, points, summary and the impulses for
 * the next step. */
PetscErrorCode monolith_contacts_accept(monolith_contacts *c, const step_layout *l, const double *lambda, const double *z,
                                        contact_summary *out);
/* After the step: dx [n_bodies][6], displacement and rotation of the bodies that correct overlaps, each displacement at most
 * `most`. *worst: the deepest overlap before [m]. *is_needed = false: no overlap is deeper than `tolerance`. */
PetscErrorCode monolith_contacts_separate(const monolith_contacts *c, const step_layout *l, const monolith_bodies *bodies, double share,
                                          double tolerance, double most, double (*dx)[6], double *worst, bool *is_needed);
#endif
