/* Contact laws of the SAP solver (sap.h). Contact is a convex potential of the relative velocity: impulses are r = -dl/du with l(u)
 * convex and once differentiable. So a step is an unconstrained minimisation [CastroEtAl2022, sec. III]. Velocities [3] and impulses
 * [3] are in contact frames, normal first; u_N > 0 separates, r_N >= 0 is compressive.
 *
 *   regularised   y = R^-1 (bias - u), r = the point of the cone |r_T| <= mu r_N nearest to y in the norm of R, l = 1/2 r . R r:
 *                 exactly the solution of  K ∋ r  _|_  u - bias + R r ∈ K*.  Sticking contacts creep: u_T = -R_T r_T. Sliding
 *                 contacts tend to open with u_N = mu |u_T|; their gap is larger by mu (dt + relaxation) |u_T| than at rest.
 *   lagged        normal springs with dissipation after Hunt and Crossley, friction limited by the normal impulse of the step
 *                 before [CastroHanMasterjohn2023]: l = -N(u_N) + mu n0 ((|u_T|^2 + e^2)^1/2 - e). Sliding opens no
 *                 contacts, but friction lags one step behind the load. */
#ifndef SS_OPTIM_SAP_SAP_LAW_H
#define SS_OPTIM_SAP_SAP_LAW_H
#include "optim/sap/joint_constraint.h"
#include <stdint.h>

typedef enum { SAP_REGULARISED, SAP_LAGGED } sap_model;

/* Parameters of one contact for both laws. */
typedef struct {
  double mu;
  /* regularised */
  double R_n, R_t; /* > 0 [1/kg] */
  double bias;     /* along the normal [m/s] */
  /* lagged */
  double dt, stiffness; /* [s], [N/m] */
  double force;         /* -stiffness * gap at the start of the step; negative for an open gap [N] */
  double dissipation;   /* [s/m] */
  double limit, slip;   /* mu n0 [N s]; regularisation speed e, at which friction is 0.7 of the limit [m/s] */
} sap_contact;

/* Input of sap_contact_make: one contact. */
typedef struct {
  double mu, gap, stiffness; /* stiffness INFINITY: the near-rigid limit of the step */
  double w;                  /* inverse effective mass: |W_aa|_F / 3 of the contact's block of J A^-1 J^T, or an estimate [1/kg] */
  double normal_speed;       /* u_N at the start of the step */
} sap_source;
/* Input of sap_contact_make: parameters of the step, common to all contacts. */
typedef struct {
  double dt, relaxation;           /* s: damping over stiffness, of the regularised law */
  double min_contact_period;       /* beta: lower bound of a contact's period over dt */
  double stiction_tolerance;       /* sigma = R_T/w; also the slip speed over mu w n0 */
  double overlap_correction_speed; /* m/s: largest separation speed of an overlap, and about the largest approach speed, of contacts of the
                           * regularised law whose stiffness min_contact_period limits */
  double dissipation;              /* s/m, of the lagged law */
  double slip;                     /* m/s, least slip speed of the lagged law */
} sap_parameters;
/* Compute the law's parameters of one contact. An open gap (gap > 0) may close exactly, without damping. A near-rigid contact that
 * would separate an overlap faster than overlap_correction_speed gets more damping: the same spring with a longer relaxation, so that resting
 * bodies sink no deeper. The same is done for a contact that would penetrate faster than that after approaching at normal_speed; an
 * open contact gets stiffer by the same factor. The factor on R is at least 1e-6. */
sap_contact sap_contact_make(sap_model model, const sap_parameters *p, const sap_source *s);

/* l(u) [J]; r = -dl/du; G = d2l/du2 [9], symmetric, positive semidefinite, may be NULL. */
double sap_law_regularised(const sap_contact *c, const double u[3], double r[3], double G[9]);
double sap_law_lagged(const sap_contact *c, const double u[3], double r[3], double G[9]);
/* Inverse of the regularised law: u [3] that gives the impulse r in the cone or on its boundary. On the boundary u is not unique; the
 * sliding speed is `speed`, or the smallest one possible if that is larger. */
void sap_law_velocity(const sap_contact *c, const double r[3], double speed, double u[3]);
/* Terms of the cost, three rows each: contacts first, then other constraints. */
typedef struct {
  sap_model          model;
  int64_t            n_contacts, n_constraints;
  const sap_contact *contact;    /* [n_contacts] */
  const constraint  *constraint; /* [n_constraints] */
} sap_terms;
static inline int64_t sap_terms_size(const sap_terms *t) { return t->n_contacts + t->n_constraints; }
/* Evaluate all n terms at u [n][3]: cost [n], r [n][3], G [n][9] or NULL. Threaded. */
void sap_evaluate_terms(const sap_terms *t, const double *u, double *cost, double *r, double *G);
/* True if |r_T| has reached the friction limit (slip). */
int sap_law_slides(const sap_contact *c, const double r[3]);
#endif
