/* Alternating directions for f(x) + indicator(z), x = z [BoydEtAl2011, secs. 3.1, 3.4.1]: x <- minimum of f + rho/2 |x - z + w|_D^2
 * by conjugate gradients, z <- P(x + w), w <- w + x - z; rho doubled or halved, ever more seldom, where one of the residuals is ten
 * times the other. */
#include "core/memory.h"
#include "optim/bounds/bounds_shift.h"
#include <string.h>

static const double RHO = 0.1, INNER = 0.1;

typedef struct {
  box_shift s;
  double   *w, *z; /* [n] scaled multiplier; point in the box */
  double    rho;
} admm;

/* x's step from the gradient s.g at x, then z and w. Primal and dual residual, in |.|_D. */
static bool alternate(admm *a, double *x, double target, double *primal, double *dual, box_result *r)
{
  const int64_t n = a->s.q->n;
  const double *d = a->s.q->diagonal;
  for (int64_t i = 0; i < n; ++i) {
    a->s.shift[i] = a->rho * d[i];
    a->s.rest[i]  = a->s.g[i] + a->rho * d[i] * (x[i] - a->z[i] + a->w[i]);
  }
  const box_cg_verdict v = box_shift_solve(&a->s, target, r);
  if (v != BOX_CG_OK && v != BOX_CG_ITERATIONS) return false;
  *primal = *dual = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double before = a->z[i];
    x[i] += a->s.step[i];
    a->z[i] = box_clip(x[i] + a->w[i], a->s.lo[i], a->s.hi[i]);
    a->w[i] += x[i] - a->z[i];
    *primal += d[i] * (x[i] - a->z[i]) * (x[i] - a->z[i]);
    *dual += a->rho * a->rho * d[i] * (a->z[i] - before) * (a->z[i] - before);
  }
  *primal = sqrt(*primal), *dual = sqrt(*dual);
  return true;
}

static void balance(admm *a, double primal, double dual)
{
  const double factor = primal > 10.0 * dual ? 2.0 : dual > 10.0 * primal ? 0.5 : 1.0;
  a->rho *= factor;
  for (int64_t i = 0; i < a->s.q->n && factor != 1.0; ++i) a->w[i] /= factor;
}

static void iterate(admm *a, const box_options *o, double *x, box_result *r)
{
  const int64_t max  = o->max_iterations > 0 ? o->max_iterations : BOX_SHIFT_OUTER, n = a->s.q->n;
  double        norm = INFINITY, primal, dual;
  int64_t       next = 5;
  memcpy(a->z, x, (size_t)n * sizeof *x);
  for (r->outer = 0;; ++r->outer) {
    box_gradient(a->s.q, x, a->s.g, r);
    norm = box_shift_answer(&a->s, x, a->s.g, r);
    if (norm <= r->target || !isfinite(norm)) break;
    if (r->outer >= max) { r->verdict = BOX_ITERATIONS; break; }
    if (!alternate(a, x, fmax(INNER * norm, INNER * r->target), &primal, &dual, r)) { r->verdict = BOX_UNBOUNDED; break; }
    if (r->outer == next) balance(a, primal, dual), next += next / 4 + 5;
  }
  memcpy(x, a->s.y, (size_t)n * sizeof *x);
}

PetscErrorCode box_solve_admm(const box_qp *q, const box_options *o, double *x, box_result *r)
{
  admm a = {.rho = RHO};
  PetscFunctionBegin;
  PetscErrorCode code = box_shift_create(q, o->preconditioner, &a.s);
  if (!code) code = memory_alloc("multiplier of a box", q->n, sizeof *a.w, &a.w);
  if (!code) code = memory_alloc("point in a box", q->n, sizeof *a.z, &a.z);
  if (!code) iterate(&a, o, x, r);
  box_shift_destroy(&a.s);
  memory_free(&a.w), memory_free(&a.z);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
