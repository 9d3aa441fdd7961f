/* Contacts of a step as convex potentials: parameters of the potentials, and the contact law at the solution. Used by convex.c. */
#ifndef SS_SIM_CONVEX_CONVEX_CONTACTS_H
#define SS_SIM_CONVEX_CONVEX_CONTACTS_H
#include "sim/convex/convex_constraints.h"
#include "sim/convex/convex_keys.h"
#include "sim/step/step_frame.h"

typedef struct {
  int64_t      n;
  sap_contact *law;        /* [n] */
  double      *known;      /* [n][3] contact velocities at v = step_unknowns.known, plus the shift below [m/s] */
  double      *r_previous; /* [n][3] forces of the last step times the length of this step, in contact frames [N s]; 0: not active */
  double      *r, *u, *x;  /* [n][3] see step_outcome; `known`, r, u and x have room for the constraints after the contacts */
  double      *scale;      /* [n][9] see step_outcome */
} convex_contacts;

/* Create the potentials of the contacts in f. A is the matrix of the step's unknowns; the first rows of J are the contact rows. The
 * effective mass of a contact is computed from the diagonal of A plus the gains of drives. *c must be zero before the call. Error:
 * out of memory. */
PetscErrorCode convex_contacts_create(const convex_options *o, const step_frame *f, const step_unknowns *u, const sparse_rows *A,
                                      const sparse_rows *J, const convex_constraints *constraints, convex_contacts *c);
void           convex_contacts_destroy(convex_contacts *c);
/* One fixed-point iteration towards Coulomb's law: add mu |x_T| of the last solution to the known normal velocity. Without it the
 * regularised law opens sliding contacts at this speed. shift [n] m/s: the added velocity; in: previous, out: new value. */
void convex_contacts_shift(convex_contacts *c, double *shift);
/* Evaluate c->x and c->scale from impulses c->r and velocities c->u. c->u includes `shift` [n] in its normal components. */
void convex_contacts_evaluate(const convex_options *o, const double *shift, convex_contacts *c);
/* Upper bound of the creep speed of sticking contacts [m/s]. */
double convex_contacts_creep_bound(const convex_options *o, const convex_contacts *c);
#endif
