/* Contact laws of the SAP solver (sap.h). The impulse r = -dl/du follows from a potential l(u) of the relative velocity u, convex and once
 * differentiable. Therefore a time step is an unconstrained minimisation [CastroEtAl2022, sec. III]. Velocities [3] and impulses [3] are
 * in contact frames, normal first; u_N > 0 separates, r_N >= 0 is compressive.
 *
 *   regularised   y = R^-1 (bias - u), R = diag(R_n, R_t, R_t). r is the point of the cone K = {|r_T| <= mu r_N} nearest to y in the norm
 *                 of R, l = 1/2 r . R r. This r solves  K ∋ r  _|_  u - bias + R r ∈ K*, where K* is the dual cone. Sticking
 *                 contacts creep: u_T = -R_t r_T. Sliding contacts tend to open with u_N = mu |u_T|; their gap is larger by
 *                 mu (dt + relaxation) |u_T| than at rest.
 *   lagged        normal springs with dissipation after Hunt and Crossley, potential -N(u_N). Friction is limited by mu n0, where n0 is
 *                 the normal impulse of the previous step [CastroHanMasterjohn2023]: l = -N(u_N) + mu n0 ((|u_T|^2 + e^2)^1/2 - e).
 *                 Sliding does not open contacts, but friction lags one step behind the load. */
#ifndef SS_OPTIM_SAP_SAP_LAW_H
#define SS_OPTIM_SAP_SAP_LAW_H
#include "optim/sap/joint_constraint.h"
#include <stdint.h>

typedef enum { SAP_REGULARISED, SAP_LAGGED } sap_model;

/* Parameters of one contact for both laws. */
typedef struct {
  double mu; /* friction coefficient */
  /* regularised */
  double R_n, R_t; /* > 0, normal and tangential compliance [1/kg] */
  double bias;     /* normal velocity at which the normal impulse vanishes [m/s] */
  /* lagged */
  double dt, stiffness; /* [s], [N/m] */
  double force;         /* -stiffness * gap at the start of the step; negative for an open gap [N] */
  double dissipation;   /* [s/m] */
  double limit, slip;   /* mu n0 [N s]; regularisation speed e, at which friction is 0.7 of the limit [m/s] */
} sap_contact;

/* Input of sap_contact_make: one contact. */
typedef struct {
  double mu, gap, stiffness; /* [-], [m] at the start of the step, [N/m]; stiffness INFINITY: as stiff as min_contact_period permits */
  double w;                  /* inverse effective mass: |W_aa|_F / 3 of the contact's block of W = J A^-1 J^T, or an estimate [1/kg] */
  double normal_speed;       /* u_N at the start of the step [m/s] */
} sap_source;
/* Input of sap_contact_make: parameters of the step, common to all contacts. */
typedef struct {
  double dt, relaxation;           /* time step [s]; damping over stiffness of the regularised law [s] */
  double min_contact_period;       /* beta: least oscillation period of spring and effective mass, over dt */
  double stiction_tolerance;       /* sigma: regularised law: R_t/w; lagged law: least slip speed e over mu w n0 */
  double overlap_correction_speed; /* limit for near-rigid contacts of the regularised law, whose stiffness is limited by
                           * min_contact_period: largest speed at which an overlap separates or an approach penetrates [m/s] */
  double dissipation;              /* of the lagged law [s/m] */
  double slip;                     /* least slip speed e of the lagged law [m/s] */
} sap_parameters;
/* Compute the parameters of one contact. An open gap (gap > 0) may close exactly, without damping. A near-rigid contact that would exceed
 * overlap_correction_speed, by separation of its overlap or by penetration after an approach at normal_speed, gets a smaller R_n. If it overlaps,
 * bias decreases by the same factor: the same spring with more damping, so that resting bodies sink no deeper. The factor is at least 1e-6. */
sap_contact sap_contact_make(sap_model model, const sap_parameters *p, const sap_source *s);

/* Return l(u) [J]; set r = -dl/du [N s] and G = d2l/du2 [9] [kg], symmetric positive semidefinite. G may be NULL. */
double sap_law_regularised(const sap_contact *c, const double u[3], double r[3], double G[9]);
double sap_law_lagged(const sap_contact *c, const double u[3], double r[3], double G[9]);
/* Inverse of the regularised law: a velocity u that gives the impulse r in the cone. On the boundary of the cone u is not unique: the
 * sliding speed is then `speed`, or the smallest possible one if that is larger. */
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
/* Returns 1 if |r_T| has reached the friction limit mu r_N > 0 (slip), else 0. */
int sap_law_slides(const sap_contact *c, const double r[3]);
#endif
