/* Contacts of a step as convex potentials: parameters of the potentials, and the contact law at the solution. Used by convex.c. */
#ifndef SS_SIM_CONVEX_CONVEX_CONTACTS_H
#define SS_SIM_CONVEX_CONVEX_CONTACTS_H
#include "sim/convex/convex_constraints.h"
#include "sim/convex/convex_keys.h"
#include "sim/step/step_frame.h"

typedef struct {
  int64_t      n;
  sap_contact *law;        /* [n] */
  double      *known;      /* [n][3] contact velocities at v = step_unknowns.known, plus the shift and the anchor below [m/s] */
  double      *r_previous; /* [n][3] forces of the last step times the length of this step, in contact frames [N s]; 0: not active */
  double      *anchor;    /* [n][2] friction impulse b at which a sticking contact has no tangential velocity, u_T = -R_t (r_T - b) [N s] */
  int64_t     *pair;      /* [n] first contact of the same pair of bodies */
  double      *largest;   /* [n] at the first contact of a pair: its largest normal impulse [N s] */
  double      *r, *u, *x; /* [n][3] see step_outcome; `known`, r, u and x have room for the constraints after the contacts */
  double      *scale;     /* [n][9] see step_outcome */
} convex_contacts;

/* Create the potentials of the contacts in f. A is the matrix of the step's unknowns; the first rows of J are the contact rows. The
 * effective mass of a contact is computed from the diagonal of A plus the gains of drives. max_depth: depth of resting contacts without a
 * given stiffness [m]. shift [n]: as below; set to the prediction from the last step. *c must be zero before the call. Error: out of
 * memory. */
PetscErrorCode convex_contacts_create(const convex_options *o, const step_frame *f, const step_unknowns *u, const sparse_rows *A,
                                      const sparse_rows *J, const convex_constraints *constraints, double max_depth, double *shift,
                                      convex_contacts *c);
void           convex_contacts_destroy(convex_contacts *c);

/* Error of Coulomb's law at the solution r, u of the convex problem with this shift and anchor: number of contacts beyond the tolerances.
 * target [n]: mu |u_T|, which the shift must equal. */
int64_t convex_contacts_compare(const convex_options *o, const double *shift, convex_contacts *c, double *target);
/* One fixed-point iteration towards Coulomb's law: set shift [n] to next [n], and the anchors to the friction impulses. The shift is added
 * to the normal velocity. Without it the regularised law opens sliding contacts with mu |u_T|. */
void convex_contacts_shift(const double *next, double *shift, convex_contacts *c);
/* The limit of this iteration directly: Coulomb's law with the compliance R_n of the normals. q [n][3] in: J v_free; out: relative velocities without impulses
 * minus the bias; compliance [n]. */
void convex_contacts_coulomb_problem(const double *shift, const convex_contacts *c, double *q, double *compliance);
/* Set impulses, shift and anchors to a solution r, u [n][3] of this problem. next [n]: work. c->u is not set. */
void convex_contacts_adopt(const double *r, const double *u, double *shift, double *next, convex_contacts *c);
/* Evaluate c->x and c->scale from impulses c->r and velocities c->u, and remove the anchors from c->u. c->u still includes `shift` [n] in its normal
 * components. */
void convex_contacts_evaluate(const convex_options *o, const double *shift, convex_contacts *c);
/* Upper bound of the creep speed of sticking contacts [m/s]. */
double convex_contacts_creep_bound(const convex_options *o, const convex_contacts *c);
/* Energy of the springs at the start and at the end of the step [J]: 1/2 k depth^2 with the stiffness of the potential. Near-rigid contacts: 0 at
 * the start, 1/2 force depth at the end. of_contact [n]: the energy at the end of each contact. */
typedef struct {
  double start, end, correction; /* correction: energy received from contact_rests.reduction */
} spring_energy;
spring_energy convex_contacts_energy(const convex_options *o, const step_frame *f, const convex_contacts *c, double *of_contact);
#endif
