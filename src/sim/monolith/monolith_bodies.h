/* The dynamic rigid bodies of a step of `monolith`: where they go without contact, what a force does to them, and the step with the
 * force that was found.
 *
 * A body's equations are its own, g(v) = impulse (body_ops.residual: momentum and angular momentum at the end of the step against
 * those at its start), so that whatever the forces are, momenta of both kinds balance to rounding. Between bodies and continuum the
 * step is linear: v = v_free + inverse_mass (force, moment), about the velocity of the step without them. Bodies that turn
 * fast and are not round then take the impulse a little otherwise, by O(dt) of their gyroscopic moment; contacts, which are
 * found last, know of it: monolith_bodies_relinearize. [theory, section 10] */
#ifndef SS_SIM_MONOLITH_MONOLITH_BODIES_H
#define SS_SIM_MONOLITH_MONOLITH_BODIES_H
#include "sim/step/step_layout.h"

typedef struct {
  int64_t  n, capacity;
  body   **body;               /* [n] borrowed; body r has the blocks 2 r and 2 r + 1 of the global vector */
  double (*v_free)[6];         /* m/s, rad/s */
  double (*inverse_mass)[36];  /* dt M^-1 [s/kg, s/(kg m), s/(kg m^2)], symmetric positive definite */
  double   dt;
} monolith_bodies;

/* *b starts as zeros and grows; destroy copes with zeros. */
void monolith_bodies_destroy(monolith_bodies *b);
/* Of the step that `l` has begun. A negative verdict names the body. */
PetscErrorCode monolith_bodies_begin(monolith_bodies *b, const step_layout *l, step_verdict *verdict);
/* v [n][6], in: a guess; out: g(v) = dt wrench for wrench [n][6], force and moment about the centre of mass [N, N m]. */
PetscErrorCode monolith_bodies_push(const monolith_bodies *b, double dt, const double (*wrench)[6], double (*v)[6],
                                    step_verdict *verdict);
/* v_free such that v_free + inverse_mass wrench is what push makes of wrench: a flow_problem's update_bodies, `bodies` is a
 * monolith_bodies. Bodies that push refuses stay as they are. */
PetscErrorCode monolith_bodies_relinearize(void *bodies, const double (*wrench)[6]);
#endif
