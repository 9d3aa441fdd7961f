#include "optim/linear/vec_threaded.h"
#include "core/error.h"
#include "core/team.h"
#include "optim/linear/petsc_private.h"

enum {
  VEC_BATCH  = 32, /* vectors handed to one multi-vector sweep */
  VEC_SERIAL = 4,  /* with fewer chunks than this, waking threads costs more than the work */
};

/* Run `body` for i in [0, n). Chunk borders depend on n alone: an entry lies in the vectorised part or in the remainder
 * of its chunk whatever the number of threads, so even the rounding of fused operations cannot depend on it. */
#define FOR_EACH(n, body)                                                                                                                  \
  do {                                                                                                                                     \
    const int64_t n_ = (n), n_chunk_ = team_chunks(n_);                                                                                    \
    _Pragma("omp parallel for schedule(static) if (n_chunk_ >= VEC_SERIAL)") for (int64_t c_ = 0; c_ < n_chunk_; ++c_)                     \
    {                                                                                                                                      \
      const int64_t lo_ = c_ * TEAM_CHUNK, hi_ = lo_ + TEAM_CHUNK < n_ ? lo_ + TEAM_CHUNK : n_;                                            \
      _Pragma("omp simd") for (int64_t i = lo_; i < hi_; ++i) { body; }                                                                    \
    }                                                                                                                                      \
  } while (0)

static PetscErrorCode reduce_sum(Vec v, PetscInt m, PetscScalar *s)
{
  PetscMPIInt size;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)v), &size));
  if (size > 1) PetscCall(MPIU_Allreduce(MPI_IN_PLACE, s, m, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)v)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotLocal_Threaded(Vec x, Vec y, PetscScalar *s)
{
  const PetscScalar *a, *b;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  *s = team_dot(x->map->n, a, b);
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  if (x->map->n > 0) PetscCall(PetscLogFlops(2.0 * x->map->n - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDot_Threaded(Vec x, Vec y, PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(VecDotLocal_Threaded(x, y, s));
  PetscCall(reduce_sum(x, 1, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDotLocal_Threaded(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  const PetscScalar *a, *b[VEC_BATCH];
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  for (PetscInt k0 = 0; k0 < m; k0 += VEC_BATCH) {
    const PetscInt k1 = PetscMin(k0 + VEC_BATCH, m);
    for (PetscInt k = k0; k < k1; ++k) PetscCall(VecGetArrayRead(y[k], &b[k - k0]));
    team_mdot(x->map->n, (int)(k1 - k0), b, a, s + k0);
    for (PetscInt k = k0; k < k1; ++k) PetscCall(VecRestoreArrayRead(y[k], &b[k - k0]));
  }
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(2.0 * x->map->n * m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDot_Threaded(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(VecMDotLocal_Threaded(x, m, y, s));
  PetscCall(reduce_sum(x, m, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double sum_abs(int64_t n, const double *x, double *partial)
{
  const int64_t n_chunk = team_chunks(n);
  double        sum     = 0.0;
#pragma omp      parallel for schedule(static) if (n_chunk >= VEC_SERIAL)
  for (int64_t c = 0; c < n_chunk; ++c) {
         const int64_t lo = c * TEAM_CHUNK, hi = lo + TEAM_CHUNK < n ? lo + TEAM_CHUNK : n;
         double        s = 0.0;
#pragma omp simd reduction(+ : s)
    for (int64_t i = lo; i < hi; ++i) s += fabs(x[i]);
    partial[c] = s;
       }
       for (int64_t c = 0; c < n_chunk; ++c) sum += partial[c];
  return sum;
}

static PetscErrorCode VecNormLocal_Threaded(Vec x, NormType type, PetscReal *out)
{
  const PetscScalar *a;
  const int64_t      n = x->map->n;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  if (type == NORM_1 || type == NORM_1_AND_2) {
    double *partial;
    PetscCall(PetscMalloc1(team_chunks(n) + 1, &partial));
    out[0] = sum_abs(n, a, partial);
    PetscCall(PetscFree(partial));
  }
  if (type == NORM_2 || type == NORM_FROBENIUS) out[0] = sqrt(team_dot(n, a, a));
  if (type == NORM_1_AND_2) out[1] = sqrt(team_dot(n, a, a));
  if (type == NORM_INFINITY) out[0] = team_max_abs(n, a);
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(2.0 * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecNorm_Threaded(Vec x, NormType type, PetscReal *out)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)x);
  PetscMPIInt    size;
  PetscFunctionBegin;
  PetscCall(VecNormLocal_Threaded(x, type, out));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (type == NORM_INFINITY) {
    PetscCall(MPIU_Allreduce(MPI_IN_PLACE, out, 1, MPIU_REAL, MPIU_MAX, comm));
  } else {
    const int first_square = type == NORM_1 ? 1 : (type == NORM_1_AND_2 ? 1 : 0), n_out = type == NORM_1_AND_2 ? 2 : 1;
    for (int k = first_square; k < n_out; ++k) out[k] *= out[k];
    PetscCall(MPIU_Allreduce(MPI_IN_PLACE, out, n_out, MPIU_REAL, MPIU_SUM, comm));
    for (int k = first_square; k < n_out; ++k) out[k] = sqrt(out[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecScale_Threaded(Vec x, PetscScalar s)
{
  PetscScalar *a;
  PetscFunctionBegin;
  if (s == 1.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArray(x, &a));
  FOR_EACH(x->map->n, a[i] *= s);
  PetscCall(VecRestoreArray(x, &a));
  PetscCall(PetscLogFlops(x->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSet_Threaded(Vec x, PetscScalar s)
{
  PetscScalar *a;
  PetscFunctionBegin;
  PetscCall(VecGetArrayWrite(x, &a));
  FOR_EACH(x->map->n, a[i] = s);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecCopy_Threaded(Vec x, Vec y)
{
  const PetscScalar *a;
  PetscScalar       *b;
  PetscFunctionBegin;
  if (x == y) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayWrite(y, &b));
  if (a != b) FOR_EACH(x->map->n, b[i] = a[i]);
  PetscCall(VecRestoreArrayWrite(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPY_Threaded(Vec y, PetscScalar s, Vec x)
{
  const PetscScalar *a;
  PetscScalar       *b;
  PetscFunctionBegin;
  if (s == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArray(y, &b));
  FOR_EACH(y->map->n, b[i] += s * a[i]);
  PetscCall(VecRestoreArray(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(2.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBY_Threaded(Vec y, PetscScalar s, PetscScalar t, Vec x) /* y = s x + t y */
{
  const PetscScalar *a;
  PetscScalar       *b;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArray(y, &b));
  /* t = 0 must not read y: it may hold NaN */
  if (t == 0.0) FOR_EACH(y->map->n, b[i] = s * a[i]);
  else FOR_EACH(y->map->n, b[i] = s * a[i] + t * b[i]);
  PetscCall(VecRestoreArray(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(3.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAYPX_Threaded(Vec y, PetscScalar t, Vec x) /* y = x + t y */
{
  PetscFunctionBegin;
  PetscCall(VecAXPBY_Threaded(y, 1.0, t, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecWAXPY_Threaded(Vec w, PetscScalar s, Vec x, Vec y) /* w = y + s x */
{
  const PetscScalar *a, *b;
  PetscScalar       *c;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  PetscCall(VecGetArrayWrite(w, &c));
  if (s == 0.0) FOR_EACH(w->map->n, c[i] = b[i]);
  else FOR_EACH(w->map->n, c[i] = b[i] + s * a[i]);
  PetscCall(VecRestoreArrayWrite(w, &c));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(2.0 * w->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBYPCZ_Threaded(Vec z, PetscScalar s, PetscScalar t, PetscScalar u, Vec x, Vec y)
{
  const PetscScalar *a, *b;
  PetscScalar       *c;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  PetscCall(VecGetArray(z, &c));
  if (u == 0.0) FOR_EACH(z->map->n, c[i] = s * a[i] + t * b[i]);
  else FOR_EACH(z->map->n, c[i] = s * a[i] + t * b[i] + u * c[i]);
  PetscCall(VecRestoreArray(z, &c));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(5.0 * z->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += sum of s[k] x[k]: a chunk of y stays in the first-level cache while the x[k] stream past, four at a time. */
static void maxpy(int64_t n, int m, const double *s, const double *const *x, double *restrict y)
{
  const int64_t n_chunk = team_chunks(n);
#pragma omp parallel for schedule(static) if (n_chunk >= VEC_SERIAL)
  for (int64_t c = 0; c < n_chunk; ++c) {
    const int64_t lo = c * TEAM_CHUNK, hi = lo + TEAM_CHUNK < n ? lo + TEAM_CHUNK : n;
    int           k = 0;
    for (; k + 4 <= m; k += 4) {
      const double *restrict x0 = x[k], *restrict x1 = x[k + 1], *restrict x2 = x[k + 2], *restrict x3 = x[k + 3];
      const double s0 = s[k], s1 = s[k + 1], s2 = s[k + 2], s3 = s[k + 3];
#pragma omp simd
      for (int64_t i = lo; i < hi; ++i) y[i] += (s0 * x0[i] + s1 * x1[i]) + (s2 * x2[i] + s3 * x3[i]);
    }
    for (; k < m; ++k) {
      const double *restrict x0 = x[k];
      const double s0           = s[k];
#pragma omp simd
      for (int64_t i = lo; i < hi; ++i) y[i] += s0 * x0[i];
    }
  }
}

static PetscErrorCode VecMAXPY_Threaded(Vec y, PetscInt m, const PetscScalar *s, Vec *x)
{
  const PetscScalar *a[VEC_BATCH];
  PetscScalar       *b;
  PetscFunctionBegin;
  PetscCall(VecGetArray(y, &b));
  for (PetscInt k0 = 0; k0 < m; k0 += VEC_BATCH) {
    const PetscInt k1 = PetscMin(k0 + VEC_BATCH, m);
    for (PetscInt k = k0; k < k1; ++k) PetscCall(VecGetArrayRead(x[k], &a[k - k0]));
    maxpy(y->map->n, (int)(k1 - k0), s + k0, a, b);
    for (PetscInt k = k0; k < k1; ++k) PetscCall(VecRestoreArrayRead(x[k], &a[k - k0]));
  }
  PetscCall(VecRestoreArray(y, &b));
  PetscCall(PetscLogFlops(2.0 * m * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecPointwiseMult_Threaded(Vec w, Vec x, Vec y)
{
  const PetscScalar *a, *b;
  PetscScalar       *c;
  PetscFunctionBegin; /* w may be x or y: VecGetArray, not Write */
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  PetscCall(VecGetArray(w, &c));
  FOR_EACH(w->map->n, c[i] = a[i] * b[i]);
  PetscCall(VecRestoreArray(w, &c));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(w->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecPointwiseDivide_Threaded(Vec w, Vec x, Vec y) /* x/0 = 0, as PETSc's own */
{
  const PetscScalar *a, *b;
  PetscScalar       *c;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  PetscCall(VecGetArray(w, &c));
  FOR_EACH(w->map->n, c[i] = b[i] != 0.0 ? a[i] / b[i] : 0.0);
  PetscCall(VecRestoreArray(w, &c));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PetscLogFlops(w->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDuplicate_Threaded(Vec x, Vec *out)
{
  Vec y;
  PetscFunctionBegin;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)x), &y));
  PetscCall(VecSetSizes(y, x->map->n, x->map->N));
  PetscCall(VecSetType(y, VECTHREADED));
  PetscCall(PetscLayoutReference(x->map, &y->map));
  PetscCall(PetscObjectListDuplicate(((PetscObject)x)->olist, &((PetscObject)y)->olist));
  PetscCall(PetscFunctionListDuplicate(((PetscObject)x)->qlist, &((PetscObject)y)->qlist));
  y->stash.ignorenegidx = x->stash.ignorenegidx;
  y->stash.donotstash   = x->stash.donotstash;
  y->ops->view          = x->ops->view;
  *out                  = y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecCreate_Threaded(Vec v)
{
  PetscMPIInt size;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)v), &size));
  PetscCall(VecSetType(v, size == 1 ? VECSEQ : VECMPI));
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, VECTHREADED));
  v->ops->duplicate       = VecDuplicate_Threaded;
  v->ops->dot             = VecDot_Threaded;
  v->ops->tdot            = VecDot_Threaded; /* real scalars */
  v->ops->mdot            = VecMDot_Threaded;
  v->ops->mtdot           = VecMDot_Threaded;
  v->ops->norm            = VecNorm_Threaded;
  v->ops->dot_local       = VecDotLocal_Threaded;
  v->ops->tdot_local      = VecDotLocal_Threaded;
  v->ops->mdot_local      = VecMDotLocal_Threaded;
  v->ops->mtdot_local     = VecMDotLocal_Threaded;
  v->ops->norm_local      = VecNormLocal_Threaded;
  v->ops->scale           = VecScale_Threaded;
  v->ops->set             = VecSet_Threaded;
  v->ops->copy            = VecCopy_Threaded;
  v->ops->axpy            = VecAXPY_Threaded;
  v->ops->axpby           = VecAXPBY_Threaded;
  v->ops->aypx            = VecAYPX_Threaded;
  v->ops->waxpy           = VecWAXPY_Threaded;
  v->ops->axpbypcz        = VecAXPBYPCZ_Threaded;
  v->ops->maxpy           = VecMAXPY_Threaded;
  v->ops->pointwisemult   = VecPointwiseMult_Threaded;
  v->ops->pointwisedivide = VecPointwiseDivide_Threaded;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vec_threaded_create(MPI_Comm comm, PetscInt n_local, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(comm, v));
  PetscCall(VecSetSizes(*v, n_local, PETSC_DETERMINE));
  PetscCall(VecSetType(*v, VECTHREADED));
  PetscFunctionReturn(PETSC_SUCCESS);
}
