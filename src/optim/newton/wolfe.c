/* Implementation of the line search: doubling, then safeguarded interpolation within a bracket. */
#include "optim/newton/wolfe.h"
#include <float.h>
#include <math.h>

/* lo: satisfies the first condition (or is 0) and phi falls there; hi: phi is too high or rises there. A strong Wolfe
 * point of a smooth phi lies between. */
typedef struct {
  double lo, phi_lo, slope_lo;
  double hi, phi_hi; /* hi = infinity: not bracketed yet; phi_hi not finite: no interpolation */
} bracket;

static double next_trial(const wolfe_options *o, const bracket *b, double alpha, int n_narrowed)
{
  if (isinf(b->hi)) return fmin(2.0 * alpha, o->longest);
  const double width = b->hi - b->lo, half = b->lo + 0.5 * width;
  if (n_narrowed % 3 == 2 || !isfinite(b->phi_hi)) return half;
  /* minimiser of the parabola through phi_lo, slope_lo and phi_hi */
  const double bend = b->phi_hi - b->phi_lo - b->slope_lo * width;
  if (!(bend > 0.0)) return half;
  const double trial = b->lo - 0.5 * b->slope_lo * width * width / bend;
  return fmin(fmax(trial, b->lo + 0.1 * width), b->hi - 0.1 * width);
}

PetscErrorCode wolfe_search(const wolfe_options *o, wolfe_value value, wolfe_slope slope, void *ctx, double phi0, double slope0,
                            wolfe_result *result)
{
  bracket      b     = {.phi_lo = phi0, .slope_lo = slope0, .hi = INFINITY, .phi_hi = NAN};
  double       alpha = o->start;
  wolfe_result r     = {.outcome = WOLFE_FAILED, .phi = phi0};
  PetscFunctionBegin;
  PetscCheck(slope0 < 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "line search: phi'(0) = %s", isnan(slope0) ? "NaN" : ">= 0");
  for (int n_narrowed = 0; r.n_values < o->max_trials;) {
    double phi, s = NAN;
    PetscCall((*value)(ctx, alpha, &phi));
    ++r.n_values;
    r.is_last         = false;
    const bool is_low = phi <= phi0 + o->c1 * alpha * slope0; /* false for NaN */
    if (is_low) {
      PetscCall((*slope)(ctx, alpha, &s));
      ++r.n_slopes;
      if (!isnan(s) && (r.outcome == WOLFE_FAILED || phi < r.phi)) {
        r.outcome = WOLFE_ARMIJO_ONLY;
        r.alpha   = alpha;
        r.phi     = phi;
        r.is_last = true;
      }
      if (fabs(s) <= o->c2 * fabs(slope0)) {
        r.outcome = WOLFE_ACCEPTED;
        r.alpha   = alpha;
        r.phi     = phi;
        r.is_last = true;
        break;
      }
    }
    if (is_low && s < 0.0 && (b.lo == 0.0 || phi < b.phi_lo)) {
      b.lo = alpha, b.phi_lo = phi, b.slope_lo = s;
    } else {
      b.hi = alpha, b.phi_hi = is_low && isnan(s) ? NAN : phi;
    }
    if (!isinf(b.hi)) {
      ++n_narrowed;
      if (r.outcome != WOLFE_FAILED && b.hi - b.lo <= o->narrow * b.hi) break;
    } else if (alpha >= o->longest) {
      break;
    }
    alpha = next_trial(o, &b, alpha, n_narrowed);
    /* a change below the rounding of phi0 would satisfy any condition */
    if (r.outcome == WOLFE_FAILED && alpha * fabs(slope0) <= 8.0 * DBL_EPSILON * fabs(phi0)) break;
  }
  *result = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}
