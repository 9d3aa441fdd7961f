/* Options of penalty contact that the job sets: what of the contact forces a step solves for, and when contacts are detected. */
#ifndef SS_CONTACT_PENALTY_PENALTY_OPTIONS_H
#define SS_CONTACT_PENALTY_PENALTY_OPTIONS_H

/* What of the contact forces a step solves for. The lagged schemes are there to be compared with [DingSchroeder2020, sec. 4, prmd_dd_lag,
 * prmd_dd_lagfr]: they lag the forces of this formulation, where the paper lagged those of [YamaneNakamura2006]. What lags is the force at
 * the positions the step starts from, fixed to the object's axes (to the world's on a deforming surface), whatever becomes of the pair
 * during the step; attachments relax at the end of the step in every scheme. */
typedef enum {
  CONTACT_IMPLICIT,       /* everything at the end of the step */
  CONTACT_LAGGED_FRICTION, /* normal forces at the end of the step, friction from its start */
  CONTACT_LAGGED_CONTACT   /* both from its start: a point that touches during the step feels it in the next one. Stable for dt < 2 sqrt(m/k) */
} contact_scheme;

/* When points that come to surfaces of triangles are looked for. */
typedef enum {
  CONTACT_DETECT_EVALUATION, /* in every evaluation of the forces, on the way to the state evaluated [DingSchroeder2020, sec. 2.2] */
  /* As the step begins, on the way it would take without contact forces, and again on the way it took. What is only found then feels nothing
   * in this step; what was expected but went past acts as long as it is inside. Newton's method solves for one set of pairs. */
  CONTACT_DETECT_STEP
} contact_detection;
#endif
