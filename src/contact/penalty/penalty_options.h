/* Option of penalty contact that the job sets: treatment of contact forces within a step. */
#ifndef SS_CONTACT_PENALTY_PENALTY_OPTIONS_H
#define SS_CONTACT_PENALTY_PENALTY_OPTIONS_H

/* Contact forces that a step treats implicitly. The lagged schemes exist for comparison with [DingSchroeder2020, sec. 4,
 * prmd_dd_lag, prmd_dd_lagfr]. They lag the forces of this formulation; the paper lagged those of [YamaneNakamura2006]. The lagged
 * force is evaluated at the positions at the start of the step and stays fixed to the object's axes (world axes on a deformable
 * surface) during the step. Attachments relax at the end of the step in every scheme. */
typedef enum {
  CONTACT_IMPLICIT,        /* everything at the end of the step */
  CONTACT_LAGGED_FRICTION, /* normal forces at the end of the step, friction from its start */
  CONTACT_LAGGED_CONTACT   /* both from its start: a point that touches during the step is loaded in the next step. Stable for dt <
                            * 2 sqrt(m/k) */
} contact_scheme;
#endif
