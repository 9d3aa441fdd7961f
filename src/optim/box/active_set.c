/* Primal-dual active sets, which is Newton's method on the natural map [HintermuellerEtAl2002]: what x - D^-1 g puts beyond a bound is set to it, the rest is solved
 * for by conjugate gradients to a tenth of the residual, and again. Between the steps x leaves the box. Nothing makes it converge for every A; where
 * the residual is what it was ten steps ago or more, mprgp goes on from the best point found. */
#include "core/memory.h"
#include "optim/box/box_cg.h"
#include <string.h>

enum { PATIENCE = 10, ITERATIONS = 5000 };
static const double INNER = 0.1, MARGIN = 0.5; /* what conjugate gradients leave, of the residual, and of the target at the end */

typedef struct {
  const box_qp *q;
  int64_t       n, n_chunks;
  double       *x, *g, *best;
  uint8_t      *is_free;
  box_part     *part;
  box_face     *face;
  box_cg_space  space;
} active_set;

static void active_set_free(active_set *a)
{
  memory_free(&a->g), memory_free(&a->best), memory_free(&a->is_free), memory_free(&a->part);
  box_face_destroy(&a->face);
  box_cg_space_destroy(&a->space);
}

static PetscErrorCode active_set_create(active_set *a, const box_options *o)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("gradient of active sets", a->n, sizeof *a->g, &a->g));
  PetscCall(memory_alloc("best point of active sets", a->n, sizeof *a->best, &a->best));
  PetscCall(memory_alloc("free set", a->n, 1, &a->is_free));
  PetscCall(memory_alloc("partial sums of active sets", a->n_chunks, sizeof *a->part, &a->part));
  PetscCall(box_face_create(a->q, o->preconditioner, &a->face));
  PetscCall(box_cg_space_create(a->n, &a->space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The natural residual |x - P(x - D^-1 g)| in the norm of D, and the sets that it makes: unknowns beyond a bound go there. *is_moved: x changed. */
static double choose_sets(active_set *a, bool *is_moved)
{
  const int64_t n = a->n;
  const double *restrict lo = a->q->lo, *restrict hi = a->q->hi, *restrict d = a->q->diagonal, *restrict g = a->g;
  double *restrict x = a->x;
  BOX_CHUNKS(n) {
    BOX_RANGE(n);
    double sum = 0.0, moved = 0.0;
    for (int64_t i = first; i < last; ++i) {
      const double to = x[i] - g[i] / d[i], low = lo ? lo[i] : -INFINITY, high = hi ? hi[i] : INFINITY;
      const double at = to <= low ? low : to >= high ? high : to, gap = x[i] - at;
      sum += d[i] * gap * gap;
      a->is_free[i] = to > low && to < high;
      if (a->is_free[i]) continue;
      moved += x[i] != at;
      x[i] = at;
    }
    a->part[c][0] = sum, a->part[c][1] = moved;
  }
  *is_moved = box_add(a->part, a->n_chunks, 1) > 0.0;
  return sqrt(box_add(a->part, a->n_chunks, 0));
}

static void clip(const box_qp *q, double *x)
{
  for (int64_t i = 0; i < q->n; ++i) x[i] = box_clip(x[i], q->lo ? q->lo[i] : -INFINITY, q->hi ? q->hi[i] : INFINITY);
}

/* True: done, or at its limit; false: mprgp must go on. */
static bool iterate(active_set *a, const box_options *o, box_result *r)
{
  const int64_t max  = o->max_iterations > 0 ? o->max_iterations : ITERATIONS;
  double        best = INFINITY;
  int64_t       n_steps = 0;
  double        last[PATIENCE]; /* residuals of the last steps; the first, of a start on bounds, says little */
  box_gradient(a->q, a->x, a->g, r);
  for (;;) {
    bool is_moved;
    memcpy(a->space.phi, a->x, (size_t)a->n * sizeof *a->x); /* before unknowns go to their bounds */
    const double residual = choose_sets(a, &is_moved);
    if (!isfinite(residual)) break;
    if (residual < best) {
      best = residual;
      memcpy(a->best, a->space.phi, (size_t)a->n * sizeof *a->x);
    }
    if (residual <= MARGIN * r->target || r->iterations >= max) break;
    if (n_steps > PATIENCE && residual >= last[n_steps % PATIENCE]) break;
    last[n_steps++ % PATIENCE] = residual;
    ++r->outer;
    if (is_moved) box_gradient(a->q, a->x, a->g, r);
    box_face_update(a->face, a->is_free);
    const double goal = fmax(INNER * residual, 0.5 * MARGIN * r->target);
    const box_cg_verdict v = box_cg(a->q, a->face, a->is_free, goal, max - r->iterations, a->x, a->g, &a->space, r);
    if (v == BOX_CG_NOT_FINITE || v == BOX_CG_NO_CURVATURE) break;
  }
  memcpy(a->x, a->best, (size_t)a->n * sizeof *a->x);
  clip(a->q, a->x);
  if (best > MARGIN * r->target && r->iterations >= max) r->verdict = BOX_ITERATIONS;
  return best <= MARGIN * r->target || r->iterations >= max;
}

PetscErrorCode box_solve_active_set(const box_qp *q, const box_options *o, double *x, box_result *r)
{
  active_set a       = {.q = q, .n = q->n, .n_chunks = team_chunks(q->n), .x = x};
  bool       is_done = false;
  PetscFunctionBegin;
  PetscErrorCode code = active_set_create(&a, o);
  if (!code) is_done = iterate(&a, o, r);
  active_set_free(&a);
  if (!code && !is_done) code = box_solve_mprgp(q, o, x, r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
