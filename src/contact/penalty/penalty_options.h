/* Option of penalty contact set by the job: time at which contact forces are evaluated. */
#ifndef SS_CONTACT_PENALTY_PENALTY_OPTIONS_H
#define SS_CONTACT_PENALTY_PENALTY_OPTIONS_H

/* Time at which normal and friction forces are evaluated. The lagged schemes exist for comparison with [DingSchroeder2020, sec. 4,
 * prmd_dd_lag, prmd_dd_lagfr]. They lag the forces of this formulation; the paper lagged those of [YamaneNakamura2006]. A lagged
 * force is evaluated at the positions at the start of the step and is constant in the axes of the object (world axes on a deformable
 * surface) during the step. In every scheme attachments relax at the end of the step. */
typedef enum {
  CONTACT_IMPLICIT,        /* normal force and friction at the end of the step */
  CONTACT_LAGGED_FRICTION, /* normal force at the end of the step, friction at its start */
  CONTACT_LAGGED_CONTACT   /* both at the start: a point that collides during the step has no force until the next step. Stable for dt <
                            * 2 sqrt(m/k) */
} contact_scheme;
#endif
