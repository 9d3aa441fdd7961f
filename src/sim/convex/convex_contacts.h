/* Contacts of a step as potentials: their parameters, and what the law says of the answer. */
#ifndef SS_SIM_CONVEX_CONTACTS_H
#define SS_SIM_CONVEX_CONTACTS_H
#include "sim/convex/convex_keys.h"
#include "sim/step/step_frame.h"

typedef struct {
  int64_t      n;
  sap_contact *law;       /* [n] */
  double      *known;     /* [n][3] velocities at the unknowns' known part */
  double      *r, *u, *x; /* [n][3] see step_outcome */
  double      *scale;     /* [n][9] */
} convex_contacts;

/* Of the frame's contacts, for the matrix A of the step's unknowns and their rows J. *c, zeros, is filled. */
PetscErrorCode convex_contacts_create(const convex_options *o, const step_frame *f, const step_unknowns *u, const sparse_rows *A,
                                      const sparse_rows *J, convex_contacts *c);
void           convex_contacts_destroy(convex_contacts *c);
/* c->x and c->scale of c->r and c->u. */
void convex_contacts_judge(const convex_options *o, convex_contacts *c);
/* The most that a contact creeps which sticks [m/s]. */
double convex_contacts_creep_bound(const convex_options *o, const convex_contacts *c);
#endif
