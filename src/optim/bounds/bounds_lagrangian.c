/* Augmented Lagrangian of the bounds [NocedalWright2006, ch. 17]: L(x) = f(x) + sum over bounds of max(0, m - rho d c(x))^2/(2 rho
 * d), c = x - lo or hi - x; Newton steps on L, and m <- max(0, m - rho d c(x)) where L's gradient is below a tenth of what that
 * moves m. Of the lengths 1, 1/2, 1/4, ... the first that lowers L is taken, of o->trials at most. With a single trial nothing
 * keeps whole steps from going in circles; the length is halved there where the gradient has not fallen for three steps. */
#include "core/memory.h"
#include "optim/bounds/bounds_shift.h"
#include <string.h>

static const double RHO = 10.0, INNER = 0.1, UPDATE = 0.1;

typedef struct {
  box_shift s;
  double   *low, *high; /* [n] multipliers >= 0 */
} lagrangian;

/* Gradient into s.rest, curvature into s.shift. Returns |gradient|_D. */
static double penalties(lagrangian *a, const double *x)
{
  box_shift *s = &a->s;
  double     sum = 0.0;
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double rho = RHO * s->q->diagonal[i];
    const double l = s->lo[i] > -INFINITY ? fmax(0.0, a->low[i] - rho * (x[i] - s->lo[i])) : 0.0;
    const double h = s->hi[i] < INFINITY ? fmax(0.0, a->high[i] - rho * (s->hi[i] - x[i])) : 0.0;
    s->shift[i] = s->is_free[i] ? rho * ((l > 0.0) + (h > 0.0)) : 0.0;
    s->rest[i]  = s->is_free[i] ? s->g[i] - l + h : 0.0;
    sum += s->rest[i] * s->rest[i] / s->q->diagonal[i];
  }
  return sqrt(sum);
}

/* L at x + alpha step, less f(x): f's part from the two slopes of a parabola. */
static double value(const lagrangian *a, const double *x, double alpha, double slope, double curvature)
{
  const box_shift *s   = &a->s;
  double           sum = alpha * slope + 0.5 * alpha * alpha * curvature;
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double rho = RHO * s->q->diagonal[i], to = x[i] + alpha * s->step[i];
    const double l = s->lo[i] > -INFINITY ? fmax(0.0, a->low[i] - rho * (to - s->lo[i])) : 0.0;
    const double h = s->hi[i] < INFINITY ? fmax(0.0, a->high[i] - rho * (s->hi[i] - to)) : 0.0;
    if (s->is_free[i]) sum += 0.5 * (l * l + h * h) / rho;
  }
  return sum;
}

static double search(lagrangian *a, int64_t trials, const double *x, box_result *r)
{
  double alpha = 1.0;
  a->s.q->apply(a->s.q->context, a->s.step, a->s.rest);
  ++r->products;
  const double slope = team_dot(a->s.q->n, a->s.g, a->s.step), curvature = team_dot(a->s.q->n, a->s.step, a->s.rest);
  const double before = value(a, x, 0.0, slope, curvature);
  for (int64_t k = 1; k < trials && value(a, x, alpha, slope, curvature) >= before; ++k) alpha *= 0.5;
  return alpha;
}

/* Returns by how much they would move, in |.|_D, and moves them if is_real. */
static double move_multipliers(lagrangian *a, const double *x, bool is_real)
{
  const box_shift *s   = &a->s;
  double           sum = 0.0;
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double rho = RHO * s->q->diagonal[i];
    const double l = s->is_free[i] && s->lo[i] > -INFINITY ? fmax(0.0, a->low[i] - rho * (x[i] - s->lo[i])) : 0.0;
    const double h = s->is_free[i] && s->hi[i] < INFINITY ? fmax(0.0, a->high[i] - rho * (s->hi[i] - x[i])) : 0.0;
    sum += ((l - a->low[i]) * (l - a->low[i]) + (h - a->high[i]) * (h - a->high[i])) / s->q->diagonal[i];
    if (is_real) a->low[i] = l, a->high[i] = h;
  }
  return sqrt(sum);
}

static void iterate(lagrangian *a, const box_options *o, double *x, box_result *r)
{
  box_shift    *s      = &a->s;
  const int64_t max    = o->max_iterations > 0 ? o->max_iterations : BOX_SHIFT_OUTER;
  double        lowest = INFINITY, length = 1.0;
  int           waited = 0;
  for (r->outer = 0;; ++r->outer) {
    box_gradient(s->q, x, s->g, r);
    const double norm = box_shift_answer(s, x, s->g, r);
    if (norm <= r->target || !isfinite(norm)) break;
    if (r->outer >= max) { r->verdict = BOX_ITERATIONS; break; }
    double slope = penalties(a, x);
    if (slope <= UPDATE * move_multipliers(a, x, false)) {
      move_multipliers(a, x, true);
      slope  = penalties(a, x);
      lowest = INFINITY, length = 1.0, waited = 0;
    }
    if (slope < 0.9 * lowest) waited = 0;
    else if (++waited == 3) length *= 0.5, waited = 0;
    lowest = fmin(lowest, slope);
    const box_cg_verdict v = box_shift_solve(s, INNER * fmin(slope, fmax(norm, r->target)), r);
    if (v != BOX_CG_OK && v != BOX_CG_ITERATIONS) { r->verdict = BOX_UNBOUNDED; break; }
    const double alpha = o->trials > 1 ? search(a, o->trials, x, r) : length;
    for (int64_t i = 0; i < s->q->n; ++i) x[i] += alpha * s->step[i];
  }
  memcpy(x, s->y, (size_t)s->q->n * sizeof *x);
}

PetscErrorCode box_solve_augmented_lagrangian(const box_qp *q, const box_options *o, double *x, box_result *r)
{
  lagrangian a = {0};
  PetscFunctionBegin;
  PetscErrorCode code = box_shift_create(q, o->preconditioner, &a.s);
  if (!code) code = memory_alloc("multipliers of lower bounds", q->n, sizeof *a.low, &a.low);
  if (!code) code = memory_alloc("multipliers of upper bounds", q->n, sizeof *a.high, &a.high);
  if (!code) iterate(&a, o, x, r);
  box_shift_destroy(&a.s);
  memory_free(&a.low), memory_free(&a.high);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
