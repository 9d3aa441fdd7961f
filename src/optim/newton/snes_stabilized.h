/* SNES type "stabilized": Newton directions for g(z) = 0, made safe by minimising E(z) = 1/2 |g|^2 [DingSchroeder2020, sec. 3].
 *
 *   dz <- GMRES(H, -g), zero start, 20 iterations at most, preconditioned from the right, relative tolerance eta
 *   m  <- g^T H dz, from a true product; not downhill enough: dz <- -H^T g, scaled to the minimum of the
 *         linear model, if its predicted decrease is larger
 *   z  <- z + alpha dz, alpha from a strong Wolfe search on E (wolfe.h); E = infinity at inadmissible states
 *   stop when |g| < tau or |H^T g| < tau', after at least one iteration
 *
 * H needs MatMult and MatMultTranspose; Pmat needs the operations of the preconditioner.
 *
 * Options (in addition to -snes_atol = tau, -snes_max_it, -snes_monitor, -snes_converged_reason, -snes_ksp_ew, -ksp_*, -pc_*):
 *   -snes_stabilized_eta 1e-4                  relative tolerance of the linear solves (-ksp_rtol overrides it)
 *   -snes_stabilized_kappa 0.01                downhill test:  m <= -kappa |dz| |H^T g|
 *   -snes_stabilized_strict false              use only this test. Otherwise a step is also downhill when m <= -1/2 |g|^2, i.e.
 *                                              when the linear model at least halves |g|^2 (see is_downhill in the .c), and taken
 *                                              when its predicted decrease exceeds that of -H^T g
 *   -snes_stabilized_gradient_tolerance tau'   default: see SNESStabilizedSetColumnScaling
 *   -snes_stabilized_min_it 1
 *   -snes_stabilized_wolfe_{c1,c2,max_trials}  1e-4, 0.9, 40
 *
 * Reasons: SNES_CONVERGED_FNORM_ABS (|g| < tau), SNES_CONVERGED_SNORM_RELATIVE (|H^T g| < tau': a
 * stationary point of E, see is_stationary below; PETSc has no reason of this meaning that counts as converged),
 * SNES_DIVERGED_LINE_SEARCH (z remains the best iterate; also after five
 * steps in a row that reduced |g| by less than a thousandth), SNES_DIVERGED_MAX_IT, _FUNCTION_DOMAIN, _FNORM_NAN (start only).
 * Guarantee: when SNESSolve returns, the last residual that was evaluated is that of the returned z, so state stored by callbacks
 * (contacts, stresses) belongs to it; an accepted point is not evaluated a second time.                                    */
#ifndef SS_OPTIM_NEWTON_SNES_STABILIZED_H
#define SS_OPTIM_NEWTON_SNES_STABILIZED_H
#include <petscsnes.h>

#define SNESSTABILIZED "stabilized"

typedef struct {
  PetscInt  n_newton;            /* accepted steps */
  PetscInt  n_linear;            /* GMRES iterations */
  PetscInt  n_residuals;         /* evaluations of g */
  PetscInt  n_tangents;          /* evaluations of H */
  PetscInt  n_fallbacks;         /* gradient steps */
  PetscInt  n_armijo_only;       /* line searches that ended without the curvature condition (kinks of g) */
  PetscInt  n_rejected;          /* trial states that were not finite or outside the domain */
  PetscReal norm, norm_unscaled; /* final |D^-1 g| and |g| */
  PetscReal gradient_norm;       /* final |C H^T D^-2 g| */
  PetscBool is_stationary;       /* stopped by the gradient test */
} SNESStabilizedStatistics;

PetscErrorCode SNESCreate_Stabilized(SNES snes); /* for SNESRegister */

/* Scale residuals as D^-1 g: dinv (referenced, entries > 0; NULL: none) is the diagonal of D^-1, e.g. 1/(mass dt gravity). The
 * solver then uses D^-1 g and D^-1 H throughout: tau, monitors and E are dimensionless, GMRES minimises |D^-1(g + H dz)|.
 * Callbacks and Pmat remain unscaled; preconditioners are built from D^-1 Pmat. Values may change between solves. */
PetscErrorCode SNESStabilizedSetScaling(SNES snes, Vec dinv);

/* Size of a typical unknown (referenced, entries > 0; NULL: 1): z = C zeta, e.g. C = dt gravity for velocities, so that
 * D = M C. The gradient is measured as |C H^T D^-2 g| and the fallback step is the steepest descent in zeta; Newton steps
 * do not depend on it.
 *
 * Why: H^T g has other units than g, and with stiff contacts (k dt^2 >> m) any norm divided by |H| neglects the
 * soft directions: it would stop at a state that is not a root. With D = M C, D^-1 H C = I + dt^2 M^-1 K: its singular values are
 * at least about 1 for every positive semidefinite K, so |C H^T D^-2 g| < tau implies |D^-1 g| < tau up to a factor of order
 * one, and the gradient test alone stops the solver only where H is singular or indefinite.
 * Hence the default of tau': tau if a column scaling is set; without one 0, i.e. the test is off by default. */
PetscErrorCode SNESStabilizedSetColumnScaling(SNES snes, Vec c);

/* Matrix of the linear solves instead of the Jacobian (referenced; NULL: the Jacobian): a cheaper approximation to a few digits.
 * Slopes, gradients and tests use the Jacobian itself, so only the search direction is affected, not the accuracy of accepted
 * states. */
PetscErrorCode SNESStabilizedSetSolveMatrix(SNES snes, Mat A);
PetscErrorCode SNESStabilizedSetForcing(SNES snes, PetscReal eta);
PetscErrorCode SNESStabilizedSetGradientTolerance(SNES snes, PetscReal tolerance); /* PETSC_DEFAULT: as above */

/* For residual callbacks that can prepare H cheaply: true if the Jacobian at this z will probably be evaluated next (start, full
 * Newton step), false for backtracked trials. The Jacobian callback is called in any case. */
PetscErrorCode SNESStabilizedExpectsTangent(SNES snes, PetscBool *wants);

/* Of the last solve. */
PetscErrorCode SNESStabilizedGetStatistics(SNES snes, SNESStabilizedStatistics *statistics);
#endif
