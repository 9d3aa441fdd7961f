/* Dynamic rigid bodies in a step of `monolith`: their velocities without contact, their response to forces, and their velocities at
 * the end of the step. Used by monolith.c, monolith_flow.c and monolith_contacts.c.
 *
 * Each body satisfies its own equations g(v) = impulse (body_ops.residual, the change of linear and angular momentum over the
 * step). Therefore momentum is conserved to rounding for any forces. The coupling with the continuum is linear: v = v_free +
 * inverse_mass (force, moment), linearised about the step without forces. For bodies that rotate fast and are not round this has
 * an error of O(dt) of the gyroscopic moment; the contact solver, which is called last, corrects it by
 * monolith_bodies_relinearize. */
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

/* *b is zero at first and grows; destroy accepts zeros. */
void monolith_bodies_destroy(monolith_bodies *b);
/* Initialise the bodies of the step that `l` has begun. If the status is negative, it names the body. */
PetscErrorCode monolith_bodies_begin(monolith_bodies *b, const step_layout *l, step_status *status);
/* Solve g(v) = dt wrench for v [n][6], starting from v. wrench [n][6]: force and moment about the centre of mass [N, N m]. */
PetscErrorCode monolith_bodies_push(const monolith_bodies *b, double dt, const double (*wrench)[6], double (*v)[6], step_status *status);
/* Update v_free such that v_free + inverse_mass wrench equals the result of monolith_bodies_push. It is
 * granular_problem.update_bodies; `bodies` is a monolith_bodies. Bodies for which push fails are unchanged. */
PetscErrorCode monolith_bodies_relinearize(void *bodies, const double (*wrench)[6]);
#endif
