/* Residual and driver. The driver repeats a solver if the recomputed residual exceeds the target, e.g. by accumulated rounding errors. */
#include "optim/bounds/bounds_problem.h"
#include "core/memory.h"
#include <inttypes.h>

enum { ROUNDS = 3 };

const char *bounds_status_text(bounds_status v)
{
  switch (v) {
#define X(name, text)                                                                                                                      \
  case name: return text;
    BOUNDS_STATUS_TABLE(X)
#undef X
  }
  return "unknown";
}

/* NULL if unknown i is valid input, else the rule that it breaks. */
static const char *find_input_error(const bounds_qp *q, const double *x, int64_t i)
{
  const double lo = q->lo ? q->lo[i] : -INFINITY, hi = q->hi ? q->hi[i] : INFINITY;
  if (!(q->diagonal[i] > 0.0 && isfinite(q->diagonal[i]))) return "its diagonal must be a finite number above 0";
  if (!isfinite(q->b[i])) return "its right-hand side is not finite";
  if (!isfinite(x[i])) return "the value it starts from is not finite";
  if (!(lo <= hi) || lo == INFINITY || hi == -INFINITY) return "its bounds leave no room";
  return NULL;
}

double bounds_residual(const bounds_qp *q, const double *x, double *scratch, int64_t *n_bound)
{
  double  sum   = 0.0;
  int64_t count = 0;
  q->apply(q->context, x, scratch);
  for (int64_t c = 0; c < bounds_chunks(q->n); ++c) {
    BOUNDS_RANGE(q->n);
    double part = 0.0;
    for (int64_t i = first; i < last; ++i) {
      const bool   at_lo = q->lo && x[i] <= q->lo[i], at_hi = q->hi && x[i] >= q->hi[i];
      const double g = scratch[i] - q->b[i], up = g > 0.0 ? g : 0.0, down = g < 0.0 ? g : 0.0,
                   nu = at_lo && at_hi ? 0.0
                        : at_lo        ? down
                        : at_hi        ? up
                                       : g;
      scratch[i]      = g;
      count += at_lo || at_hi;
      part += isnan(g) ? NAN : nu * nu / q->diagonal[i];
    }
    sum += part;
  }
  if (n_bound) *n_bound = count;
  return sqrt(sum);
}

/* Move x into the bounds and return |b| in the norm of the inverse diagonal. *bad: the first invalid unknown, or n. x is
 * unchanged if one is invalid. */
static double project_start_and_norm_b(const bounds_qp *q, double *restrict x, bounds_partial_sums *part, int64_t *bad)
{
  const int64_t n = q->n, n_chunks = bounds_chunks(n);
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    double  sum   = 0.0;
    int64_t wrong = n;
    for (int64_t i = last - 1; i >= first; --i) {
      if (find_input_error(q, x, i)) wrong = i;
      sum += q->b[i] * q->b[i] / q->diagonal[i];
    }
    for (int64_t i = first; i < last && wrong == n; ++i)
      x[i] = bounds_clamp(x[i], q->lo ? q->lo[i] : -INFINITY, q->hi ? q->hi[i] : INFINITY);
    part[c][0] = sum, part[c][1] = (double)wrong;
  }
  *bad = n;
  for (int64_t c = n_chunks - 1; c >= 0; --c)
    if (part[c][1] < (double)n) *bad = (int64_t)part[c][1];
  return sqrt(bounds_sum(part, n_chunks, 0));
}

void bounds_gradient(const bounds_qp *q, const double *restrict x, double *restrict g, bounds_result *r)
{
  const int64_t n          = q->n;
  const double *restrict b = q->b;
  q->apply(q->context, x, g);
  ++r->products;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) g[i] -= b[i];
  }
}

PetscErrorCode bounds_solve_with(bounds_solve_function start, bounds_solve_function solver, bool is_unbounded, const bounds_qp *q,
                                 const bounds_options *o, double *x, bounds_result *r)
{
  const bounds_qp      unbounded = {.n = q->n, .apply = q->apply, .context = q->context, .diagonal = q->diagonal, .b = q->b};
  double              *scratch   = NULL;
  bounds_partial_sums *part      = NULL;
  int64_t              bad;
  PetscFunctionBegin;
  PetscCall(memory_alloc("partial sums of a quadratic program", bounds_chunks(q->n), sizeof *part, &part));
  const double size = project_start_and_norm_b(q, x, part, &bad);
  memory_free(&part);
  *r = (bounds_result){.alpha_bar = r->alpha_bar, .target = fmax(o->tolerance * size, o->absolute)};
  PetscCheck(bad == q->n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "unknown %" PRId64 " of a quadratic program: %s", bad,
             find_input_error(q, x, bad));
  if (q->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("gradient of a quadratic program", q->n, sizeof *scratch, &scratch));
  PetscErrorCode code = start ? (*start)(q, o, x, r) : PETSC_SUCCESS;
  for (int round = 0; round < ROUNDS && !code; ++round) { /* the residual that the solver updated recursively may have drifted
                                                           * from the true one */
    code = (*solver)(q, o, x, r);
    if (code) break;
    r->residual = bounds_residual(is_unbounded ? &unbounded : q, x, scratch, &r->n_bound);
    ++r->products;
    if (r->status != BOUNDS_OK || !(r->residual > r->target)) break;
  }
  if (!isfinite(r->residual)) r->status = BOUNDS_NOT_FINITE;
  else if (r->residual <= r->target) r->status = BOUNDS_OK;
  else if (r->status == BOUNDS_OK) r->status = BOUNDS_STALLED;
  memory_free(&scratch);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
