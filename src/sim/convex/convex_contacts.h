/* Contacts of a step as potentials: their parameters, and what the law says of the answer. */
#ifndef SS_SIM_CONVEX_CONVEX_CONTACTS_H
#define SS_SIM_CONVEX_CONVEX_CONTACTS_H
#include "sim/convex/convex_constraints.h"
#include "sim/convex/convex_keys.h"
#include "sim/step/step_frame.h"

typedef struct {
  int64_t      n;
  sap_contact *law;       /* [n] */
  double      *known;     /* [n][3] velocities at the unknowns' known part */
  double      *pushes;    /* [n][3] what contacts pushed with in the last step, in this one's frames and for its length; 0: not known */
  double      *r, *u, *x; /* [n][3] see step_outcome; as known, with room for constraints behind them */
  double      *scale;     /* [n][9] */
} convex_contacts;

/* Of the frame's contacts, for the matrix A of the step's unknowns and their rows, the first of J; room for the constraints
 * behind them. A contact's inverse mass is that of A with the gains of their drives. *c, zeros, is filled. */
PetscErrorCode convex_contacts_create(const convex_options *o, const step_frame *f, const step_unknowns *u, const sparse_rows *A,
                                      const sparse_rows *J, const convex_constraints *constraints, convex_contacts *c);
void           convex_contacts_destroy(convex_contacts *c);
/* Towards Coulomb's own law: its sliding that is known, mu |x_T|, becomes a part of the normal velocity, which the law then does not
 * make up for by opening. shift [n]: that part, as it is and as it becomes. */
void convex_contacts_shift(convex_contacts *c, double *shift);
/* c->x and c->scale of c->r and c->u, which have `shift` [n] in them. */
void convex_contacts_judge(const convex_options *o, const double *shift, convex_contacts *c);
/* The most that a contact creeps which sticks [m/s]. */
double convex_contacts_creep_bound(const convex_options *o, const convex_contacts *c);
#endif
