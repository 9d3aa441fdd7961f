#include "optim/bounds/bounds_cg.h"
#include "core/memory.h"
#include <string.h>

PetscErrorCode bounds_cg_space_create(int64_t n, bounds_cg_space *out)
{
  double **const vectors[] = {&out->p, &out->Ap, &out->z, &out->phi};
  PetscFunctionBegin;
  *out = (bounds_cg_space){.n = n, .n_chunks = bounds_chunks(n)};
  PetscErrorCode code = memory_alloc("partial sums of conjugate gradients", out->n_chunks, sizeof *out->part, &out->part);
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors && !code; ++k)
    code = memory_alloc("vector of conjugate gradients", n, sizeof(double), vectors[k]);
  if (code) bounds_cg_space_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void bounds_cg_space_destroy(bounds_cg_space *s)
{
  memory_free(&s->p), memory_free(&s->Ap), memory_free(&s->z), memory_free(&s->phi), memory_free(&s->part);
}

/* phi = g on the free unknowns, 0 elsewhere. Returns its norm in the inverse diagonal. */
static double free_gradient(const bounds_qp *q, const uint8_t *restrict is_free, const double *restrict g, bounds_cg_space *s)
{
  const int64_t n          = s->n;
  const double *restrict d = q->diagonal;
  double *restrict phi     = s->phi;
  BOUNDS_CHUNKS(n) {
    BOUNDS_RANGE(n);
    double sum = 0.0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = first; i < last; ++i) {
      phi[i] = is_free[i] ? g[i] : 0.0;
      sum += phi[i] * phi[i] / d[i];
    }
    s->part[c][0] = sum;
  }
  return sqrt(bounds_sum(s->part, s->n_chunks, 0));
}

/* *uw = u . w and *pAp = p . Ap, in one pass. */
static void compute_dot_products(bounds_cg_space *s, const double *restrict u, const double *restrict w, double *uw, double *pAp)
{
  const int64_t n = s->n;
  const double *restrict p = s->p, *restrict Ap = s->Ap;
  BOUNDS_CHUNKS(n) {
    BOUNDS_RANGE(n);
    double a = 0.0, b = 0.0;
    #pragma omp simd reduction(+ : a, b)
    for (int64_t i = first; i < last; ++i) a += u[i] * w[i], b += p[i] * Ap[i];
    s->part[c][0] = a, s->part[c][1] = b;
  }
  *uw  = bounds_sum(s->part, s->n_chunks, 0);
  *pAp = bounds_sum(s->part, s->n_chunks, 1);
}

static void apply_step(bounds_cg_space *s, double step, double *restrict x, double *restrict g)
{
  const int64_t n = s->n;
  const double *restrict p = s->p, *restrict Ap = s->Ap;
  BOUNDS_CHUNKS(n) {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) {
      x[i] -= step * p[i];
      g[i] -= step * Ap[i];
    }
  }
}

bounds_cg_status bounds_cg(const bounds_qp *q, bounds_face *face, const uint8_t *is_free, double target, int64_t max, double *x, double *g,
                      bounds_cg_space *s, bounds_result *r)
{
  const int64_t n = s->n;
  for (int64_t k = 0;; ++k) {
    const double norm = free_gradient(q, is_free, g, s);
    if (!isfinite(norm)) return BOUNDS_CG_NOT_FINITE;
    if (norm <= target) return BOUNDS_CG_OK;
    if (k >= max) return BOUNDS_CG_ITERATIONS;
    double zAp, pg, pAp;
    bounds_face_apply(face, s->phi, s->z);
    if (k == 0) memcpy(s->p, s->z, (size_t)n * sizeof *s->p);
    else {
      compute_dot_products(s, s->z, s->Ap, &zAp, &pAp);
      const double beta = zAp / pAp;
      double *restrict p = s->p;
      const double *restrict z = s->z;
      BOUNDS_CHUNKS(n) {
        BOUNDS_RANGE(n);
        for (int64_t i = first; i < last; ++i) p[i] = z[i] - beta * p[i];
      }
    }
    q->apply(q->context, s->p, s->Ap);
    ++r->products, ++r->iterations;
    compute_dot_products(s, s->p, s->phi, &pg, &pAp);
    if (!(pAp > 0.0)) return isfinite(pAp) ? BOUNDS_CG_NO_CURVATURE : BOUNDS_CG_NOT_FINITE;
    apply_step(s, pg / pAp, x, g);
  }
}

/* Conjugate gradients without bounds. They give tensile contact pressures where bodies separate, and serve as reference for the
 * cost of the other solvers. */
enum { ITERATIONS = 5000 };

PetscErrorCode bounds_solve_cg(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  const bounds_qp free_qp = {.n = q->n, .apply = q->apply, .context = q->context, .diagonal = q->diagonal, .b = q->b, .grid = q->grid};
  bounds_cg_space s       = {0};
  bounds_face    *face    = NULL;
  uint8_t     *is_free = NULL;
  double      *g       = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = bounds_cg_space_create(q->n, &s);
  if (!code) code = memory_alloc("free set", q->n, 1, &is_free);
  if (!code) code = memory_alloc("gradient", q->n, sizeof *g, &g);
  if (!code) code = bounds_face_create(&free_qp, o->preconditioner, &face);
  if (!code) {
    memset(is_free, 1, (size_t)q->n);
    bounds_face_update(face, is_free);
    bounds_gradient(q, x, g, r);
    switch (bounds_cg(q, face, is_free, r->target, o->max_iterations > 0 ? o->max_iterations : ITERATIONS, x, g, &s, r)) {
    case BOUNDS_CG_OK: break;
    case BOUNDS_CG_ITERATIONS: r->verdict = BOUNDS_ITERATIONS; break;
    case BOUNDS_CG_NO_CURVATURE: r->verdict = BOUNDS_UNBOUNDED; break;
    case BOUNDS_CG_NOT_FINITE: r->verdict = BOUNDS_NOT_FINITE; break;
    }
  }
  bounds_face_destroy(&face);
  bounds_cg_space_destroy(&s);
  memory_free(&is_free), memory_free(&g);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
