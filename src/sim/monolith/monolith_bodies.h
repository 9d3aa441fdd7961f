/* Dynamic rigid bodies in a step of formulation monolith: velocities without contact, velocity change by forces, and velocities at the
 * end of the step. Used by monolith.c, monolith_flow.c and monolith_contacts.c.
 *
 * Each body satisfies its own equations g(v) = impulse (body_ops.residual, the change of linear and angular momentum over the step).
 * Therefore momentum is conserved to rounding for any forces. The coupling with the continuum is linear: v = v_free + inverse_mass
 * (force, moment), linearised about the step without forces. For bodies that rotate fast and are not round, the linearisation neglects
 * a change of the gyroscopic moment of O(dt). The contact solver, called last, removes this error with monolith_bodies_relinearize. */
#ifndef SS_SIM_MONOLITH_MONOLITH_BODIES_H
#define SS_SIM_MONOLITH_MONOLITH_BODIES_H
#include "sim/step/step_layout.h"

typedef struct {
  int64_t n, capacity;
  body  **body;               /* [n] borrowed; body r has the blocks 2 r and 2 r + 1 of the global vector */
  double (*v_free)[6];        /* m/s, rad/s */
  double (*inverse_mass)[36]; /* dt M^-1 [s/kg, s/(kg m), s/(kg m^2)], symmetric positive definite */
  double dt;
} monolith_bodies;

/* *b must be zero before the first step; its arrays are enlarged as needed. destroy accepts zeros. */
void monolith_bodies_destroy(monolith_bodies *b);
/* Collect the bodies of the step that `l` has begun, and compute v_free and inverse_mass. A negative status names the body. */
PetscErrorCode monolith_bodies_begin(monolith_bodies *b, const step_layout *l, step_status *status);
/* Solve g(v) = dt wrench for v [n][6], initial guess v, by Newton's method. wrench [n][6]: force and moment about the centre of mass
 * [N, N m]. Negative status: a body does not converge. */
PetscErrorCode monolith_bodies_push(const monolith_bodies *b, double dt, const double (*wrench)[6], double (*v)[6], step_status *status);
/* Update v_free such that v_free + inverse_mass wrench equals the result of monolith_bodies_push. Callback
 * granular_problem.update_bodies; `bodies` is a monolith_bodies. A body whose Newton iteration fails is unchanged. */
PetscErrorCode monolith_bodies_relinearize(void *bodies, const double (*wrench)[6]);
#endif
