/* Implementation. Each conjugate gradient solve starts from the projected solution of the previous solve. */
#include "optim/bounds/active_set.h"
#include "core/memory.h"
#include "optim/bounds/bounds_cg.h"
#include "optim/bounds/mprgp.h"
#include <string.h>

enum { PATIENCE = 10, ITERATIONS = 5000 };
static const double INNER = 0.1, MARGIN = 0.5; /* relative tolerance of each conjugate gradient solve; its lower limit as a
                                                * share of the target */

typedef struct {
  const bounds_qp     *q;
  int64_t              n, n_chunks;
  double              *x, *g, *best;
  uint8_t             *is_free;
  bounds_partial_sums *part;
  bounds_face         *face;
  bounds_cg_space      space;
} active_set;

static void active_set_free(active_set *a)
{
  MEMORY_FREE(&a->g, &a->best, &a->is_free, &a->part);
  bounds_face_destroy(&a->face);
  bounds_cg_space_destroy(&a->space);
}

static PetscErrorCode active_set_create(active_set *a, const bounds_options *o)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("active set", ARRAY(a->g, a->n), ARRAY(a->best, a->n), ARRAY(a->is_free, a->n), ARRAY(a->part, a->n_chunks)));
  PetscCall(bounds_face_create(a->q, o->preconditioner, &a->face));
  PetscCall(bounds_cg_space_create(a->n, &a->space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Active set at a feasible x with gradient g: unknowns at a bound whose multiplier is above a negligible value. Without this
 * threshold, a start on bounds where the right-hand side is zero or rounding in most cells (the inside of a liquid) would free
 * one layer of cells per iteration. Returns |nu|_D. */
static double choose_sets(active_set *a, double target)
{
  const double  slight      = 1e-6 * target * target / (double)a->n;
  const int64_t n           = a->n;
  const double *restrict lo = a->q->lo, *restrict hi = a->q->hi, *restrict d = a->q->diagonal, *restrict g = a->g, *restrict x = a->x;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    double sum = 0.0;
    for (int64_t i = first; i < last; ++i) {
      const double force = g[i] * fabs(g[i]) / d[i];
      const bool   at_lo = lo && x[i] <= lo[i], at_hi = hi && x[i] >= hi[i],
                 is_held = (at_lo && (at_hi || force > slight)) || (at_hi && force < -slight);
      a->is_free[i]      = !is_held;
      if (!is_held) sum += g[i] * g[i] / d[i];
    }
    a->part[c][0] = sum;
  }
  return sqrt(bounds_sum(a->part, a->n_chunks, 0));
}

/* Project x onto the bounds; true if an unknown was outside. */
static bool project_onto_bounds(active_set *a)
{
  const int64_t n           = a->n;
  const double *restrict lo = a->q->lo, *restrict hi = a->q->hi;
  double *restrict x = a->x;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    double moved = 0.0;
    for (int64_t i = first; i < last; ++i) {
      const double to = bounds_clamp(x[i], lo ? lo[i] : -INFINITY, hi ? hi[i] : INFINITY);
      moved += to != x[i];
      x[i] = to;
    }
    a->part[c][0] = moved;
  }
  return bounds_sum(a->part, a->n_chunks, 0) > 0.0;
}

/* *is_done: true if converged or at the iteration limit; false if mprgp must continue from the best iterate. */
static PetscErrorCode run_active_set_iterations(active_set *a, const bounds_options *o, bounds_result *r, bool *is_done)
{
  const int64_t max = o->max_iterations > 0 ? o->max_iterations : ITERATIONS;
  double  best      = INFINITY, last[PATIENCE]; /* the first residual is ignored: it is not representative for an initial guess on bounds */
  int64_t n_steps   = 0;
  bounds_cg_status v;
  PetscFunctionBegin;
  bounds_gradient(a->q, a->x, a->g, r);
  for (;;) {
    const double residual = choose_sets(a, r->target);
    if (!isfinite(residual)) break;
    if (residual < best) {
      best = residual;
      memcpy(a->best, a->x, (size_t)a->n * sizeof *a->x);
    }
    if (residual <= r->target || r->iterations >= max) break;
    if (n_steps > PATIENCE && residual >= last[n_steps % PATIENCE]) break;
    last[n_steps++ % PATIENCE] = residual;
    ++r->outer;
    bounds_face_update(a->face, a->is_free);
    PetscCall(bounds_cg_solve(a->q, a->face, a->is_free, fmax(INNER * residual, MARGIN * r->target), max - r->iterations, a->x, a->g,
                              &a->space, r, &v));
    if (project_onto_bounds(a)) bounds_gradient(a->q, a->x, a->g, r);
    if (v == BOUNDS_CG_NOT_FINITE || v == BOUNDS_CG_NO_CURVATURE) break;
  }
  memcpy(a->x, a->best, (size_t)a->n * sizeof *a->x);
  if (best > r->target && r->iterations >= max) r->status = BOUNDS_ITERATIONS;
  *is_done = best <= r->target || r->iterations >= max;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bounds_solve_active_set(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  active_set a       = {.q = q, .n = q->n, .n_chunks = bounds_chunks(q->n), .x = x};
  bool       is_done = false;
  PetscFunctionBegin;
  PetscErrorCode code = active_set_create(&a, o);
  if (!code) code = run_active_set_iterations(&a, o, r, &is_done);
  active_set_free(&a);
  if (!code && !is_done) code = bounds_solve_mprgp(q, o, x, r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
