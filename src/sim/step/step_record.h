/* Record of an accepted step: contact impulses as warm start for the next step (state in checkpoints), active contact points,
 * and the forces between bodies. Used by formulations exact, convex, monolith and hybrid. */
#ifndef SS_SIM_STEP_STEP_RECORD_H
#define SS_SIM_STEP_STEP_RECORD_H
#include "contact/rows/contact_jacobian.h"
#include "core/field_table.h"
#include "sim/step/formulation.h"
#include "sim/step/patch_spins.h"
#include "sim/step/resting_islands.h"
#include "sim/step/step_contacts.h"

/* Contact forces of the last accepted step by contact key: the initial guess of the next step. They are part of the state,
 * because a solution may depend on the guess. Stored as forces in world axes, because contact frames rotate and step lengths
 * change. */
typedef struct {
  int64_t   n, capacity;
  uint64_t *key;   /* [n][2] ascending, as in contact_set */
  double   *force; /* [n][3] N */
} step_impulses;

/* r [n][3] = guess of the impulses [N s] of contacts sorted by key, in the frames of `j`. Contacts with a stored key get its force. The others
 * get equal shares of the remaining force of their pair, 0 if there is none: where corners of two faces coincide, the keys can change without
 * motion, and the load of the pair must not be lost with them. */
void step_impulses_guess(const step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt, double *r);

/* Insert the forces [m][3] of contacts that m does not contain, keys [n][2] ascending. */
PetscErrorCode step_impulses_insert(step_impulses *m, int64_t n, const uint64_t *key, const double *force);
/* Remove the contacts with these keys [n][2], ascending. */
void step_impulses_remove(step_impulses *m, int64_t n, const uint64_t *key);

typedef struct {
  step_impulses  known;
  patch_spins    spins;
  contact_points points;
  contact_forces forces;
  int64_t        row_capacity, *row; /* [points.n] contact of each point; -1: of bodies at rest */
} step_record;

void step_record_destroy(step_record *r); /* accepts zeros */
/* Set f->points and f->forces to those of this record, which must outlive f. */
void step_record_attach(const step_record *r, formulation *f);
/* Register the record in checkpoints. `r` must not move while the table exists. */
PetscErrorCode step_record_fields(step_record *r, field_table *table);

/* Solution of the contact law in a step, each [n][...]. */
typedef struct {
  const double *r, *u;  /* [3] impulses; velocities including c->shift */
  const double *x;      /* [3] vector in the dual cone with r . x = 0. NULL: that of Coulomb's law, u + (mu |u_T|, 0, 0). A
                        * contact slides if x_T is not 0 */
  const double *scale;  /* [9] diagonal blocks W of the Delassus operator or approximations, for the error |r - P(r - rho x)| /
                        * largest r_N, P projection to the cone, rho = 3 / trace W */
  const double *energy; /* energy of the spring of each contact at the end of the step [J]; NULL: 0 */
  const double *creep;  /* accepted creep of each contact [m/s]; NULL: 0. A contact that moves slower sticks */
} step_outcome;

/* Record active contacts, forces between bodies, impulses and the summary *out; l->v and l->frames are those of the end of the step. resting: contacts
 * of bodies that the step has left out, they come first; NULL: none. */
PetscErrorCode step_contact_report(const step_contacts *c, const step_layout *l, const step_outcome *law, const resting_contacts *resting,
                                   step_record *record, contact_summary *out);
#endif
