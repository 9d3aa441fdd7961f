#include "optim/bounds/bounds_cg.h"
#include "core/memory.h"
#include "optim/linear/petsc_private.h"
#include <string.h>

PetscErrorCode bounds_cg_space_create(int64_t n, bounds_cg_space *out)
{
  double **const vectors[] = {&out->p, &out->Ap, &out->z, &out->phi, &out->weight, &out->step};
  PetscFunctionBegin;
  *out                = (bounds_cg_space){.n = n, .n_chunks = bounds_chunks(n)};
  PetscErrorCode code = memory_alloc("partial sums of conjugate gradients", out->n_chunks, sizeof *out->part, &out->part);
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors && !code; ++k)
    code = memory_alloc("vector of conjugate gradients", n, sizeof(double), vectors[k]);
  if (code) bounds_cg_space_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void bounds_cg_space_destroy(bounds_cg_space *s) { MEMORY_FREE(&s->p, &s->Ap, &s->z, &s->phi, &s->part, &s->weight, &s->step); }

/* phi = g on the free unknowns, 0 elsewhere. Returns its norm in the inverse diagonal. */
static double free_gradient(const bounds_qp *q, const uint8_t *restrict is_free, const double *restrict g, bounds_cg_space *s)
{
  const int64_t n          = s->n;
  const double *restrict d = q->diagonal;
  double *restrict phi     = s->phi;
  BOUNDS_CHUNKS(n)
  {
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
  const int64_t n          = s->n;
  const double *restrict p = s->p, *restrict Ap = s->Ap;
  BOUNDS_CHUNKS(n)
  {
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
  const int64_t n          = s->n;
  const double *restrict p = s->p, *restrict Ap = s->Ap;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first; i < last; ++i) {
      x[i] -= step * p[i];
      g[i] -= step * Ap[i];
    }
  }
}

/* One solve. */
typedef struct {
  const bounds_qp *q;
  bounds_face     *face;
  const uint8_t   *is_free;
  double          *x, *g;
  bounds_cg_space *s;
  bounds_result   *r;
} face_system;

/* One iteration from s->phi, the free gradient. */
static bounds_cg_status take_step(const face_system *f, int64_t k)
{
  bounds_cg_space *s = f->s;
  double           zAp, pg, pAp;
  bounds_face_apply(f->face, s->phi, s->z);
  if (k == 0) memcpy(s->p, s->z, (size_t)s->n * sizeof *s->p);
  else {
    compute_dot_products(s, s->z, s->Ap, &zAp, &pAp);
    const double beta        = zAp / pAp;
    double *restrict p       = s->p;
    const double *restrict z = s->z;
    const int64_t n          = s->n;
    BOUNDS_CHUNKS(n)
    {
      BOUNDS_RANGE(n);
      for (int64_t i = first; i < last; ++i) p[i] = z[i] - beta * p[i];
    }
  }
  f->q->apply(f->q->context, s->p, s->Ap);
  ++f->r->products, ++f->r->iterations;
  compute_dot_products(s, s->p, s->phi, &pg, &pAp);
  if (!(pAp > 0.0)) return isfinite(pAp) ? BOUNDS_CG_NO_CURVATURE : BOUNDS_CG_NOT_FINITE;
  apply_step(s, pg / pAp, f->x, f->g);
  return BOUNDS_CG_OK;
}

bounds_cg_status bounds_cg(const bounds_qp *q, bounds_face *face, const uint8_t *is_free, double target, int64_t max, double *x, double *g,
                           bounds_cg_space *s, bounds_result *r)
{
  const face_system f = {q, face, is_free, x, g, s, r};
  for (int64_t k = 0;; ++k) {
    const double norm = free_gradient(q, is_free, g, s);
    if (!isfinite(norm)) return BOUNDS_CG_NOT_FINITE;
    if (norm <= target) return BOUNDS_CG_OK;
    if (k >= max) return BOUNDS_CG_ITERATIONS;
    const bounds_cg_status status = take_step(&f, k);
    if (status != BOUNDS_CG_OK) return status;
  }
}

/* ---- the KSP type "facecg": conjugate gradients as above. It updates x and g of the face_system; the vectors of the KSP
 * are not used ---- */

static PetscErrorCode KSPSetUp_FaceCG(KSP ksp) { return linear_solver_require_pc(ksp, PCFACE); }

static PetscErrorCode KSPSolve_FaceCG(KSP ksp)
{
  Mat                A;
  const face_system *f;
  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(linear_solver_context(A, &f));
  for (ksp->its = 0;; ++ksp->its) {
    ksp->rnorm = free_gradient(f->q, f->is_free, f->g, f->s);
    PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, ksp->rnorm));
    PetscCall((*ksp->converged)(ksp, ksp->its, ksp->rnorm, &ksp->reason, ksp->cnvP));
    if (!ksp->reason && ksp->its >= ksp->max_it) ksp->reason = KSP_DIVERGED_ITS;
    if (ksp->reason) break;
    const bounds_cg_status status = take_step(f, ksp->its);
    if (status != BOUNDS_CG_OK) {
      ksp->reason = status == BOUNDS_CG_NO_CURVATURE ? KSP_DIVERGED_INDEFINITE_MAT : KSP_DIVERGED_NANORINF;
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_FaceCG(KSP ksp) { return linear_solver_set_ksp(ksp, KSPSetUp_FaceCG, KSPSolve_FaceCG); }

PetscErrorCode bounds_cg_register(void) { return KSPRegister(KSPFACECG, KSPCreate_FaceCG); }

/* y = A x on free unknowns, y = x on the others, where right-hand sides are 0. */
static PetscErrorCode multiply_free(void *context, const double *x, double *y)
{
  const face_system *f = context;
  for (int64_t i = 0; i < f->s->n; ++i) f->s->p[i] = f->is_free[i] ? x[i] : 0.0;
  f->q->apply(f->q->context, f->s->p, y);
  ++f->r->products;
  for (int64_t i = 0; i < f->s->n; ++i) y[i] = f->is_free[i] ? y[i] : x[i];
  return PETSC_SUCCESS;
}

static PetscErrorCode apply_face(void *context, const double *r, double *z)
{
  const face_system *f = context;
  for (int64_t i = 0; i < f->s->n; ++i) f->s->z[i] = f->is_free[i] ? r[i] : 0.0;
  bounds_face_apply(f->face, f->s->z, z);
  for (int64_t i = 0; i < f->s->n; ++i) z[i] = f->is_free[i] ? z[i] : r[i];
  return PETSC_SUCCESS;
}

/* x += the correction d of another KSP type; g follows. */
static void add_correction(const face_system *f, const double *d)
{
  f->q->apply(f->q->context, d, f->s->Ap);
  ++f->r->products;
  for (int64_t i = 0; i < f->s->n; ++i) f->x[i] += d[i], f->g[i] += f->s->Ap[i];
}

PetscErrorCode bounds_cg_solve(const bounds_qp *q, bounds_face *face, const uint8_t *is_free, double target, int64_t max, double *x,
                               double *g, bounds_cg_space *s, bounds_result *r, bounds_cg_status *status)
{
  face_system f = {q, face, is_free, x, g, s, r};
  int64_t     iterations;
  bool        is_ours;
  PetscFunctionBegin;
  if (!q->solver) {
    *status = bounds_cg(q, face, is_free, target, max, x, g, s, r);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const linear_system l = {.ksp          = KSPFACECG,
                           .pc           = PCFACE,
                           .n            = q->n,
                           .context      = &f,
                           .product      = multiply_free,
                           .precondition = apply_face,
                           .weight       = s->weight,
                           .weighted     = KSPFACECG,
                           .diagonal     = q->diagonal};
  PetscCall(linear_solver_is(q->solver, KSPFACECG, &is_ours)); /* false before the first solve */
  for (int64_t i = 0; i < q->n && !is_ours; ++i) s->weight[i] = 1.0 / q->diagonal[i], s->step[i] = is_free[i] ? -g[i] : 0.0;
  PetscCall(linear_solver_set(q->solver, &l));
  PetscCall(linear_solver_set_tolerance(q->solver, 0.0, target, max));
  PetscCall(linear_solver_is(q->solver, KSPFACECG, &is_ours));
  PetscCall(linear_solver_solve(q->solver, is_ours ? NULL : s->step, is_ours ? NULL : s->step, &iterations));
  if (!is_ours) {
    r->iterations += iterations;
    add_correction(&f, s->step);
  }
  const KSPConvergedReason reason = linear_solver_reason(q->solver);
  *status                         = reason > 0                              ? BOUNDS_CG_OK
                                    : reason == KSP_DIVERGED_INDEFINITE_MAT ? BOUNDS_CG_NO_CURVATURE
                                    : reason == KSP_DIVERGED_NANORINF       ? BOUNDS_CG_NOT_FINITE
                                                                            : BOUNDS_CG_ITERATIONS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Conjugate gradients without bounds. They give tensile contact pressures where bodies separate, and serve as reference for the
 * cost of the other solvers. */
enum { ITERATIONS = 5000 };

PetscErrorCode bounds_solve_cg(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  const bounds_qp  free_qp = {.n = q->n, .apply = q->apply, .context = q->context, .diagonal = q->diagonal, .b = q->b, .grid = q->grid};
  bounds_cg_space  s       = {0};
  bounds_face     *face    = NULL;
  uint8_t         *is_free = NULL;
  double          *g       = NULL;
  bounds_cg_status status  = BOUNDS_CG_OK;
  PetscFunctionBegin;
  PetscErrorCode code = bounds_cg_space_create(q->n, &s);
  if (!code) code = MEMORY_ALLOC("bounds cg", ARRAY(is_free, q->n), ARRAY(g, q->n));
  if (!code) code = bounds_face_create(&free_qp, o->preconditioner, &face);
  if (!code) {
    memset(is_free, 1, (size_t)q->n);
    bounds_face_update(face, is_free);
    bounds_gradient(q, x, g, r);
    code = bounds_cg_solve(q, face, is_free, r->target, o->max_iterations > 0 ? o->max_iterations : ITERATIONS, x, g, &s, r, &status);
  }
  if (!code) {
    switch (status) {
    case BOUNDS_CG_OK: break;
    case BOUNDS_CG_ITERATIONS: r->status = BOUNDS_ITERATIONS; break;
    case BOUNDS_CG_NO_CURVATURE: r->status = BOUNDS_UNBOUNDED; break;
    case BOUNDS_CG_NOT_FINITE: r->status = BOUNDS_NOT_FINITE; break;
    }
  }
  bounds_face_destroy(&face);
  bounds_cg_space_destroy(&s);
  MEMORY_FREE(&is_free, &g);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
