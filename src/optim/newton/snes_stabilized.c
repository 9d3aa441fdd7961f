#include "optim/newton/snes_stabilized.h"
#include "core/error.h"
#include "optim/linear/mat_row_scaled.h"
#include "optim/linear/pc_block_diagonal.h"
#include "optim/linear/petsc_private.h"
#include "optim/newton/wolfe.h"

enum { CONVERGED_TRIALS = 4 };
static const double FORCING_GAMMA = 0.9, FORCING_ALPHA = 1.618; /* recommended values of [EisenstatWalker1996] */
static const double FINAL_SHARE = 0.25;
#define GRADIENT_UNKNOWN INFINITY
static const double SHORT_STEP    = 0.25; /* alpha of a line search below which relaxed steps are tried */
static const double WORK_FRACTION = 0.5;  /* work at the end of a step, relative to its start, that counts as zero */

typedef struct {
  PetscReal       kappa, gradient_tolerance; /* gradient_tolerance < 0: default */
  PetscReal       eta, eta_max;              /* bounds of the forcing term; eta: as set in the KSP when the solve starts */
  PetscInt        min_it, max_relaxed, max_work;
  PetscBool       is_strict, accepts_start;
  wolfe_options   search;
  Vec             dinv, column;    /* referenced, may be NULL */
  Vec             scaled_residual; /* D^-1 g at z; unused without scaling: then the residual vector of SNES is used */
  Vec             trial, trial_residual, trial_scaled;
  Vec             gradient; /* H^T D^-2 g at z */
  Vec             product;  /* D^-1 H dz */
  Vec             work;
  Vec             reference;       /* z before relaxed steps */
  Mat             scaled_jacobian; /* shell for D^-1 H */
  Mat             solve_matrix;    /* referenced: replaces H in linear solves; NULL: H itself */
  row_scaled_copy scaled_pre;
  PetscObjectId   scaled_from; /* the Pmat that scaled_jacobian was made with */
  PetscBool       wants_tangent;
  double          phi_trial;
  double          alpha;          /* of the last line search; 1 before the first one */
  int             n_delay, delay; /* iterations until relaxed steps may be tried; the same after the next failure */
  PetscErrorCode (*set_definite)(SNES, PetscBool, void *);
  void                    *definite_context; /* borrowed */
  SNESStabilizedStatistics count;
} SNES_Stabilized;

static inline SNES_Stabilized *data_of(SNES snes) { return (SNES_Stabilized *)snes->data; }
static inline Vec              residual_at_z(SNES snes) { return data_of(snes)->dinv ? data_of(snes)->scaled_residual : snes->vec_func; }
static inline Vec residual_at_trial(SNES snes) { return data_of(snes)->dinv ? data_of(snes)->trial_scaled : data_of(snes)->trial_residual; }

/* g(z), D^-1 g(z) and E(z) = 1/2 |D^-1 g|^2; E is infinite where g is not finite or z is outside the domain. */
static PetscErrorCode evaluate(SNES snes, Vec z, PetscBool wants_tangent, Vec g, Vec scaled, double *phi)
{
  SNES_Stabilized *s = data_of(snes);
  PetscScalar      dot;
  PetscFunctionBegin;
  s->wants_tangent  = wants_tangent;
  snes->domainerror = PETSC_FALSE;
  PetscCall(SNESComputeFunction(snes, z, g));
  ++s->count.n_residuals;
  if (s->dinv) PetscCall(VecPointwiseMult(scaled, s->dinv, g));
  PetscCall(VecDot(s->dinv ? scaled : g, s->dinv ? scaled : g, &dot)); /* PETSc fills g with Inf on a domain error: all ranks see it */
  *phi = PetscIsInfOrNanScalar(dot) || snes->domainerror ? INFINITY : 0.5 * dot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* H at the z that was evaluated last. */
static PetscErrorCode compute_tangent(SNES snes, Vec z, bool *is_usable)
{
  PetscFunctionBegin;
  snes->jacobiandomainerror = PETSC_FALSE;
  PetscCall(SNESComputeJacobian(snes, z, snes->jacobian, snes->jacobian_pre));
  /* Callbacks that write into a shell's context may omit this call; without it preconditioners would not be rebuilt. */
  PetscCall(PetscObjectStateIncrease((PetscObject)snes->jacobian_pre));
  ++data_of(snes)->count.n_tangents;
  *is_usable                = !snes->jacobiandomainerror;
  snes->jacobiandomainerror = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_jacobian(SNES snes, Vec x, Vec y) /* y = D^-1 H x */
{
  SNES_Stabilized *s = data_of(snes);
  PetscFunctionBegin;
  PetscCall(MatMult(snes->jacobian, x, y));
  if (s->dinv) PetscCall(VecPointwiseMult(y, s->dinv, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* gradient = H^T D^-2 g, and its norm in the scaled unknowns, |C gradient|, unless they are known. g and H are those of z. It costs a
 * product with H^T, and most iterations do not use it. */
static PetscErrorCode require_gradient(SNES snes)
{
  SNES_Stabilized *s = data_of(snes);
  Vec              r = residual_at_z(snes);
  PetscFunctionBegin;
  if (s->count.gradient_norm < GRADIENT_UNKNOWN) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->dinv) {
    PetscCall(VecPointwiseMult(s->work, s->dinv, r));
    r = s->work;
  }
  PetscCall(MatMultTranspose(snes->jacobian, r, s->gradient));
  if (s->column) {
    PetscCall(VecPointwiseMult(s->work, s->column, s->gradient));
    PetscCall(VecNorm(s->work, NORM_2, &s->count.gradient_norm));
  } else {
    PetscCall(VecNorm(s->gradient, NORM_2, &s->count.gradient_norm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compute_step_norm(SNES snes, Vec dz, PetscReal *norm) /* |C^-1 dz| */
{
  SNES_Stabilized *s = data_of(snes);
  PetscFunctionBegin;
  if (s->column) {
    PetscCall(VecPointwiseDivide(s->work, dz, s->column));
    dz = s->work;
  }
  PetscCall(VecNorm(dz, NORM_2, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Relative tolerance of the next linear solve, in [eta, eta_max]; `before` is |g| of the last iterate, 0 at the initial guess.
 *
 * The first solve has the tolerance eta, so that a nearly linear step needs one iteration. Later ones follow the reduction of |g| by
 * the last step [EisenstatWalker1996, choice 2]: kinks of contact and plasticity limit it to about 20, and a solution of the linear
 * system beyond that is no use. No solve is more accurate than the distance from tau requires, with the factor FINAL_SHARE for the
 * error of the linearisation. 20 steps of a ball on sand need 27 instead of 39 GMRES iterations, and as many Newton iterations. */
static double forcing_term(SNES snes, double before)
{
  const SNES_Stabilized *s    = data_of(snes);
  const double           rate = before > 0.0 ? FORCING_GAMMA * pow(snes->norm / before, FORCING_ALPHA) : 0.0;
  return PetscMax(s->eta, PetscMin(s->eta_max, PetscMax(rate, FINAL_SHARE * snes->abstol / snes->norm)));
}

/* dz <- GMRES(D^-1 H, -D^-1 g) to the relative tolerance eta */
static PetscErrorCode newton_direction(SNES snes, double eta, Vec dz)
{
  SNES_Stabilized *s = data_of(snes);
  Mat              A = s->solve_matrix ? s->solve_matrix : snes->jacobian, P = snes->jacobian_pre;
  PetscInt         n_its;
  PetscFunctionBegin;
  if (s->dinv) {
    PetscObjectId pre;
    PetscBool     is_reused;
    PC            pc;
    PetscCall(PetscObjectGetId((PetscObject)snes->jacobian_pre, &pre));
    if (s->scaled_from != pre) PetscCall(MatDestroy(&s->scaled_jacobian)); /* another Pmat since the last solve */
    s->scaled_from = pre;
    if (!s->scaled_jacobian) PetscCall(mat_row_scaled_create(A, snes->jacobian_pre, s->dinv, &s->scaled_jacobian));
    A = s->scaled_jacobian;
    PetscCall(KSPGetPC(snes->ksp, &pc));
    PetscCall(PCGetReusePreconditioner(pc, &is_reused));
    if (is_reused && s->scaled_pre.copy) P = s->scaled_pre.copy; /* its values are not read, because the preconditioner is reused */
    else PetscCall(mat_row_scaled_for_preconditioner(A, snes->jacobian_pre, s->dinv, &s->scaled_pre, &P));
  }
  PetscCall(KSPSetOperators(snes->ksp, A, P));
  if (!snes->ksp_ewconv) PetscCall(KSPSetTolerances(snes->ksp, eta, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(VecCopy(residual_at_z(snes), s->work));
  PetscCall(VecScale(s->work, -1.0));
  PetscCall(
      KSPSolve(snes->ksp, s->work, dz)); /* no convergence in 20 iterations is no failure: the line search accepts inexact directions */
  PetscCall(KSPGetIterationNumber(snes->ksp, &n_its));
  snes->linear_its += n_its;
  s->count.n_linear += n_its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True if dz is a sufficient descent direction of E; m = g^T H dz is the slope. The published test requires that the cosine of the
 * angle to the steepest descent is at least kappa. Used alone, it rejects exact Newton steps of stiff systems: for condition number c
 * the cosine can be as small as 2/c, so c > 200 suffices, and the steepest descent that would replace them needs O(c^2) steps. A step
 * whose linear model at least halves |g|^2 (m = -(|g|^2 - |rho|^2) <= -1/2 |g|^2 for GMRES) has at least half of the
 * largest possible slope of E, for any angle. So it is accepted, too. If its line search fails, the gradient direction is tried. */
static PetscErrorCode is_downhill(SNES snes, Vec dz, double m, bool *is)
{
  SNES_Stabilized *s    = data_of(snes);
  PetscReal        size = 0.0;
  PetscFunctionBegin;
  PetscCall(compute_step_norm(snes, dz, &size));
  *is = isfinite(size) && m < 0.0;
  if (!*is || (!s->is_strict && m <= -0.5 * snes->norm * snes->norm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(require_gradient(snes));
  *is = m <= -s->kappa * size * s->count.gradient_norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dz <- -t C^2 H^T D^-2 g, with t the minimiser of the linear model along it; *m = 0 if E is stationary. Requires H at z. */
static PetscErrorCode gradient_direction(SNES snes, Vec dz, double *m)
{
  SNES_Stabilized *s = data_of(snes);
  PetscScalar      slope, square;
  PetscFunctionBegin;
  ++s->count.n_fallbacks;
  PetscCall(require_gradient(snes));
  PetscCall(VecCopy(s->gradient, dz));
  PetscCall(VecScale(dz, -1.0));
  for (int twice = 0; s->column && twice < 2; ++twice) PetscCall(VecPointwiseMult(dz, s->column, dz));
  PetscCall(apply_jacobian(snes, dz, s->product));
  PetscCall(VecDot(residual_at_z(snes), s->product, &slope));
  PetscCall(VecDot(s->product, s->product, &square));
  const double t = -slope / square;
  *m             = slope < 0.0 && square > 0.0 && isfinite(t) ? t * slope : 0.0;
  if (*m < 0.0) PetscCall(VecScale(dz, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode search_value(void *ctx, double alpha, double *phi)
{
  SNES             snes = ctx;
  SNES_Stabilized *s    = data_of(snes);
  PetscFunctionBegin;
  PetscCall(VecWAXPY(s->trial, alpha, snes->vec_sol_update, snes->vec_sol));
  PetscCall(evaluate(snes, s->trial, (PetscBool)(alpha == s->search.start), s->trial_residual, s->trial_scaled, phi));
  if (!isfinite(*phi)) ++s->count.n_rejected;
  s->phi_trial = *phi;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode search_slope(void *ctx, double alpha, double *slope)
{
  SNES             snes      = ctx;
  SNES_Stabilized *s         = data_of(snes);
  bool             is_usable = false;
  PetscFunctionBegin;
  (void)alpha; /* the trial point is that of search_value */
  PetscCall(compute_tangent(snes, s->trial, &is_usable));
  if (!is_usable) {
    ++s->count.n_rejected;
    *slope = NAN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(apply_jacobian(snes, snes->vec_sol_update, s->product));
  PetscCall(VecDot(residual_at_trial(snes), s->product, slope));
  if (!isfinite(*slope)) *slope = NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Evaluate g and H at vec_sol: at the start, and where the search ended somewhere else. */
static PetscErrorCode evaluate_at_z(SNES snes, double *phi)
{
  SNES_Stabilized *s         = data_of(snes);
  bool             is_usable = true;
  PetscFunctionBegin;
  PetscCall(evaluate(snes, snes->vec_sol, PETSC_TRUE, snes->vec_func, s->scaled_residual, phi));
  if (isfinite(*phi)) PetscCall(compute_tangent(snes, snes->vec_sol, &is_usable));
  if (!is_usable) *phi = INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Search along vec_sol_update and go there. On failure z stays, and g and H are those of z again. */
static PetscErrorCode search_and_move(SNES snes, double m, double *phi, bool *has_moved)
{
  SNES_Stabilized *s       = data_of(snes);
  wolfe_options    options = s->search;
  wolfe_result     r;
  PetscReal        step, size;
  PetscFunctionBegin;
  /* A forced iteration from a converged state, often at rounding error: a long search would find no decrease. */
  if (snes->norm < snes->abstol) options.max_trials = PetscMin(options.max_trials, CONVERGED_TRIALS);
  PetscCall(wolfe_search(&options, search_value, search_slope, snes, *phi, m, &r));
  *has_moved = r.outcome != WOLFE_FAILED;
  if (r.outcome == WOLFE_ARMIJO_ONLY) ++s->count.n_armijo_only;
  if (r.outcome != WOLFE_FAILED && r.is_last) { /* g and H at the trial point are already evaluated: accept them */
    PetscCall(VecCopy(s->trial, snes->vec_sol));
    PetscCall(VecCopy(s->trial_residual, snes->vec_func));
    if (s->dinv) PetscCall(VecCopy(s->trial_scaled, s->scaled_residual));
    *phi = r.phi;
  } else {
    if (r.outcome != WOLFE_FAILED) PetscCall(VecAXPY(snes->vec_sol, r.alpha, snes->vec_sol_update));
    PetscCall(evaluate_at_z(snes, phi));
  }
  s->alpha = r.alpha;
  PetscCall(VecNorm(snes->vec_sol_update, NORM_2, &step));
  PetscCall(VecNorm(snes->vec_sol, NORM_2, &size));
  snes->ynorm = r.alpha * step;
  snes->xnorm = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replace a direction that fails the test above by the gradient direction, unless its predicted decrease is larger. -m is the decrease of |g|^2
 * that the linear model predicts. For stiff H a truncated GMRES solution usually predicts the larger decrease, because the stiffest modes dominate
 * the gradient. So the predicted decrease is at least that of the gradient, as for the Cauchy point of a trust region. */
static PetscErrorCode better_direction(SNES snes, Vec dz, double *m, bool *is_newton)
{
  SNES_Stabilized *s      = data_of(snes);
  const double     newton = *m;
  PetscFunctionBegin;
  PetscCall(VecCopy(dz, s->trial));
  PetscCall(gradient_direction(snes, dz, m));
  *is_newton = !s->is_strict && isfinite(newton) && newton < *m;
  if (*is_newton) {
    PetscCall(VecCopy(s->trial, dz));
    *m = newton;
    --s->count.n_fallbacks;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One Newton step: direction, test, search; if the search fails along a Newton direction, once more along the gradient. */
static PetscErrorCode step(SNES snes, double before, double *phi, bool *has_moved)
{
  SNES_Stabilized *s  = data_of(snes);
  Vec              dz = snes->vec_sol_update;
  PetscScalar      m;
  bool             is_newton = false;
  PetscFunctionBegin;
  *has_moved = false;
  PetscCall(newton_direction(snes, forcing_term(snes, before), dz));
  PetscCall(apply_jacobian(snes, dz, s->product));
  PetscCall(VecDot(residual_at_z(snes), s->product, &m));
  PetscCall(is_downhill(snes, dz, m, &is_newton));
  if (!is_newton) PetscCall(better_direction(snes, dz, &m, &is_newton));
  if (m < 0.0) PetscCall(search_and_move(snes, m, phi, has_moved));
  if (*has_moved || !is_newton || snes->norm < snes->abstol) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(gradient_direction(snes, dz, &m));
  if (m < 0.0) PetscCall(search_and_move(snes, m, phi, has_moved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- steps that may increase E ---------------------------------------------------------------------------------------- */

/* Full Newton steps without a line search, until one of them reduces E to `target` (watchdog technique [NocedalWright2006, sec. 15.6]).
 *
 * Reason: along a curved valley of E every line search ends after a short step. An example is a rod with stiff stretching that
 * rotates: a full step stretches it by a second-order term, which the next full step removes. */
static PetscErrorCode relaxed_steps(SNES snes, double target, double *phi, bool *has_moved)
{
  SNES_Stabilized *s = data_of(snes);
  PetscFunctionBegin;
  for (int k = 0; k < s->max_relaxed && isfinite(*phi) && !*has_moved; ++k) {
    PetscCall(newton_direction(snes, s->eta, snes->vec_sol_update));
    PetscCall(VecAXPY(snes->vec_sol, 1.0, snes->vec_sol_update));
    PetscCall(evaluate_at_z(snes, phi));
    ++s->count.n_relaxed;
    *has_moved = *phi <= target;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Search along vec_sol_update for a zero of the work g.dz, from its value `start` < 0 at z, by safeguarded interpolation, every third time
 * by bisection. z becomes the accepted point, or does not change if there is none. g is that of the last trial. */
static PetscErrorCode search_work(SNES snes, double start, bool *has_moved)
{
  SNES_Stabilized *s   = data_of(snes);
  double           low = 0.0, at_low = start, high = 1.0, at_high = INFINITY, alpha = 1.0;
  PetscFunctionBegin;
  *has_moved = false;
  for (int k = 0; k < s->search.max_trials && !*has_moved; ++k) {
    PetscScalar work = INFINITY;
    double      phi;
    PetscCall(VecWAXPY(s->trial, alpha, snes->vec_sol_update, snes->vec_sol));
    PetscCall(evaluate(snes, s->trial, PETSC_FALSE, s->trial_residual, s->trial_scaled, &phi));
    if (isfinite(phi)) PetscCall(VecDot(s->trial_residual, snes->vec_sol_update, &work));
    *has_moved = work <= -WORK_FRACTION * start && (alpha == 1.0 || work >= WORK_FRACTION * start);
    if (work < 0.0) low = alpha, at_low = work;
    else high = alpha, at_high = work;
    if (*has_moved) break;
    const double straight = isinf(at_high) ? NAN : low + (high - low) * at_low / (at_low - at_high);
    alpha = k % 3 == 2 || !(straight > low) ? 0.5 * (low + high) : fmin(fmax(straight, 0.9 * low + 0.1 * high), 0.1 * low + 0.9 * high);
  }
  if (*has_moved) PetscCall(VecCopy(s->trial, snes->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Newton steps with the definite tangent, each to a zero of the work g.dz, until one of them reduces E to `target`.
 *
 * If g is the gradient of a potential W (inertia, elasticity), these steps decrease W and converge to one of its minima from any state. E has other
 * stationary points, where H is singular: without this method a buckling strand ends there. Friction is not the gradient of a
 * potential, therefore g.dz is used instead of W. Source: step_line_search.h, the same search for contact problems. */
static PetscErrorCode work_steps(SNES snes, double target, double *phi, bool *has_moved)
{
  SNES_Stabilized *s          = data_of(snes);
  bool             can_search = true;
  PetscFunctionBegin;
  if (!s->set_definite) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(s->set_definite(snes, PETSC_TRUE, s->definite_context));
  PetscCall(evaluate_at_z(snes, phi));
  for (int k = 0; k < s->max_work && isfinite(*phi) && can_search && !*has_moved; ++k) {
    PetscScalar work;
    PetscCall(newton_direction(snes, s->eta, snes->vec_sol_update));
    PetscCall(VecDot(snes->vec_func, snes->vec_sol_update, &work));
    can_search = work < 0.0;
    if (can_search) PetscCall(search_work(snes, work, &can_search));
    PetscCall(evaluate_at_z(snes, phi));
    ++s->count.n_work;
    *has_moved = *phi <= target;
  }
  PetscCall(s->set_definite(snes, PETSC_FALSE, s->definite_context));
  PetscCall(evaluate_at_z(snes, phi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both kinds of steps in turn, until E is halved. Otherwise z is the start again, and line searches follow in the next `delay`
 * iterations; `delay` doubles. */
static PetscErrorCode leave_valley(SNES snes, double *phi, bool *has_moved)
{
  SNES_Stabilized *s      = data_of(snes);
  const double     target = 0.5 * *phi;
  PetscFunctionBegin;
  if (s->max_relaxed <= 0 && s->max_work <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCopy(snes->vec_sol, s->reference));
  s->alpha = 1.0;
  for (int method = 0; method < 2 && !*has_moved; ++method) {
    if (method == 0) PetscCall(relaxed_steps(snes, target, phi, has_moved));
    else PetscCall(work_steps(snes, target, phi, has_moved));
    if (*has_moved) break; /* line searches follow; work steps at once would follow another branch of buckling rods */
    PetscCall(VecCopy(s->reference, snes->vec_sol));
    PetscCall(evaluate_at_z(snes, phi));
  }
  s->n_delay = *has_moved ? 0 : s->delay;
  s->delay   = *has_moved ? 1 : 2 * s->delay;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal gradient_tolerance(SNES snes)
{
  SNES_Stabilized *s = data_of(snes);
  if (s->gradient_tolerance >= 0.0) return s->gradient_tolerance;
  return s->column ? snes->abstol : 0.0;
}

/* An iteration that reduces |g| by this factor makes progress. A small gradient is then no stationary point but a small H^T near a root. */
#define PROGRESS 0.5

/* Sets snes->reason; `is_last_word`: no further iteration is possible, so the minimum number of iterations does not matter.
 * `has_progress`: |g| still decreases; the default gradient tolerance is not applied. */
static PetscErrorCode test_convergence(SNES snes, bool is_last_word, bool has_progress)
{
  SNES_Stabilized *s      = data_of(snes);
  const PetscInt   min_it = s->accepts_start ? 0 : PetscMax(s->min_it, snes->forceiteration ? 1 : 0);
  PetscFunctionBegin;
  PetscUseTypeMethod(snes, converged, snes->iter, snes->xnorm, snes->ynorm, snes->norm, &snes->reason, snes->cnvP);
  if (is_last_word && !snes->reason && snes->norm < snes->abstol) snes->reason = SNES_CONVERGED_FNORM_ABS;
  const bool may_be_stationary = s->gradient_tolerance >= 0.0 || !has_progress;
  if (may_be_stationary) PetscCall(require_gradient(snes));
  if (!snes->reason && may_be_stationary && s->count.gradient_norm < gradient_tolerance(snes)) {
    snes->reason           = SNES_CONVERGED_SNORM_RELATIVE;
    s->count.is_stationary = PETSC_TRUE;
  }
  if (snes->reason > 0 && snes->iter < min_it && !is_last_word && snes->norm > 0.0) {
    snes->reason           = SNES_CONVERGED_ITERATING;
    s->count.is_stationary = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode report(SNES snes, double phi)
{
  SNES_Stabilized *s = data_of(snes);
  PetscFunctionBegin;
  s->count.norm = sqrt(2.0 * phi);
  PetscCall(PetscObjectSAWsTakeAccess((PetscObject)snes));
  snes->norm = s->count.norm;
  PetscCall(PetscObjectSAWsGrantAccess((PetscObject)snes));
  PetscCall(SNESLogConvergenceHistory(snes, snes->norm, s->count.n_linear));
  PetscCall(SNESMonitor(snes, snes->iter, snes->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of successive steps that reduce neither |g| nor its gradient noticeably, after which the line search counts as failed. This
 * detects the level of rounding errors; a tolerance below it would otherwise use up all iterations and trials. Kinks slow Newton's
 * method down, too, but less than this. Near a stationary point |g| stagnates, but the gradient decreases. */
enum { STALLED_STEPS = 5 };
#define STALLED_RATIO (1.0 - 1e-3)
#define STALLED_GRADIENT 0.9

static PetscErrorCode run_newton_iterations(SNES snes, double phi)
{
  SNES_Stabilized *s = data_of(snes);
  bool             has_moved;
  double           before      = 0.0;   /* |g| at the last iterate */
  bool             is_last_try = false; /* the line search has stalled before */
  int              n_stalled   = 0;
  PetscFunctionBegin;
  s->count.gradient_norm = GRADIENT_UNKNOWN;
  PetscCall(report(snes, phi));
  PetscCall(test_convergence(snes, false, true));
  while (!snes->reason) {
    if (snes->iter >= snes->max_its) {
      snes->reason = SNES_DIVERGED_MAX_IT;
      break;
    }
    PetscTryTypeMethod(snes, update, snes->iter);
    has_moved             = false;
    const bool is_relaxed = s->alpha < SHORT_STEP && s->n_delay-- <= 0;
    if (is_relaxed) PetscCall(leave_valley(snes, &phi, &has_moved));
    if (!has_moved) PetscCall(step(snes, before, &phi, &has_moved));
    if (!has_moved && !is_relaxed && snes->norm >= snes->abstol) PetscCall(leave_valley(snes, &phi, &has_moved));
    if (!has_moved) {
      PetscCall(test_convergence(snes, true, false));
      if (!snes->reason) snes->reason = SNES_DIVERGED_LINE_SEARCH;
      break;
    }
    ++snes->iter;
    ++s->count.n_newton;
    before                          = s->count.norm;
    const PetscReal gradient_before = s->count.gradient_norm;
    s->count.gradient_norm          = GRADIENT_UNKNOWN;
    PetscCall(report(snes, phi));
    PetscCall(test_convergence(snes, false, s->count.norm < PROGRESS * before));
    n_stalled = s->count.norm > STALLED_RATIO * before && s->count.gradient_norm > STALLED_GRADIENT * gradient_before ? n_stalled + 1 : 0;
    if (snes->reason || n_stalled < STALLED_STEPS) continue;
    if (is_last_try || snes->norm < snes->abstol) snes->reason = SNES_DIVERGED_LINE_SEARCH;
    s->alpha = 0.0, s->n_delay = 0, n_stalled = 0, is_last_try = true;
  }
  PetscCall(require_gradient(snes)); /* for the statistics */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSolve_Stabilized(SNES snes)
{
  SNES_Stabilized *s   = data_of(snes);
  double           phi = INFINITY;
  PetscFunctionBegin;
  s->count     = (SNESStabilizedStatistics){0};
  snes->reason = SNES_CONVERGED_ITERATING;
  snes->iter   = 0;
  s->alpha = 1.0, s->n_delay = 0, s->delay = 1;
  snes->norm = snes->xnorm = snes->ynorm = 0.0;
  PetscCall(KSPGetTolerances(snes->ksp, &s->eta, NULL, NULL, NULL));
  PetscCall(evaluate_at_z(snes, &phi));
  if (isfinite(phi)) PetscCall(run_newton_iterations(snes, phi));
  else snes->reason = snes->domainerror ? SNES_DIVERGED_FUNCTION_DOMAIN : SNES_DIVERGED_FNORM_NAN;
  if (!snes->ksp_ewconv) PetscCall(KSPSetTolerances(snes->ksp, s->eta, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  snes->domainerror = PETSC_FALSE;
  PetscCall(VecNorm(snes->vec_func, NORM_2, &s->count.norm_unscaled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSetUp_Stabilized(SNES snes)
{
  SNES_Stabilized *s = data_of(snes);
  PetscFunctionBegin;
  PetscCall(SNESSetUpMatrices(snes));
  Vec *vecs[] = {&s->scaled_residual, &s->trial, &s->trial_residual, &s->trial_scaled, &s->gradient, &s->product, &s->work, &s->reference};
  for (size_t k = 0; k < sizeof vecs / sizeof *vecs; ++k)
    if (!*vecs[k]) PetscCall(VecDuplicate(snes->vec_sol, vecs[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESReset_Stabilized(SNES snes)
{
  SNES_Stabilized *s = data_of(snes);
  PetscFunctionBegin;
  Vec *vecs[] = {&s->scaled_residual, &s->trial, &s->trial_residual, &s->trial_scaled, &s->gradient, &s->product, &s->work, &s->reference};
  for (size_t k = 0; k < sizeof vecs / sizeof *vecs; ++k) PetscCall(VecDestroy(vecs[k]));
  PetscCall(VecDestroy(&s->dinv)); /* sizes may change: the caller must set the scalings again */
  PetscCall(VecDestroy(&s->column));
  PetscCall(MatDestroy(&s->scaled_jacobian));
  PetscCall(MatDestroy(&s->solve_matrix));
  PetscCall(MatDestroy(&s->scaled_pre.copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESDestroy_Stabilized(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(SNESReset_Stabilized(snes));
  PetscCall(PetscFree(snes->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSetFromOptions_Stabilized(SNES snes, PetscOptionItems *PetscOptionsObject)
{
  SNES_Stabilized *s = data_of(snes);
  PetscReal        eta;
  PetscInt         max_trials = s->search.max_trials;
  PetscBool        is_set;
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Stabilised Newton");
  PetscCall(KSPGetTolerances(snes->ksp, &eta, NULL, NULL, NULL));
  PetscCall(
      PetscOptionsReal("-snes_stabilized_eta", "Relative tolerance of all linear solves", "SNESStabilizedSetForcing", eta, &eta, &is_set));
  if (is_set) PetscCall(SNESStabilizedSetForcing(snes, eta));
  PetscCall(PetscOptionsReal("-snes_stabilized_kappa", "Smallest cosine between step and steepest descent", "", s->kappa, &s->kappa, NULL));
  PetscCall(PetscOptionsBool("-snes_stabilized_strict", "Downhill test by the angle alone", "", s->is_strict, &s->is_strict, NULL));
  PetscCall(PetscOptionsReal("-snes_stabilized_gradient_tolerance", "Stop when |C H^T D^-2 g| is below; negative: by the scaling",
                             "SNESStabilizedSetGradientTolerance", s->gradient_tolerance, &s->gradient_tolerance, NULL));
  PetscCall(
      PetscOptionsReal("-snes_stabilized_eta_max", "Largest relative tolerance of later linear solves", "", s->eta_max, &s->eta_max, NULL));
  PetscCall(PetscOptionsInt("-snes_stabilized_min_it", "Least number of iterations", "", s->min_it, &s->min_it, NULL));
  PetscCall(PetscOptionsReal("-snes_stabilized_wolfe_c1", "Sufficient decrease", "", s->search.c1, &s->search.c1, NULL));
  PetscCall(PetscOptionsReal("-snes_stabilized_wolfe_c2", "Curvature", "", s->search.c2, &s->search.c2, NULL));
  PetscCall(PetscOptionsInt("-snes_stabilized_wolfe_max_trials", "Trials per line search", "", max_trials, &max_trials, NULL));
  PetscCall(PetscOptionsInt("-snes_stabilized_relaxed_steps", "Most full steps without a line search", "", s->max_relaxed, &s->max_relaxed,
                            NULL));
  PetscCall(PetscOptionsInt("-snes_stabilized_work_steps", "Most steps to a zero of the work", "SNESStabilizedSetDefinite", s->max_work,
                            &s->max_work, NULL));
  PetscOptionsHeadEnd();
  PetscCheck(0.0 < s->search.c1 && s->search.c1 < s->search.c2 && s->search.c2 < 1.0 && max_trials >= 1, PetscObjectComm((PetscObject)snes),
             PETSC_ERR_USER_INPUT, "-snes_stabilized_wolfe_*: expected 0 < c1 < c2 < 1 and max_trials >= 1");
  s->search.max_trials = (int)max_trials;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESView_Stabilized(SNES snes, PetscViewer viewer)
{
  SNES_Stabilized *s = data_of(snes);
  PetscBool        is_ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_ascii));
  if (is_ascii) {
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  kappa=%g%s, least iterations=%d, gradient tolerance=%g, row scaling: %s, column scaling: %s\n", s->kappa,
        s->is_strict ? " (alone)" : "", (int)s->min_it, gradient_tolerance(snes), s->dinv ? "yes" : "no", s->column ? "yes" : "no"));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  Wolfe search: c1=%g, c2=%g, trials=%d; relaxed steps: at most %d, work steps: at most %d\n",
                                     s->search.c1, s->search.c2, s->search.max_trials, (int)s->max_relaxed,
                                     s->set_definite ? (int)s->max_work : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESCreate_Stabilized(SNES snes)
{
  SNES_Stabilized *s;
  PC               pc;
  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  snes->data                        = s;
  s->kappa                          = 0.01;
  s->gradient_tolerance             = -1.0;
  s->eta_max                        = 0.03;
  s->min_it                         = 1;
  s->max_relaxed                    = 4;
  s->max_work                       = 50;
  s->search                         = WOLFE_DEFAULTS;
  snes->usesksp                     = PETSC_TRUE;
  snes->usesnpc                     = PETSC_FALSE;
  snes->alwayscomputesfinalresidual = PETSC_TRUE;
  snes->ops->setup                  = SNESSetUp_Stabilized;
  snes->ops->solve                  = SNESSolve_Stabilized;
  snes->ops->reset                  = SNESReset_Stabilized;
  snes->ops->destroy                = SNESDestroy_Stabilized;
  snes->ops->view                   = SNESView_Stabilized;
  snes->ops->setfromoptions         = SNESSetFromOptions_Stabilized;
  if (!snes->tolerancesset) { /* [DingSchroeder2020, sec. 9]: stop by tau alone */
    snes->abstol  = 1e-3;
    snes->rtol    = 0.0;
    snes->stol    = 0.0;
    snes->max_its = 50;
  }
  KSP ksp;
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 20));
  PetscCall(
      KSPSetPCSide(ksp, PC_RIGHT)); /* with left preconditioning GMRES would minimise another norm, and its direction could increase E */
  PetscCall(KSPSetTolerances(ksp, 1e-4, PETSC_DEFAULT, PETSC_DEFAULT, 20));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!((PetscObject)pc)->type_name) PetscCall(PCSetType(pc, PCBLOCKDIAGONAL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_type(SNES snes)
{
  PetscBool is;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)snes, SNESSTABILIZED, &is));
  PetscCheck(is, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_WRONG, "expected a SNES of type stabilized, not %s",
             ((PetscObject)snes)->type_name ? ((PetscObject)snes)->type_name : "(none)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode replace(Vec *where, Vec v)
{
  PetscFunctionBegin;
  if (v) PetscCall(PetscObjectReference((PetscObject)v));
  PetscCall(VecDestroy(where));
  *where = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedSetScaling(SNES snes, Vec dinv)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  if (dinv != data_of(snes)->dinv) PetscCall(MatDestroy(&data_of(snes)->scaled_jacobian));
  PetscCall(replace(&data_of(snes)->dinv, dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedSetColumnScaling(SNES snes, Vec c)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  PetscCall(replace(&data_of(snes)->column, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedSetSolveMatrix(SNES snes, Mat A)
{
  SNES_Stabilized *s;
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  s = data_of(snes);
  if (A) PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(MatDestroy(&s->solve_matrix));
  PetscCall(MatDestroy(&s->scaled_jacobian));
  s->solve_matrix = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedSetDefinite(SNES snes, PetscErrorCode (*set_definite)(SNES, PetscBool, void *), void *context)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  data_of(snes)->set_definite     = set_definite;
  data_of(snes)->definite_context = context;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedSetForcing(SNES snes, PetscReal eta)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  PetscCheck(eta > 0.0 && eta < 1.0, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE,
             "forcing term eta out of range, expected 0 < eta < 1");
  PetscCall(KSPSetTolerances(snes->ksp, eta, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  data_of(snes)->eta_max = eta;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedSetGradientTolerance(SNES snes, PetscReal tolerance)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  data_of(snes)->gradient_tolerance = tolerance == PETSC_DEFAULT ? -1.0 : tolerance;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedSetAcceptsStart(SNES snes, PetscBool accepts)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  data_of(snes)->accepts_start = accepts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedExpectsTangent(SNES snes, PetscBool *wants)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  *wants = data_of(snes)->wants_tangent;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESStabilizedGetStatistics(SNES snes, SNESStabilizedStatistics *statistics)
{
  PetscFunctionBegin;
  PetscCall(check_type(snes));
  *statistics = data_of(snes)->count;
  PetscFunctionReturn(PETSC_SUCCESS);
}
