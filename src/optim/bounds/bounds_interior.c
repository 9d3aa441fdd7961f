/* Primal interior point: Newton's method on f(x) - mu sum log(x - lo) - mu sum log(hi - x), one step for each mu
 * [ForsgrenEtAl2002]. Of the step lengths 1, 1/2, 1/4, ... the first that stays inside is taken, of o->trials at most; what is
 * outside after the last is clamped. mu falls to a tenth with a whole step and by less with a shorter one, and the clamp leaves a
 * tenth of the distance, which is where the next mu wants an unknown at its bound to be. */
#include "core/memory.h"
#include "optim/bounds/bounds_shift.h"
#include <string.h>

static const double REDUCTION = 0.1, INNER = 0.1;

static double norm_of_b(const box_qp *q)
{
  double sum = 0.0;
  for (int64_t i = 0; i < q->n; ++i) sum += q->b[i] * q->b[i] / q->diagonal[i];
  return sqrt(sum);
}

/* Strictly inside, by what an unknown typically is or half the room there is. */
static void enter(const box_shift *s, double size, double *x)
{
  for (int64_t i = 0; i < s->q->n; ++i) {
    if (!s->is_free[i]) continue;
    const double room = fmin(size / sqrt(s->q->diagonal[i]), 0.5 * (s->hi[i] - s->lo[i]));
    x[i] = fmin(fmax(x[i], s->lo[i] + room), s->hi[i] - room);
  }
}

/* Gradient and curvature of the barrier beside f's. Returns |gradient|_D. */
static double barrier(box_shift *s, double mu, const double *x)
{
  double sum = 0.0;
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double a = mu / (x[i] - s->lo[i]), b = mu / (s->hi[i] - x[i]); /* 0 without a bound */
    s->shift[i] = s->is_free[i] ? (a * a + b * b) / mu : 0.0;
    s->rest[i]  = s->is_free[i] ? s->g[i] - a + b : 0.0;
    sum += s->rest[i] * s->rest[i] / (s->q->diagonal[i] + s->shift[i]);
  }
  return sqrt(sum);
}

static bool is_inside(const box_shift *s, const double *x, double alpha)
{
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double to = x[i] + alpha * s->step[i];
    if (s->is_free[i] && !(to > s->lo[i] && to < s->hi[i])) return false;
  }
  return true;
}

static double advance(const box_shift *s, int64_t trials, double *x)
{
  double alpha = 1.0;
  for (int64_t k = 1; k < trials && !is_inside(s, x, alpha); ++k) alpha *= 0.5;
  for (int64_t i = 0; i < s->q->n; ++i) {
    if (!s->is_free[i]) continue;
    const double to = x[i] + alpha * s->step[i], low = s->lo[i] + REDUCTION * (x[i] - s->lo[i]),
                 high = s->hi[i] - REDUCTION * (s->hi[i] - x[i]);
    x[i] = to < low ? low : to > high ? high : to;
  }
  return alpha;
}

static void iterate(box_shift *s, const box_options *o, double *x, box_result *r)
{
  const int64_t max  = o->max_iterations > 0 ? o->max_iterations : BOX_SHIFT_OUTER;
  const double  size = norm_of_b(s->q) / sqrt((double)s->q->n), smallest = 1e-30 * size * size;
  double        mu   = size * size;
  enter(s, size, x);
  for (r->outer = 0;; ++r->outer) {
    box_gradient(s->q, x, s->g, r);
    const double norm = box_shift_answer(s, x, s->g, r);
    if (norm <= r->target || !isfinite(norm)) break;
    if (r->outer >= max) { r->verdict = BOX_ITERATIONS; break; }
    const double         slope = barrier(s, mu, x);
    const box_cg_verdict v     = box_shift_solve(s, INNER * fmin(slope, fmax(norm, r->target)), r);
    if (v != BOX_CG_OK && v != BOX_CG_ITERATIONS) { r->verdict = BOX_UNBOUNDED; break; }
    mu = fmax(mu * (1.0 - (1.0 - REDUCTION) * advance(s, o->trials, x)), smallest);
  }
  memcpy(x, s->y, (size_t)s->q->n * sizeof *x);
}

PetscErrorCode box_solve_interior_point(const box_qp *q, const box_options *o, double *x, box_result *r)
{
  box_shift s;
  PetscFunctionBegin;
  if (r->target == 0.0 && norm_of_b(q) == 0.0)
    PetscFunctionReturn(box_solve_mprgp(q, o, x, r)); /* no scale to start a barrier from */
  const PetscErrorCode code = box_shift_create(q, o->preconditioner, &s);
  if (!code) iterate(&s, o, x, r);
  box_shift_destroy(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
