/* Record of an accepted step: contact impulses as warm start for the next step (state in checkpoints), active contact points,
 * and the forces between bodies. Used by formulations exact, convex, monolith and hybrid. */
#ifndef SS_SIM_STEP_STEP_RECORD_H
#define SS_SIM_STEP_STEP_RECORD_H
#include "contact/rows/contact_jacobian.h"
#include "core/field_table.h"
#include "sim/step/formulation.h"
#include "sim/step/step_contacts.h"

/* Contact forces of the last accepted step by contact key: the initial guess of the next step. They are part of the state,
 * because a solution may depend on the guess. Stored as forces in world axes, because contact frames rotate and step lengths
 * change. */
typedef struct {
  int64_t   n, capacity;
  uint64_t *key;   /* [n][2] ascending, as in contact_set */
  double   *force; /* [n][3] N */
} step_impulses;

/* r [n][3] = guess of the impulses [N s] of contacts sorted by key, in the frames of `j`; 0 for contacts that were not active. */
void step_impulses_guess(const step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt, double *r);

typedef struct {
  step_impulses  known;
  contact_points points;
  contact_forces forces;
} step_record;

void step_record_destroy(step_record *r); /* accepts zeros */
/* Let f->points and f->forces refer to this record. */
void step_record_attach(const step_record *r, formulation *f);
/* Register the record in checkpoints. `r` must not move while the table exists. */
PetscErrorCode step_record_fields(step_record *r, field_table *table);

/* Solution of the contact law in a step, each [n][...]. */
typedef struct {
  const double *r, *u; /* [3] impulses; velocities including c->shift */
  const double *x;     /* [3] complementary quantity of r: in the dual cone, r . x = 0. NULL: Coulomb's, u + (mu |u_T|, 0, 0). A
                        * contact slides where x_T is not 0 */
  const double *scale; /* [9] diagonal blocks W of the Delassus operator, or approximations, for the natural map |r - P(r - rho
                        * x)| over the largest r_N with rho = 3/trace */
} step_outcome;

/* Record active contacts, forces between bodies, impulses and the summary. l->v and l->frames are those of the end of the step. */
PetscErrorCode step_contact_report(const step_contacts *c, const step_layout *l, const step_outcome *law, step_record *record,
                                   contact_summary *out);
#endif
