/* Implementation by recursion: the initial guess of each coarse problem comes from the next coarser one. */
#include "optim/bounds/bounds_nested.h"
#include "core/memory.h"
#include "optim/bounds/active_set.h"
#include "optim/bounds/bounds_levels.h"
#include <string.h>

enum { SMALLEST = 200, SWEEPS = 3 };
/* Sums of the finest coefficients are twice the coefficients of the same equation on a grid of twice the spacing. */
static const double STIFFNESS = 0.5, ROUGH = 1e-2, FAR = 1.0 / 3.0;

typedef struct {
  grid_matrix a;
  int32_t    *of; /* aggregate of each fine cell */
  double     *b, *lo, *hi, *x;
} coarse_qp;

static void coarse_free(coarse_qp *c)
{
  grid_matrix_destroy(&c->a);
  MEMORY_FREE(&c->of, &c->b, &c->lo, &c->hi, &c->x);
}

static PetscErrorCode coarsen(const grid_matrix *a, coarse_qp *c)
{
  const grid_cells fine  = {.n = (int32_t)a->n, .ijk = a->ijk, .neighbor = a->neighbor};
  grid_cells       cells = {0};
  PetscFunctionBegin;
  PetscCall(memory_alloc("aggregates of cells", a->n, sizeof *c->of, &c->of));
  PetscErrorCode code = grid_aggregate(&fine, c->of, &cells);
  if (!code) code = grid_matrix_allocate(cells.n, &c->a);
  if (!code) memcpy(c->a.ijk, cells.ijk, (size_t)cells.n * sizeof *cells.ijk);
  if (!code) memcpy(c->a.neighbor, cells.neighbor, (size_t)cells.n * sizeof *cells.neighbor);
  grid_cells_free(&cells);
  PetscCall(code);
  for (int64_t i = 0; i < a->n; ++i) {
    const int32_t me = c->of[i];
    c->a.diagonal[me] += STIFFNESS * a->diagonal[i];
    for (int k = 0; k < 6; ++k) {
      const int32_t j = a->neighbor[i][k];
      if (j < 0) continue;
      if (c->of[j] == me) c->a.diagonal[me] += STIFFNESS * a->off[i][k];
      else c->a.off[me][k] += STIFFNESS * a->off[i][k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand side: sum over the children. Bounds: the tightest of the children, or their mean where these cross. Initial guess:
 * the feasible value nearest to 0. */
static PetscErrorCode fill_coarse_program(const bounds_qp *q, const double *b, coarse_qp *c)
{
  const int64_t  n         = c->a.n;
  double **const vectors[] = {&c->b, &c->lo, &c->hi, &c->x};
  PetscFunctionBegin;
  for (int k = 0; k < 4; ++k) PetscCall(memory_alloc("coarse program", n, sizeof(double), vectors[k]));
  for (int64_t i = 0; i < n; ++i) c->lo[i] = -INFINITY, c->hi[i] = INFINITY;
  for (int64_t i = 0; i < q->grid->n; ++i) {
    const int32_t to = c->of[i];
    c->b[to] += b[i];
    if (q->lo) c->lo[to] = fmax(c->lo[to], q->lo[i]);
    if (q->hi) c->hi[to] = fmin(c->hi[to], q->hi[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    if (c->lo[i] > c->hi[i]) c->lo[i] = c->hi[i] = 0.5 * (c->lo[i] + c->hi[i]);
    c->x[i] = bounds_clamp(0.0, c->lo[i], c->hi[i]);
    if (!(c->a.diagonal[i] > 0.0)) c->a.diagonal[i] = 1.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_coarse_program(const bounds_qp *q, const bounds_options *o, const double *b, double *x, bounds_result *r)
{
  grid_matrix *a = q->grid;
  coarse_qp    c = {0};
  PetscFunctionBegin;
  PetscCall(bounds_levels_require(a));
  PetscErrorCode code = coarsen(a, &c);
  if (!code && c.a.n <= a->n - a->n / 8) {
    bounds_options own    = *o;
    bounds_result  inside = {0};
    own.tolerance = ROUGH, own.absolute = 0.0, own.max_iterations = 0;
    code               = fill_coarse_program(q, b, &c);
    const bounds_qp qc = {
        .n = c.a.n, .apply = grid_matrix_apply, .context = &c.a, .diagonal = c.a.diagonal, .b = c.b, .lo = c.lo, .hi = c.hi, .grid = &c.a};
    if (!code) code = bounds_solve_with(bounds_nested_start, bounds_solve_active_set, false, &qc, &own, c.x, &inside);
    r->coarse_products += inside.products + inside.coarse_products;
    if (!code && (inside.status == BOUNDS_OK || inside.status == BOUNDS_STALLED)) {
      for (int64_t i = 0; i < a->n; ++i) x[i] = bounds_clamp(c.x[c.of[i]], q->lo ? q->lo[i] : -INFINITY, q->hi ? q->hi[i] : INFINITY);
      code = bounds_levels_project(a->levels, a->n, b, q->lo, q->hi, SWEEPS, x);
    }
  }
  coarse_free(&c);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_far_from_solution(const bounds_qp *q, const double *x, const double *g, bounds_partial_sums *part)
{
  const int64_t n = q->n;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    double far = 0.0, size = 0.0;
    for (int64_t i = first; i < last; ++i) {
      const double gap = x[i] - bounds_clamp(x[i] - g[i] / q->diagonal[i], q->lo ? q->lo[i] : -INFINITY, q->hi ? q->hi[i] : INFINITY);
      far += q->diagonal[i] * gap * gap;
      size += q->b[i] * q->b[i] / q->diagonal[i];
    }
    part[c][0] = far, part[c][1] = size;
  }
  return sqrt(bounds_sum(part, bounds_chunks(n), 0)) > FAR * sqrt(bounds_sum(part, bounds_chunks(n), 1));
}

PetscErrorCode bounds_nested_start(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  double              *g = NULL, *b = NULL;
  bounds_partial_sums *part = NULL;
  PetscFunctionBegin;
  if (!q->grid || q->grid->n < SMALLEST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = MEMORY_ALLOC("bounds nested", ARRAY(g, q->n), ARRAY(part, bounds_chunks(q->n)), ARRAY(b, q->grid->n));
  if (!code) {
    bounds_gradient(q, x, g, r);
    if (is_far_from_solution(q, x, g, part)) { /* A_grid x - (A x - b) */
      grid_matrix_apply(q->grid, x, b);
      for (int64_t i = 0; i < q->grid->n; ++i) b[i] -= g[i];
      code = solve_coarse_program(q, o, b, x, r);
    }
  }
  MEMORY_FREE(&g, &b, &part);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
