/* Spring law of one contact of penalty_rows.h: normal force and Coulomb friction as a function of the displacement of the contact point.
 *
 * All vectors are in the contact frame, normal first. The law depends on the displacement x = dt u of the step alone. No state, thread-safe.
 * Caller: penalty_rows.c. */
#ifndef SS_CONTACT_PENALTY_PENALTY_ROW_LAW_H
#define SS_CONTACT_PENALTY_PENALTY_ROW_LAW_H
#include "contact/penalty/penalty_options.h"
#include "contact/penalty/penalty_relaxation.h"
#include "contact/penalty/restitution.h"

/* Data of one contact in a step. */
typedef struct {
  double         k, gap; /* stiffness [N/m]; gap at the start of the step plus rest overlap, negative: compressed [m] */
  double         e0[3];  /* elongation of the friction spring at the start of the step, e0[0] = 0 [m] */
  bool           enters; /* new, with gap > 0: the friction spring starts at the point of entry */
  bool           is_new; /* not known from the last step */
  relax_cone     cone;   /* `direction` in the contact frame */
  contact_scheme scheme;
  double         lagged[3];  /* lagged part of the force [N]; 0 for CONTACT_IMPLICIT */
  double         dt, v_rest; /* for the gain of restitution.h */
  restitution    bounce;
} row_spring;

typedef struct {
  bool   is_active, is_sliding;
  double depth, f[3];   /* h > 0 [m]; force on the first body [N] */
  double e[3], slip[3]; /* elongation at the end of the step, e = e0 + s x_T - slip [m] */
  double gain, rate;    /* gain of the spring; speed of compression [m/s] */
} row_force;

/* Set the lagged force from the elongation and the gap at the start of the step. has_start: the contact is known, or overlaps at the start. */
void row_spring_start(row_spring *s, bool has_start);
/* Evaluate the law at the displacement x [3]. K [9] = -df/dx, or NULL. */
void row_spring_evaluate(const row_spring *s, const double x[3], row_force *out, double *K);
#endif
