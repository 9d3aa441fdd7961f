/* Linear systems of the three methods: A + diag(shift) and its preconditioner, solved by conjugate gradients. */
#include "optim/bounds/bounds_comparison.h"
#include "core/memory.h"
#include "optim/bounds/bounds_cg.h"
#include "optim/bounds/bounds_levels.h"
#include "optim/bounds/mprgp.h"
#include <string.h>

enum { BOUNDS_SHIFT_OUTER = 100, BOUNDS_SHIFT_INNER = 5000 }; /* limits of the published comparison */
typedef struct {
  const bounds_qp *q;
  double          *shift;               /* [n] >= 0; written by the caller before bounds_shift_solve */
  double          *diagonal, *lo, *hi;  /* [n] diagonal of A + shift; bounds, infinite where there are none */
  double          *g, *rest, *y, *step; /* [n] A x - b; negative right-hand side of bounds_shift_solve; candidate solution; computed
                                       * direction */
  uint8_t         *is_free;             /* [n] 0 where lo = hi */
  grid_matrix      grid;                /* borrows all arrays of q->grid except diagonal and levels */
  bounds_qp        shifted;
  bounds_face     *face;
  bounds_cg_space  space;
} bounds_shift;

static void apply_shifted_operator(void *context, const double *restrict x, double *restrict y)
{
  const bounds_shift *s = context;
  const int64_t       n = s->q->n;
  s->q->apply(s->q->context, x, y);
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) y[i] += s->shift[i] * x[i];
  }
}

static PetscErrorCode bounds_shift_create(const bounds_qp *q, int preconditioner, bounds_shift *out)
{
  double **const vectors[] = {&out->shift, &out->diagonal, &out->lo, &out->hi, &out->g, &out->rest, &out->y, &out->step};
  PetscFunctionBegin;
  *out = (bounds_shift){.q = q};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(memory_alloc("vector of a shifted program", q->n, sizeof(double), vectors[k]));
  PetscCall(memory_alloc("free set of a shifted program", q->n, 1, &out->is_free));
  PetscCall(bounds_cg_space_create(q->n, &out->space));
  for (int64_t i = 0; i < q->n; ++i) {
    out->diagonal[i] = q->diagonal[i];
    out->lo[i]       = q->lo ? q->lo[i] : -INFINITY;
    out->hi[i]       = q->hi ? q->hi[i] : INFINITY;
    out->is_free[i]  = out->lo[i] < out->hi[i];
  }
  out->shifted = (bounds_qp){.n = q->n, .apply = apply_shifted_operator, .context = out, .diagonal = out->diagonal, .b = q->b};
  if (q->grid) {
    out->grid          = *q->grid;
    out->grid.levels   = NULL;
    out->grid.diagonal = NULL;
    PetscCall(memory_alloc("shifted diagonal of a grid matrix", q->grid->n, sizeof(double), &out->grid.diagonal));
    memcpy(out->grid.diagonal, q->grid->diagonal, (size_t)q->grid->n * sizeof(double));
    out->shifted.grid = &out->grid;
  }
  PetscCall(bounds_face_create(&out->shifted, preconditioner, &out->face));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void bounds_shift_destroy(bounds_shift *s)
{
  double **const vectors[] = {&s->shift, &s->diagonal, &s->lo, &s->hi, &s->g, &s->rest, &s->y, &s->step, &s->grid.diagonal};
  bounds_face_destroy(&s->face);
  if (s->grid.levels) bounds_levels_destroy(&s->grid.levels);
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k) memory_free(vectors[k]);
  memory_free(&s->is_free);
  bounds_cg_space_destroy(&s->space);
}

/* Solve (A + shift) step = -rest from step = 0 to the tolerance `target` in |.|_D. rest [n] is overwritten. */
static bounds_cg_status bounds_shift_solve(bounds_shift *s, double target, bounds_result *r)
{
  const bounds_qp *q = s->q;
  for (int64_t i = 0; i < q->n; ++i) s->diagonal[i] = q->diagonal[i] + s->shift[i];
  for (int64_t i = 0; q->grid && i < q->grid->n; ++i) s->grid.diagonal[i] = q->grid->diagonal[i] + s->shift[i];
  bounds_face_reset(s->face);
  bounds_face_update(s->face, s->is_free);
  memset(s->step, 0, (size_t)q->n * sizeof *s->step);
  return bounds_cg(&s->shifted, s->face, s->is_free, target, BOUNDS_SHIFT_INNER, s->step, s->rest, &s->space, r);
}

/* s->y <- candidate solution from x and its gradient: unknowns that x - D^-1 g moves beyond a bound are set to it, the others
 * are limited to the bounds. Returns |nu|_D of y, from one product. */
static double bounds_shift_project(bounds_shift *s, const double *x, const double *g, bounds_result *r)
{
  const bounds_qp *q = s->q;
  for (int64_t i = 0; i < q->n; ++i) {
    const double to = x[i] - g[i] / q->diagonal[i];
    s->y[i]         = to <= s->lo[i] ? s->lo[i] : to >= s->hi[i] ? s->hi[i] : bounds_clamp(x[i], s->lo[i], s->hi[i]);
  }
  ++r->products;
  return bounds_residual(q, s->y, s->rest, NULL);
}

/* ADMM for f(x) + indicator(z), x = z [BoydEtAl2011, secs. 3.1, 3.4.1]: x <- argmin f + rho/2 |x - z + w|_D^2 by conjugate gradients, z <- P(x +
 * w), w <- w + x - z. rho is doubled or halved, at growing intervals, if one of the two residuals exceeds ten times the other. */
static const double ADMM_RHO = 0.1, ADMM_INNER = 0.1;

typedef struct {
  bounds_shift s;
  double      *w, *z; /* [n] scaled multiplier; projected point */
  double       rho;
} admm;

/* One ADMM iteration from the gradient s.g at x. *primal, *dual: residuals in |.|_D. */
static bool admm_step(admm *a, double *x, double target, double *primal, double *dual, bounds_result *r)
{
  const int64_t n = a->s.q->n;
  const double *d = a->s.q->diagonal;
  for (int64_t i = 0; i < n; ++i) {
    a->s.shift[i] = a->rho * d[i];
    a->s.rest[i]  = a->s.g[i] + a->rho * d[i] * (x[i] - a->z[i] + a->w[i]);
  }
  const bounds_cg_status v = bounds_shift_solve(&a->s, target, r);
  if (v != BOUNDS_CG_OK && v != BOUNDS_CG_ITERATIONS) return false;
  *primal = *dual = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double before = a->z[i];
    x[i] += a->s.step[i];
    a->z[i] = bounds_clamp(x[i] + a->w[i], a->s.lo[i], a->s.hi[i]);
    a->w[i] += x[i] - a->z[i];
    *primal += d[i] * (x[i] - a->z[i]) * (x[i] - a->z[i]);
    *dual += a->rho * a->rho * d[i] * (a->z[i] - before) * (a->z[i] - before);
  }
  *primal = sqrt(*primal), *dual = sqrt(*dual);
  return true;
}

static void adapt_admm_penalty(admm *a, double primal, double dual)
{
  const double factor = primal > 10.0 * dual ? 2.0 : dual > 10.0 * primal ? 0.5 : 1.0;
  a->rho *= factor;
  for (int64_t i = 0; i < a->s.q->n && factor != 1.0; ++i) a->w[i] /= factor;
}

static void admm_iterate(admm *a, const bounds_options *o, double *x, bounds_result *r)
{
  const int64_t max = o->max_iterations > 0 ? o->max_iterations : BOUNDS_SHIFT_OUTER, n = a->s.q->n;
  double        norm = INFINITY, primal, dual;
  int64_t       next = 5;
  memcpy(a->z, x, (size_t)n * sizeof *x);
  for (r->outer = 0;; ++r->outer) {
    bounds_gradient(a->s.q, x, a->s.g, r);
    norm = bounds_shift_project(&a->s, x, a->s.g, r);
    if (norm <= r->target || !isfinite(norm)) break;
    if (r->outer >= max) {
      r->status = BOUNDS_ITERATIONS;
      break;
    }
    if (!admm_step(a, x, fmax(ADMM_INNER * norm, ADMM_INNER * r->target), &primal, &dual, r)) {
      r->status = BOUNDS_UNBOUNDED;
      break;
    }
    if (r->outer == next) adapt_admm_penalty(a, primal, dual), next += next / 4 + 5;
  }
  memcpy(x, a->s.y, (size_t)n * sizeof *x);
}

PetscErrorCode bounds_solve_admm(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  admm a = {.rho = ADMM_RHO};
  PetscFunctionBegin;
  PetscErrorCode code = bounds_shift_create(q, o->preconditioner, &a.s);
  if (!code) code = MEMORY_ALLOC("bounds comparison", ARRAY(a.w, q->n), ARRAY(a.z, q->n));
  if (!code) admm_iterate(&a, o, x, r);
  bounds_shift_destroy(&a.s);
  MEMORY_FREE(&a.w, &a.z);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Primal interior point method: Newton's method on f(x) - mu sum log(x - lo) - mu sum log(hi - x), one step for each mu
 * [ForsgrenEtAl2002]. The first feasible step length of 1, 1/2, 1/4, ... is used, at most o->trials of them; after the last one
 * the iterate is limited instead. A whole step reduces mu to a tenth, a shorter one by less. The limited iterate keeps a tenth
 * of its distance to the bound, which is the distance that the next mu expects. */
static const double INTERIOR_REDUCTION = 0.1, INTERIOR_INNER = 0.1;

static double norm_of_b(const bounds_qp *q)
{
  double sum = 0.0;
  for (int64_t i = 0; i < q->n; ++i) sum += q->b[i] * q->b[i] / q->diagonal[i];
  return sqrt(sum);
}

/* Move x strictly inside its bounds, by the typical size of an unknown or half the distance between the bounds. */
static void move_inside(const bounds_shift *s, double size, double *x)
{
  for (int64_t i = 0; i < s->q->n; ++i) {
    if (!s->is_free[i]) continue;
    const double room = fmin(size / sqrt(s->q->diagonal[i]), 0.5 * (s->hi[i] - s->lo[i]));
    x[i]              = fmin(fmax(x[i], s->lo[i] + room), s->hi[i] - room);
  }
}

/* Gradient of f + barrier to s->rest, curvature of the barrier to s->shift. Returns |gradient|_D. */
static double evaluate_barrier(bounds_shift *s, double mu, const double *x)
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

static bool is_inside(const bounds_shift *s, const double *x, double alpha)
{
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double to = x[i] + alpha * s->step[i];
    if (s->is_free[i] && !(to > s->lo[i] && to < s->hi[i])) return false;
  }
  return true;
}

static double apply_limited_step(const bounds_shift *s, int64_t trials, double *x)
{
  double alpha = 1.0;
  for (int64_t k = 1; k < trials && !is_inside(s, x, alpha); ++k) alpha *= 0.5;
  for (int64_t i = 0; i < s->q->n; ++i) {
    if (!s->is_free[i]) continue;
    const double to = x[i] + alpha * s->step[i], low = s->lo[i] + INTERIOR_REDUCTION * (x[i] - s->lo[i]),
                 high = s->hi[i] - INTERIOR_REDUCTION * (s->hi[i] - x[i]);
    x[i]              = to < low ? low : to > high ? high : to;
  }
  return alpha;
}

static void interior_iterate(bounds_shift *s, const bounds_options *o, double *x, bounds_result *r)
{
  const int64_t max  = o->max_iterations > 0 ? o->max_iterations : BOUNDS_SHIFT_OUTER;
  const double  size = norm_of_b(s->q) / sqrt((double)s->q->n), smallest = 1e-30 * size * size;
  double        mu = size * size;
  move_inside(s, size, x);
  for (r->outer = 0;; ++r->outer) {
    bounds_gradient(s->q, x, s->g, r);
    const double norm = bounds_shift_project(s, x, s->g, r);
    if (norm <= r->target || !isfinite(norm)) break;
    if (r->outer >= max) {
      r->status = BOUNDS_ITERATIONS;
      break;
    }
    const double           slope = evaluate_barrier(s, mu, x);
    const bounds_cg_status v     = bounds_shift_solve(s, INTERIOR_INNER * fmin(slope, fmax(norm, r->target)), r);
    if (v != BOUNDS_CG_OK && v != BOUNDS_CG_ITERATIONS) {
      r->status = BOUNDS_UNBOUNDED;
      break;
    }
    mu = fmax(mu * (1.0 - (1.0 - INTERIOR_REDUCTION) * apply_limited_step(s, o->trials, x)), smallest);
  }
  memcpy(x, s->y, (size_t)s->q->n * sizeof *x);
}

PetscErrorCode bounds_solve_interior_point(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  bounds_shift s;
  PetscFunctionBegin;
  if (r->target == 0.0 && norm_of_b(q) == 0.0) PetscFunctionReturn(bounds_solve_mprgp(q, o, x, r)); /* no scale for an initial mu */
  const PetscErrorCode code = bounds_shift_create(q, o->preconditioner, &s);
  if (!code) interior_iterate(&s, o, x, r);
  bounds_shift_destroy(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Augmented Lagrangian of the bounds [NocedalWright2006, ch. 17]: L(x) = f(x) + sum over bounds of max(0, m - rho d c(x))^2/(2 rho d), c = x - lo
 * or hi - x. Newton steps minimise L; the multipliers are updated, m <- max(0, m - rho d c(x)), when |grad L| is below a tenth of their change. The
 * first of the step lengths 1, 1/2, 1/4, ... that lowers L is used, at most o->trials of them. A single trial does not prevent cycles; there the
 * step length is halved if the gradient has not decreased for three steps. */
static const double LAGRANGIAN_RHO = 10.0, LAGRANGIAN_INNER = 0.1, LAGRANGIAN_UPDATE = 0.1;

typedef struct {
  bounds_shift s;
  double      *low, *high; /* [n] multipliers >= 0 */
} lagrangian;

/* Gradient of L to s.rest, curvature of the penalties to s.shift. Returns |gradient|_D. */
static double evaluate_penalties(lagrangian *a, const double *x)
{
  bounds_shift *s   = &a->s;
  double        sum = 0.0;
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double rho = LAGRANGIAN_RHO * s->q->diagonal[i];
    const double l   = s->lo[i] > -INFINITY ? fmax(0.0, a->low[i] - rho * (x[i] - s->lo[i])) : 0.0;
    const double h   = s->hi[i] < INFINITY ? fmax(0.0, a->high[i] - rho * (s->hi[i] - x[i])) : 0.0;
    s->shift[i]      = s->is_free[i] ? rho * ((l > 0.0) + (h > 0.0)) : 0.0;
    s->rest[i]       = s->is_free[i] ? s->g[i] - l + h : 0.0;
    sum += s->rest[i] * s->rest[i] / s->q->diagonal[i];
  }
  return sqrt(sum);
}

/* L(x + alpha step) - f(x); f is evaluated from its slope and curvature along the step. */
static double evaluate_lagrangian(const lagrangian *a, const double *x, double alpha, double slope, double curvature)
{
  const bounds_shift *s   = &a->s;
  double              sum = alpha * slope + 0.5 * alpha * alpha * curvature;
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double rho = LAGRANGIAN_RHO * s->q->diagonal[i], to = x[i] + alpha * s->step[i];
    const double l = s->lo[i] > -INFINITY ? fmax(0.0, a->low[i] - rho * (to - s->lo[i])) : 0.0;
    const double h = s->hi[i] < INFINITY ? fmax(0.0, a->high[i] - rho * (s->hi[i] - to)) : 0.0;
    if (s->is_free[i]) sum += 0.5 * (l * l + h * h) / rho;
  }
  return sum;
}

static double choose_step_length(lagrangian *a, int64_t trials, const double *x, bounds_result *r)
{
  double alpha = 1.0;
  a->s.q->apply(a->s.q->context, a->s.step, a->s.rest);
  ++r->products;
  const double slope = team_dot(a->s.q->n, a->s.g, a->s.step), curvature = team_dot(a->s.q->n, a->s.step, a->s.rest);
  const double before = evaluate_lagrangian(a, x, 0.0, slope, curvature);
  for (int64_t k = 1; k < trials && evaluate_lagrangian(a, x, alpha, slope, curvature) >= before; ++k) alpha *= 0.5;
  return alpha;
}

/* Returns the change of the multipliers in |.|_D; applies it if is_real. */
static double update_multipliers(lagrangian *a, const double *x, bool is_real)
{
  const bounds_shift *s   = &a->s;
  double              sum = 0.0;
  for (int64_t i = 0; i < s->q->n; ++i) {
    const double rho = LAGRANGIAN_RHO * s->q->diagonal[i];
    const double l   = s->is_free[i] && s->lo[i] > -INFINITY ? fmax(0.0, a->low[i] - rho * (x[i] - s->lo[i])) : 0.0;
    const double h   = s->is_free[i] && s->hi[i] < INFINITY ? fmax(0.0, a->high[i] - rho * (s->hi[i] - x[i])) : 0.0;
    sum += ((l - a->low[i]) * (l - a->low[i]) + (h - a->high[i]) * (h - a->high[i])) / s->q->diagonal[i];
    if (is_real) a->low[i] = l, a->high[i] = h;
  }
  return sqrt(sum);
}

static void lagrangian_iterate(lagrangian *a, const bounds_options *o, double *x, bounds_result *r)
{
  bounds_shift *s      = &a->s;
  const int64_t max    = o->max_iterations > 0 ? o->max_iterations : BOUNDS_SHIFT_OUTER;
  double        lowest = INFINITY, length = 1.0;
  int           waited = 0;
  for (r->outer = 0;; ++r->outer) {
    bounds_gradient(s->q, x, s->g, r);
    const double norm = bounds_shift_project(s, x, s->g, r);
    if (norm <= r->target || !isfinite(norm)) break;
    if (r->outer >= max) {
      r->status = BOUNDS_ITERATIONS;
      break;
    }
    double slope = evaluate_penalties(a, x);
    if (slope <= LAGRANGIAN_UPDATE * update_multipliers(a, x, false)) {
      update_multipliers(a, x, true);
      slope  = evaluate_penalties(a, x);
      lowest = INFINITY, length = 1.0, waited = 0;
    }
    if (slope < 0.9 * lowest) waited = 0;
    else if (++waited == 3) length *= 0.5, waited = 0;
    lowest                   = fmin(lowest, slope);
    const bounds_cg_status v = bounds_shift_solve(s, LAGRANGIAN_INNER * fmin(slope, fmax(norm, r->target)), r);
    if (v != BOUNDS_CG_OK && v != BOUNDS_CG_ITERATIONS) {
      r->status = BOUNDS_UNBOUNDED;
      break;
    }
    const double alpha = o->trials > 1 ? choose_step_length(a, o->trials, x, r) : length;
    for (int64_t i = 0; i < s->q->n; ++i) x[i] += alpha * s->step[i];
  }
  memcpy(x, s->y, (size_t)s->q->n * sizeof *x);
}

PetscErrorCode bounds_solve_augmented_lagrangian(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  lagrangian a = {0};
  PetscFunctionBegin;
  PetscErrorCode code = bounds_shift_create(q, o->preconditioner, &a.s);
  if (!code) code = MEMORY_ALLOC("bounds comparison", ARRAY(a.low, q->n), ARRAY(a.high, q->n));
  if (!code) lagrangian_iterate(&a, o, x, r);
  bounds_shift_destroy(&a.s);
  MEMORY_FREE(&a.low, &a.high);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
