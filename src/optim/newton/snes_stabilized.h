/* SNES type "stabilized": Newton's method for g(z) = 0, globalised by a line search on E(z) = 1/2 |g|^2 [DingSchroeder2020, sec. 3].
 *
 *   dz <- GMRES(H, -g), zero start, 20 iterations at most, preconditioned from the right, relative tolerance eta
 *   m  <- g^T H dz, the slope of E; if dz is not a sufficient descent direction: dz <- -H^T g, scaled to the minimum of the
 *         linear model, if its predicted decrease is larger
 *   z  <- z + alpha dz, alpha from a strong Wolfe search on E (wolfe.h); E = infinity at inadmissible states
 *   stop when |g| < tau or |H^T g| < tau', after at least one iteration
 *
 * H needs MatMult and MatMultTranspose; Pmat needs the operations of the preconditioner.
 *
 * Options (in addition to -snes_atol = tau, -snes_max_it, -snes_monitor, -snes_converged_reason, -snes_ksp_ew, -ksp_*, -pc_*):
 *   -snes_stabilized_eta 1e-4                  relative tolerance of the linear solves (-ksp_rtol overrides it)
 *   -snes_stabilized_kappa 0.01                descent test:  m <= -kappa |dz| |H^T g|
 *   -snes_stabilized_strict false              true: only this test. false: dz is also a descent direction if m <= -1/2 |g|^2, i.e.
 *                                              if the linear model at least halves |g|^2 (see is_downhill in the .c). It is also
 *                                              used if its predicted decrease exceeds that of -H^T g
 *   -snes_stabilized_gradient_tolerance tau'   default: see SNESStabilizedSetColumnScaling
 *   -snes_stabilized_min_it 1
 *   -snes_stabilized_wolfe_{c1,c2,max_trials}  1e-4, 0.9, 40
 *
 * Reasons: SNES_CONVERGED_FNORM_ABS (|g| < tau), SNES_CONVERGED_SNORM_RELATIVE (|H^T g| < tau': a
 * stationary point of E, see is_stationary below; PETSc has no converged reason with this meaning),
 * SNES_DIVERGED_LINE_SEARCH (z remains the best iterate; also after five
 * consecutive steps that reduced |g| by less than a thousandth), SNES_DIVERGED_MAX_IT, _FUNCTION_DOMAIN, _FNORM_NAN (start only).
 * When SNESSolve returns, the last evaluated residual is that of the returned z. State stored by callbacks (contacts, stresses)
 * therefore belongs to z. An accepted point is not evaluated a second time.                                    */
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
 * Reason: H^T g has other units than g. With stiff contacts (k dt^2 >> m) a norm divided by |H| neglects the soft directions, and
 * the solver would stop at a state that is not a root. With D = M C, D^-1 H C = I + dt^2 M^-1 K. Its singular values are at least
 * about 1 for every positive semidefinite K, so that |C H^T D^-2 g| < tau implies |D^-1 g| < tau up to a factor of order one. The
 * gradient test alone then stops the solver only if H is singular or indefinite.
 * Default of tau': tau if a column scaling is set, otherwise 0, which disables the test. */
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
