/* Contacts of a step as convex potentials: their parameters, and the contact law evaluated at the solution. Used by convex.c. */
#ifndef SS_SIM_CONVEX_CONVEX_CONTACTS_H
#define SS_SIM_CONVEX_CONVEX_CONTACTS_H
#include "sim/convex/convex_constraints.h"
#include "sim/convex/convex_keys.h"
#include "sim/step/step_frame.h"

typedef struct {
  int64_t      n;
  sap_contact *law;        /* [n] */
  double      *known;      /* [n][3] velocities of the prescribed part of v */
  double      *r_previous; /* [n][3] impulses of the last step in the frames and for the length of this step; 0: not active */
  double      *r, *u, *x;  /* [n][3] see step_outcome; `known`, r and u have room for constraints at the end */
  double      *scale;      /* [n][9] */
} convex_contacts;

/* Create the potentials of the contacts in f, for the matrix A of the step's unknowns and the contact rows, the first rows of J.
 * The arrays have room for the constraints at the end. The inverse mass of a contact is that of A plus the gains of drives.
 * Fills in *c, which is zero. */
PetscErrorCode convex_contacts_create(const convex_options *o, const step_frame *f, const step_unknowns *u, const sparse_rows *A,
                                      const sparse_rows *J, const convex_constraints *constraints, convex_contacts *c);
void           convex_contacts_destroy(convex_contacts *c);
/* One pass towards Coulomb's law: the known sliding mu |x_T| becomes part of the normal velocity, so that the regularised law
 * does not open the contact by it. shift [n]: this part, in: before, out: after. */
void convex_contacts_shift(convex_contacts *c, double *shift);
/* Evaluate c->x and c->scale from c->r and c->u, which include `shift` [n]. */
void convex_contacts_evaluate(const convex_options *o, const double *shift, convex_contacts *c);
/* Upper bound of the creep speed of sticking contacts [m/s]. */
double convex_contacts_creep_bound(const convex_options *o, const convex_contacts *c);
#endif
