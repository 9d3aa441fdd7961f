/* Contact as a convex potential of the relative velocity: impulses are r = -dl/du of l(u), convex and once differentiable, so
 * that a step is an unconstrained minimisation [CastroEtAl2022, sec. III]. Velocities [3] and impulses
 * [3] in contact frames, normal first; u_N > 0 separates, r_N >= 0 pushes apart.
 *
 *   regularised   y = R^-1 (bias - u), r = the point of the cone |r_T| <= mu r_N nearest to y in the norm of R, l = 1/2 r . R r:
 *                 exactly the solution of  K ∋ r  _|_  u - bias + R r ∈ K*.  Sticking creeps: u_T = -R_T r_T. Sliding wants to
 *                 open with u_N = mu |u_T|, so that it rides higher by mu (dt + relaxation) |u_T| than rest.
 *   lagged        normal springs with dissipation after Hunt and Crossley, friction limited by the normal impulse of the step
 *                 before [CastroHanMasterjohn2023]: l = -N(u_N) + mu n0 ((|u_T|^2 + e^2)^1/2 - e). Nothing opens by sliding;
 *                 friction lags a step behind the load. */
#ifndef SS_OPTIM_SAP_SAP_LAW_H
#define SS_OPTIM_SAP_SAP_LAW_H
#include "optim/sap/joint_constraint.h"
#include <stdint.h>

typedef enum { SAP_REGULARISED, SAP_LAGGED } sap_model;

/* One contact, as either law needs it. */
typedef struct {
  double mu;
  /* regularised */
  double R_n, R_t; /* > 0 [1/kg] */
  double bias;     /* along the normal [m/s] */
  /* lagged */
  double dt, stiffness;      /* [s], [N/m] */
  double force;       /* -stiffness * gap at the start of the step, negative where there is one [N] */
  double dissipation; /* [s/m] */
  double limit, slip; /* mu n0 [N s]; speed at which friction is most of the way there [m/s] */
} sap_contact;

/* What both laws are made from. */
typedef struct {
  double mu, gap, stiffness;      /* stiffness INFINITY: as stiff as the step can carry */
  double w;          /* inverse mass: |W_aa|_F / 3 of the contact's block of J A^-1 J^T, or near it [1/kg] */
  double normal_speed; /* u_N at the start of the step */
} sap_source;
/* What they share in a step. */
typedef struct {
  double dt, relaxation;  /* s: damping over stiffness, of the regularised law */
  double near_rigid;      /* beta: no contact's period is below beta dt */
  double stiction;        /* sigma = R_T/w, and the part of mu w n0 that is slip */
  double overlap_speed;   /* m/s: contact of the regularised law, where near_rigid limits its stiffness, parts overlaps
                           * no faster, and comes in no faster than about that */
  double dissipation;     /* s/m, of the lagged law */
  double slip;            /* m/s, least slip speed of the lagged law */
} sap_parameters;
/* A gap that is open (gap > 0) may close exactly, undamped. Near-rigid contact that would part an overlap faster than overlap_speed
 * has more of a damper: the same spring with a longer relaxation, so that what rests sinks no deeper; so has what would sink in
 * faster than that, coming in at normal_speed, and what is open is as much stiffer. Down to 1e-6. */
sap_contact sap_contact_make(sap_model model, const sap_parameters *p, const sap_source *s);

/* l(u) [J]; r = -dl/du; G = d2l/du2 [9], symmetric, positive semidefinite, may be NULL. */
double sap_law_regularised(const sap_contact *c, const double u[3], double r[3], double G[9]);
double sap_law_lagged(const sap_contact *c, const double u[3], double r[3], double G[9]);
/* u [3] at which the regularised law says r, on the cone or in it; what slides does so with `speed`, or what is least for that. */
void sap_law_velocity(const sap_contact *c, const double r[3], double speed, double u[3]);
/* Terms of the cost, three rows each: contacts first, then other constraints. */
typedef struct {
  sap_model          model;
  int64_t            n_contacts, n_constraints;
  const sap_contact *contact;    /* [n_contacts] */
  const constraint  *constraint; /* [n_constraints] */
} sap_terms;
static inline int64_t sap_terms_size(const sap_terms *t) { return t->n_contacts + t->n_constraints; }
/* All n terms: cost [n], r [n][3], G [n][9] or NULL. Threaded. */
void sap_laws(const sap_terms *t, const double *u, double *cost, double *r, double *G);
/* True if |r_T| has reached the friction limit (slip). */
int sap_law_slides(const sap_contact *c, const double r[3]);
#endif
