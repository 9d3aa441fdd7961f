/* Initial guess of Newton's method for scenes of rigid bodies: the equations of the step, solved by sweeps on body velocities (body_sweeps.h).
 *
 * The force of a penalty spring is Coulomb's law with compliance: with r = dt f, k the stiffness, g0 the gap and e0 the friction spring at the start,
 *
 *   (u + (g0, e0)/dt + r/(k dt^2), r) in C(mu),   M (v - v_free) = H^T r,   u = H v        (friction_problem.h)
 *
 * where v_free is the motion without contact, linearised at the start of the step. Newton's method alone stops at the kinks of this law: with 125 balls it
 * needs 15 iterations, 80 linear solves and 130 evaluations per step, and with 1,000 balls many times more; sweeps visit each contact 150 to 400 times.
 * The guess satisfies the equations of the step up to the tolerance, unless there is restitution, an elliptic cone, or fast rotation.
 *
 * Bodies that are almost in equilibrium need no sweeps. Their guess is v = 0, if the residual is smaller there than at v0. Reason: the friction forces of
 * redundant contacts are not unique. From v0 Newton's method can find solutions that reverse the velocities in every step, so that a wall sways for ever, by a
 * micrometre. Caller: penalty.c. */
#ifndef SS_SIM_PENALTY_PENALTY_SWEEPS_H
#define SS_SIM_PENALTY_PENALTY_SWEEPS_H
#include "sim/penalty/penalty_system.h"

typedef struct {
  int64_t n_contacts, n_sweeps; /* 0: there were no sweeps; z is 0 */
  int64_t n_evaluations;
  double  norm; /* residual norm |D^-1 g| at z; INFINITY if it was not evaluated */
} penalty_sweeps_result;

/* z [n_blocks][3] [m/s] in: zeros; out: v - v0 of the guess. That is the solution of the sweeps; -v0 or zeros for bodies that are almost in equilibrium; zeros
 * if the sweeps are not defined for this scene, or if the residual of their solution is larger than that of zeros. tolerance: of the residual norm. Call it after
 * penalty_system_begin. The bits do not depend on the number of threads. Fails only if memory allocation fails. */
PetscErrorCode penalty_sweeps_guess(penalty_system *p, double tolerance, double *z, penalty_sweeps_result *out);
#endif
