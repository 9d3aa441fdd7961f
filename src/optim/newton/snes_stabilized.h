/* SNES type "stabilized": Newton's method for g(z) = 0, globalised by a line search on E(z) = 1/2 |g|^2 [DingSchroeder2020, sec. 3].
 *
 *   dz <- solution of H dz = -g by GMRES from 0, at most 20 iterations, right preconditioning; H = dg/dz
 *   m  <- g^T H dz, the slope of E along dz; if dz is not a sufficient descent direction: dz <- -H^T g, scaled to the minimum of the
 *         linear model, if its predicted decrease is larger
 *   z  <- z + alpha dz, alpha from a strong Wolfe search on E (wolfe.h); E = infinity at inadmissible states. After a search with
 *         alpha < 1/4, or without result: full steps without a search, kept if one of them halves E (watchdog technique); else steps
 *         with the definite tangent to zeros of the work g.dz, kept if one of them halves E (SNESStabilizedSetDefinite)
 *   stop when |g| < tau or |H^T g| < tau', after at least one iteration (SNESStabilizedSetAcceptsStart)
 *
 * The Jacobian matrix H must provide MatMult and MatMultTranspose; Pmat must provide the operations that the preconditioner uses.
 *
 * Options (in addition to -snes_atol = tau, -snes_max_it, -snes_monitor, -snes_converged_reason, -snes_ksp_ew, -ksp_*, -pc_*):
 *   -snes_stabilized_eta eta                   relative tolerance of all linear solves. Default: that of the KSP (1e-4, -ksp_rtol) in the first
 *                                              solve; later ones between this value and eta_max (forcing_term in snes_stabilized.c)
 *   -snes_stabilized_eta_max 0.03              largest relative tolerance of later linear solves; default eta if eta is set
 *   -snes_stabilized_kappa 0.01                descent test:  m <= -kappa |dz| |H^T g|
 *   -snes_stabilized_strict false              true: dz must pass this test. false: dz is also accepted if m <= -1/2 |g|^2, i.e. if
 *                                              the linear model at least halves |g|^2 (is_downhill in snes_stabilized.c), or if its
 *                                              predicted decrease exceeds that of -H^T g
 *   -snes_stabilized_gradient_tolerance tau'   default: see SNESStabilizedSetColumnScaling
 *   -snes_stabilized_min_it 1                  least number of iterations
 *   -snes_stabilized_wolfe_{c1,c2,max_trials}  1e-4, 0.9, 40: options of the line search (wolfe.h)
 *   -snes_stabilized_relaxed_steps 4           most full steps without a line search after a short one; 60 steps of a rod with
 *                                              EA L^2 / B = 2e7 need 33759 evaluations with 0, 589 with 2, 404 with 4 and 8
 *   -snes_stabilized_work_steps 50             most steps with the definite tangent in one sequence
 *
 * Converged reasons: SNES_CONVERGED_FNORM_ABS for |g| < tau. SNES_CONVERGED_SNORM_RELATIVE for |H^T g| < tau', a stationary point of E
 * (is_stationary below), with the default tau' only after a step that did not halve |g|; PETSc has no reason with this meaning.
 * SNES_DIVERGED_LINE_SEARCH if no step length is accepted, or after five consecutive steps that reduced |g| by less than a thousandth;
 * z is then the best iterate. SNES_DIVERGED_MAX_IT. At the initial guess only: SNES_DIVERGED_FUNCTION_DOMAIN, SNES_DIVERGED_FNORM_NAN.
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
  PetscInt  n_fallbacks;         /* steps along -H^T g */
  PetscInt  n_relaxed;           /* full steps without a line search, successful or not */
  PetscInt  n_work;              /* steps to a zero of the work, successful or not */
  PetscInt  n_armijo_only;       /* line searches that ended without the curvature condition (kinks of g) */
  PetscInt  n_rejected;          /* trial states that were not finite or outside the domain */
  PetscReal norm, norm_unscaled; /* final |D^-1 g| and |g| */
  PetscReal gradient_norm;       /* final |C H^T D^-2 g| */
  PetscBool is_stationary;       /* the solve ended because |H^T g| < tau' */
} SNESStabilizedStatistics;

PetscErrorCode SNESCreate_Stabilized(SNES snes); /* for SNESRegister */

/* Replace g by D^-1 g in the solver. dinv (referenced, entries > 0; NULL: no scaling) is the diagonal of D^-1, e.g. 1/(mass dt gravity).
 * tau, monitors and E are then dimensionless, and GMRES minimises |D^-1(g + H dz)|. Callbacks and Pmat remain unscaled;
 * preconditioners are built from D^-1 Pmat. Values may change between solves. */
PetscErrorCode SNESStabilizedSetScaling(SNES snes, Vec dinv);

/* Set typical sizes of the unknowns: c (referenced, entries > 0; NULL: 1) is the diagonal of C in z = C zeta. Example: C = dt gravity for
 * velocities, so that D = M C. The norm of the gradient is then |C H^T D^-2 g|, and the fallback step is the steepest descent in
 * zeta. Newton steps do not depend on C.
 *
 * Reason: H^T g has other units than g. With stiff contacts (k dt^2 >> m) a norm divided by |H| neglects the soft directions, and
 * the solver would stop at a state that is not a root. With D = M C, D^-1 H C = I + dt^2 M^-1 K. Its singular values are at least
 * about 1 for every positive semidefinite K, so that |C H^T D^-2 g| < tau implies |D^-1 g| < tau up to a factor of order one. The
 * gradient test alone then stops the solver only if H is singular or indefinite.
 * Default of tau': tau if a column scaling is set, otherwise 0, which disables the test. */
PetscErrorCode SNESStabilizedSetColumnScaling(SNES snes, Vec c);

/* Use matrix A in the linear solves instead of the Jacobian (referenced; NULL: the Jacobian), e.g. an approximation of lower cost.
 * Slopes, gradients and tests use the Jacobian itself, so A affects only the search direction, not the accuracy of accepted states. */
PetscErrorCode SNESStabilizedSetSolveMatrix(SNES snes, Mat A);

/* Callback that replaces H by a positive definite approximation in subsequent evaluations (PETSC_TRUE), or restores H. Without it there
 * are no work steps. The context is borrowed. */
PetscErrorCode SNESStabilizedSetDefinite(SNES snes, PetscErrorCode (*set_definite)(SNES, PetscBool, void *), void *context);
PetscErrorCode SNESStabilizedSetForcing(SNES snes, PetscReal eta);                 /* -snes_stabilized_eta */
PetscErrorCode SNESStabilizedSetGradientTolerance(SNES snes, PetscReal tolerance); /* tau'; PETSC_DEFAULT: see column scaling */
/* PETSC_TRUE: in later solves no iteration is necessary if |g| < tau at the initial guess, because it is a solution. Default: PETSC_FALSE. */
PetscErrorCode SNESStabilizedSetAcceptsStart(SNES snes, PetscBool accepts);

/* Call from a residual callback that can prepare H cheaply. The output is true if the solver will probably evaluate the Jacobian at this
 * z next (initial guess, full Newton step), and false at backtracked trials. The Jacobian callback is called in any case. */
PetscErrorCode SNESStabilizedExpectsTangent(SNES snes, PetscBool *wants);

/* Counters and norms of the last solve. */
PetscErrorCode SNESStabilizedGetStatistics(SNES snes, SNESStabilizedStatistics *statistics);
#endif
