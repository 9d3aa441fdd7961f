#include "optim/linear/mat_block3.h"
#include "optim/linear/petsc_private.h"
#include "core/memory.h"
#include "core/team.h"
#include "optim/linear/block3_pattern.h"
#include "optim/linear/mat_block3_convert.h"
#include "optim/optim.h"
#include "optim/linear/vec_threaded.h"
#include <string.h>

enum { PARALLEL_CHUNKS = 4, BLOCK = 9 };

typedef struct {
  block3_pattern *p;     /* NULL until a pattern is known */
  double         *value; /* [nnz][9] */
  bool            is_borrowed;
  PetscInt       *row_index; /* MatGetRow: one row, unpacked */
  PetscScalar    *row_value;
} Mat_Block3;

static inline Mat_Block3 *data_of(Mat A) { return (Mat_Block3 *)A->data; }

/* y = A x, or y = b + A x. In-place b == y is fine: each row is read and written by one thread. */
static void multiply(const block3_pattern *p, const double *restrict value, const double *restrict x, const double *b, double *y)
{
  const int64_t *restrict row_start = p->row_start;
  const int32_t *restrict col       = p->col;
  #pragma omp parallel for schedule(static) if (p->n_chunks >= PARALLEL_CHUNKS)
  for (int64_t c = 0; c < p->n_chunks; ++c)
    for (int64_t i = p->chunk_row[c]; i < p->chunk_row[c + 1]; ++i) {
      double s0 = 0.0, s1 = 0.0, s2 = 0.0;
      for (int64_t k = row_start[i]; k < row_start[i + 1]; ++k) {
        const double *restrict a = value + BLOCK * k, *restrict v = x + 3 * (int64_t)col[k];
        s0 += a[0] * v[0] + a[1] * v[1] + a[2] * v[2];
        s1 += a[3] * v[0] + a[4] * v[1] + a[5] * v[2];
        s2 += a[6] * v[0] + a[7] * v[1] + a[8] * v[2];
      }
      /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): VecGetArray fails or gives one */
      y[3 * i]     = (b ? b[3 * i] : 0.0) + s0;
      y[3 * i + 1] = (b ? b[3 * i + 1] : 0.0) + s1;
      y[3 * i + 2] = (b ? b[3 * i + 2] : 0.0) + s2;
    }
}

/* y = A^T x, or y = b + A^T x: tile by tile into private sums, streaming A once, then column by column. Gathering the blocks of
 * a column from their rows instead took six times as long (Zen 3, 2026): nothing to prefetch. */
static void multiply_transposed(const block3_pattern *p, const double *restrict value, const double *restrict x, const double *b,
                                double *y)
{
  #pragma omp parallel for schedule(static) if (p->n_tiles > 1)
  for (int64_t t = 0; t < p->n_tiles; ++t) {
    double *restrict sum = p->private_sums + 3 * p->tile_start[t];
    memset(sum, 0, sizeof *sum * 3 * (size_t)(p->tile_start[t + 1] - p->tile_start[t]));
    for (int64_t i = p->tile_row[t]; i < p->tile_row[t + 1]; ++i) {
      const double v0 = x[3 * i], v1 = x[3 * i + 1], v2 = x[3 * i + 2];
      for (int64_t k = p->row_start[i]; k < p->row_start[i + 1]; ++k) {
        const double *restrict a = value + BLOCK * k;
        double *restrict s       = sum + 3 * (int64_t)p->tile_col[k];
        s[0] += a[0] * v0 + a[3] * v1 + a[6] * v2;
        s[1] += a[1] * v0 + a[4] * v1 + a[7] * v2;
        s[2] += a[2] * v0 + a[5] * v1 + a[8] * v2;
      }
    }
  }
  #pragma omp parallel for schedule(static) if (p->n_tiles > 1)
  for (int64_t j = 0; j < p->n; ++j) {
    double s[3] = {0.0, 0.0, 0.0};
    for (int64_t k = p->entry_start[j]; k < p->entry_start[j + 1]; ++k)
      for (int e = 0; e < 3; ++e) s[e] += p->private_sums[3 * p->entry[k] + e];
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): VecGetArray fails or gives one */
    for (int e = 0; e < 3; ++e) y[3 * j + e] = (b ? b[3 * j + e] : 0.0) + s[e];
  }
}

/* y = [b +] A x or A^T x for any Vec type; b NULL: none. b may be y. */
static PetscErrorCode product(Mat A, Vec x, Vec b, Vec y, bool is_transposed)
{
  Mat_Block3        *a = data_of(A);
  const PetscScalar *xa, *ba = NULL;
  PetscScalar       *ya;
  PetscFunctionBegin;
  if (is_transposed) PetscCall(block3_pattern_need_tiles(a->p));
  PetscCall(VecGetArrayRead(x, &xa));
  if (b && b != y) PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(VecGetArray(y, &ya));
  const PetscScalar *from = b == y && b ? ya : ba;
  if (is_transposed) multiply_transposed(a->p, a->value, xa, from, ya);
  else multiply(a->p, a->value, xa, from, ya);
  PetscCall(VecRestoreArray(y, &ya));
  if (b && b != y) PetscCall(VecRestoreArrayRead(b, &ba));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(PetscLogFlops(18.0 * (double)a->p->nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode MatMult_Block3(Mat A, Vec x, Vec y) { return product(A, x, NULL, y, false); }
static PetscErrorCode MatMultAdd_Block3(Mat A, Vec x, Vec b, Vec y) { return product(A, x, b, y, false); }
static PetscErrorCode MatMultTranspose_Block3(Mat A, Vec x, Vec y) { return product(A, x, NULL, y, true); }
static PetscErrorCode MatMultTransposeAdd_Block3(Mat A, Vec x, Vec b, Vec y) { return product(A, x, b, y, true); }

static PetscErrorCode MatGetBlockDiagonal3_Block3(Mat A, PetscScalar *d)
{
  const Mat_Block3 *a = data_of(A);
  PetscFunctionBegin;
  #pragma omp parallel for schedule(static) if (a->p->n_chunks >= PARALLEL_CHUNKS)
  for (int64_t i = 0; i < a->p->n; ++i)
    for (int k = 0; k < BLOCK; ++k) d[BLOCK * i + k] = a->p->diagonal[i] >= 0 ? a->value[BLOCK * a->p->diagonal[i] + k] : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_Block3(Mat A, Vec v)
{
  const Mat_Block3 *a = data_of(A);
  PetscScalar      *d;
  PetscFunctionBegin;
  PetscCall(VecGetArrayWrite(v, &d));
  for (int64_t i = 0; i < a->p->n; ++i)
    for (int k = 0; k < 3; ++k) d[3 * i + k] = a->p->diagonal[i] >= 0 ? a->value[BLOCK * a->p->diagonal[i] + 4 * k] : 0.0;
  PetscCall(VecRestoreArrayWrite(v, &d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMissingDiagonal_Block3(Mat A, PetscBool *is_missing, PetscInt *where)
{
  const Mat_Block3 *a = data_of(A);
  PetscFunctionBegin;
  *is_missing = PETSC_FALSE;
  for (int64_t i = a->p->n - 1; i >= 0; --i)
    if (a->p->diagonal[i] < 0) {
      *is_missing = PETSC_TRUE;
      if (where) *where = (PetscInt)i;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroEntries_Block3(Mat A)
{
  Mat_Block3   *a = data_of(A);
  const int64_t n = a->p->nnz;
  double       *v = a->value;
  PetscFunctionBegin;
  #pragma omp parallel for simd schedule(static) if (a->p->n_chunks >= PARALLEL_CHUNKS)
  for (int64_t k = 0; k < BLOCK * n; ++k) v[k] = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_Block3(Mat A, PetscScalar s)
{
  Mat_Block3   *a = data_of(A);
  const int64_t n = a->p->nnz;
  double       *v = a->value;
  PetscFunctionBegin;
  #pragma omp parallel for schedule(static) if (a->p->n_chunks >= PARALLEL_CHUNKS)
  for (int64_t k = 0; k < n; ++k)
    for (int e = 0; e < BLOCK; ++e) v[BLOCK * k + e] *= s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A <- diag(left) A diag(right); either may be NULL. */
static PetscErrorCode MatDiagonalScale_Block3(Mat A, Vec left, Vec right)
{
  Mat_Block3           *a = data_of(A);
  const block3_pattern *p = a->p;
  const PetscScalar    *l = NULL, *r = NULL;
  PetscFunctionBegin;
  if (left) PetscCall(VecGetArrayRead(left, &l));
  if (right) PetscCall(VecGetArrayRead(right, &r));
  #pragma omp parallel for schedule(static) if (p->n_chunks >= PARALLEL_CHUNKS)
  for (int64_t c = 0; c < p->n_chunks; ++c)
    for (int64_t i = p->chunk_row[c]; i < p->chunk_row[c + 1]; ++i)
      for (int64_t k = p->row_start[i]; k < p->row_start[i + 1]; ++k)
        for (int e = 0; e < BLOCK; ++e)
          a->value[BLOCK * k + e] *= (l ? l[3 * i + e / 3] : 1.0) * (r ? r[3 * (int64_t)p->col[k] + e % 3] : 1.0);
  if (right) PetscCall(VecRestoreArrayRead(right, &r));
  if (left) PetscCall(VecRestoreArrayRead(left, &l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_Block3(Mat A, NormType type, PetscReal *norm)
{
  Mat_Block3           *a = data_of(A);
  const block3_pattern *p = a->p;
  PetscFunctionBegin;
  if (type == NORM_FROBENIUS) {
    *norm = sqrt(team_dot(BLOCK * p->nnz, a->value, a->value));
  } else if (type == NORM_1 || type == NORM_INFINITY) {
    double *sum;
    PetscCall(memory_alloc("block3 norm", 3 * p->n, sizeof *sum, &sum));
    for (int64_t i = 0; i < p->n; ++i)
      for (int64_t k = p->row_start[i]; k < p->row_start[i + 1]; ++k)
        for (int e = 0; e < BLOCK; ++e)
          sum[type == NORM_1 ? 3 * (int64_t)p->col[k] + e % 3 : 3 * i + e / 3] += fabs(a->value[BLOCK * k + e]);
    *norm = team_max_abs(3 * p->n, sum);
    memory_free(&sum);
  } else {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "block3: no such norm");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRow_Block3(Mat A, PetscInt row, PetscInt *n, PetscInt **index, PetscScalar **value)
{
  Mat_Block3           *a = data_of(A);
  const block3_pattern *p = a->p;
  const int64_t         i = row / 3, lo = p->row_start[i], len = p->row_start[i + 1] - lo;
  PetscFunctionBegin;
  PetscCall(PetscMalloc2(3 * len, &a->row_index, 3 * len, &a->row_value));
  for (int64_t k = 0; k < len; ++k)
    for (int e = 0; e < 3; ++e) {
      a->row_index[3 * k + e] = 3 * p->col[lo + k] + e;
      a->row_value[3 * k + e] = a->value[BLOCK * (lo + k) + 3 * (row % 3) + e];
    }
  *n = (PetscInt)(3 * len);
  if (index) *index = a->row_index;
  if (value) *value = a->row_value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreRow_Block3(Mat A, PetscInt row, PetscInt *n, PetscInt **index, PetscScalar **value)
{
  Mat_Block3 *a = data_of(A);
  PetscFunctionBegin;
  (void)row, (void)n;
  PetscCall(PetscFree2(a->row_index, a->row_value));
  if (index) *index = NULL;
  if (value) *value = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put(Mat A, PetscInt i, PetscInt j, int entry, PetscScalar v, InsertMode mode)
{
  Mat_Block3   *a = data_of(A);
  const int64_t s = block3_pattern_find(a->p, i, j);
  PetscFunctionBegin;
  PetscCheck(s >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "block3: block (%d, %d) is not in the pattern", (int)i, (int)j);
  if (mode == ADD_VALUES) a->value[BLOCK * s + entry] += v;
  else a->value[BLOCK * s + entry] = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValues_Block3(Mat A, PetscInt m, const PetscInt row[], PetscInt n, const PetscInt col[],
                                          const PetscScalar v[], InsertMode mode)
{
  PetscFunctionBegin;
  for (PetscInt r = 0; r < m; ++r)
    for (PetscInt c = 0; c < n; ++c)
      if (row[r] >= 0 && col[c] >= 0)
        PetscCall(put(A, row[r] / 3, col[c] / 3, 3 * (row[r] % 3) + col[c] % 3, v ? v[r * n + c] : 0.0, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesBlocked_Block3(Mat A, PetscInt m, const PetscInt row[], PetscInt n, const PetscInt col[],
                                                 const PetscScalar v[], InsertMode mode)
{
  PetscFunctionBegin;
  for (PetscInt r = 0; r < m; ++r)
    for (PetscInt c = 0; c < n; ++c)
      if (row[r] >= 0 && col[c] >= 0)
        for (int e = 0; e < BLOCK; ++e)
          PetscCall(put(A, row[r], col[c], e, v ? v[(3 * r + e / 3) * 3 * n + 3 * c + e % 3] : 0.0, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssembly_Block3(Mat A, MatAssemblyType type)
{
  (void)A, (void)type;
  return PETSC_SUCCESS;
}

static PetscErrorCode MatGetInfo_Block3(Mat A, MatInfoType type, MatInfo *info)
{
  const Mat_Block3 *a = data_of(A);
  PetscFunctionBegin;
  (void)type;
  PetscCall(PetscMemzero(info, sizeof *info));
  info->block_size = 9;
  info->nz_used = info->nz_allocated = 9.0 * (double)a->p->nnz;
  info->memory     = (double)(a->p->nnz * (BLOCK * 8 + 4) + a->p->n * 16);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode attach(Mat A, block3_pattern *p, double *values, bool is_borrowed)
{
  Mat_Block3 *a = data_of(A);
  PetscFunctionBegin;
  a->p           = p;
  a->is_borrowed = is_borrowed && values;
  if (a->is_borrowed) {
    a->value = values;
  } else {
    PetscCall(memory_alloc("block3 values", p->nnz * BLOCK, sizeof *a->value, &a->value));
    if (values) memcpy(a->value, values, (size_t)(p->nnz * BLOCK) * sizeof *values);
  }
  A->preallocated = PETSC_TRUE;
  A->assembled    = PETSC_TRUE;
  A->nonzerostate++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_Block3(Mat A, MatDuplicateOption option, Mat *out)
{
  Mat_Block3 *a = data_of(A);
  Mat         B;
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
  PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetType(B, MATBLOCK3));
  PetscCall(PetscLayoutSetUp(B->rmap));
  PetscCall(PetscLayoutSetUp(B->cmap));
  ++a->p->n_references;
  PetscCall(attach(B, a->p, NULL, false));
  if (option == MAT_COPY_VALUES) memcpy(data_of(B)->value, a->value, (size_t)(a->p->nnz * BLOCK) * sizeof(double));
  *out = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Into another type, or another pattern that contains this one. */
static PetscErrorCode copy_by_rows(Mat A, Mat B)
{
  PetscInt           n;
  const PetscInt    *col;
  const PetscScalar *value;
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(B));
  for (PetscInt i = 0; i < A->rmap->n; ++i) {
    PetscCall(MatGetRow(A, i, &n, &col, &value));
    PetscCall(MatSetValues(B, 1, &i, n, col, value, INSERT_VALUES));
    PetscCall(MatRestoreRow(A, i, &n, &col, &value));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_Block3(Mat A, Mat B, MatStructure structure)
{
  Mat_Block3 *a = data_of(A), *b = data_of(B);
  PetscBool   is_block3;
  PetscFunctionBegin;
  (void)structure;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATBLOCK3, &is_block3));
  if (!is_block3 || (a->p != b->p && (a->p->nnz != b->p->nnz || memcmp(a->p->col, b->p->col, sizeof(int32_t) * (size_t)a->p->nnz) ||
                                      memcmp(a->p->row_start, b->p->row_start, sizeof(int64_t) * (size_t)(a->p->n + 1))))) {
    PetscCall(copy_by_rows(A, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int64_t n    = a->p->nnz;
  const double *from = a->value;
  double       *to   = b->value;
  #pragma omp parallel for simd schedule(static) if (a->p->n_chunks >= PARALLEL_CHUNKS)
  for (int64_t k = 0; k < BLOCK * n; ++k) to[k] = from[k];
  PetscCall(PetscObjectStateIncrease((PetscObject)B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_Block3(Mat A, PetscViewer viewer)
{
  PetscBool         is_ascii;
  PetscViewerFormat format;
  Mat               B;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (is_ascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL)) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "block rows=%lld, 3x3 blocks=%lld\n", (long long)data_of(A)->p->n,
                                     (long long)data_of(A)->p->nnz));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(A, MATSEQBAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatView(B, viewer));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Block3(Mat A)
{
  Mat_Block3 *a = data_of(A);
  PetscFunctionBegin;
  if (!a->is_borrowed) memory_free(&a->value);
  block3_pattern_destroy(&a->p);
  PetscCall(PetscFree(A->data));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, SS_MAT_GET_BLOCK_DIAGONAL3, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetUp without a pattern: the diagonal alone. */
static PetscErrorCode MatSetUp_Block3(Mat A)
{
  int64_t *row_start;
  int32_t *col;
  PetscFunctionBegin;
  if (data_of(A)->p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(mat_block3_pattern(A->rmap->n / 3, 0, NULL, NULL, &row_start, &col, NULL));
  block3_pattern *p;
  PetscCall(block3_pattern_create(A->rmap->n / 3, row_start, col, &p));
  memory_free(&row_start);
  memory_free(&col);
  PetscCall(attach(A, p, NULL, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_Block3(Mat A)
{
  Mat_Block3 *a;
  PetscMPIInt size;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "block3 matrices live on one process, not on %d",
             (int)size);
  PetscCall(PetscNew(&a));
  A->data = a;
  PetscCall(PetscLayoutSetBlockSize(A->rmap, 3));
  PetscCall(PetscLayoutSetBlockSize(A->cmap, 3));
  A->ops->mult             = MatMult_Block3;
  A->ops->multadd          = MatMultAdd_Block3;
  A->ops->multtranspose    = MatMultTranspose_Block3;
  A->ops->multtransposeadd = MatMultTransposeAdd_Block3;
  A->ops->getdiagonal      = MatGetDiagonal_Block3;
  A->ops->missingdiagonal  = MatMissingDiagonal_Block3;
  A->ops->zeroentries      = MatZeroEntries_Block3;
  A->ops->scale            = MatScale_Block3;
  A->ops->diagonalscale    = MatDiagonalScale_Block3;
  A->ops->norm             = MatNorm_Block3;
  A->ops->getrow           = MatGetRow_Block3;
  A->ops->restorerow       = MatRestoreRow_Block3;
  A->ops->setvalues        = MatSetValues_Block3;
  A->ops->setvaluesblocked = MatSetValuesBlocked_Block3;
  A->ops->assemblyend      = MatAssembly_Block3;
  A->ops->getinfo          = MatGetInfo_Block3;
  A->ops->duplicate        = MatDuplicate_Block3;
  A->ops->copy             = MatCopy_Block3;
  A->ops->view             = MatView_Block3;
  A->ops->destroy          = MatDestroy_Block3;
  A->ops->setup            = MatSetUp_Block3;
  A->ops->convert          = MatConvert_Block3;
  A->ops->convertfrom      = MatConvertFrom_Block3;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATBLOCK3));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, SS_MAT_GET_BLOCK_DIAGONAL3, MatGetBlockDiagonal3_Block3));
  PetscCall(MatSetVecType(A, VECTHREADED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mat_block3_create(MPI_Comm comm, int64_t n, const int64_t *row_start, const int32_t *col, double *values,
                                 bool is_borrowed, Mat *A)
{
  block3_pattern *p;
  PetscInt        n_scalar;
  PetscFunctionBegin;
  PetscCall(block3_pattern_create(n, row_start, col, &p));
  PetscCall(PetscIntCast(3 * n, &n_scalar));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, n_scalar, n_scalar, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, MATBLOCK3));
  PetscCall(PetscLayoutSetUp((*A)->rmap));
  PetscCall(PetscLayoutSetUp((*A)->cmap));
  PetscCall(attach(*A, p, values, is_borrowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mat_block3_get(Mat A, block3_view *view)
{
  PetscBool is_block3;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATBLOCK3, &is_block3));
  PetscCheck(is_block3, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "expected a matrix of type block3, not %s",
             ((PetscObject)A)->type_name);
  const Mat_Block3 *a = data_of(A);
  PetscCheck(a->p, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "this block3 matrix has no pattern yet");
  *view = (block3_view){.n = a->p->n, .row_start = a->p->row_start, .col = a->p->col, .diagonal = a->p->diagonal, .value = a->value};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mat_block3_values(Mat A, double **values)
{
  block3_view view;
  PetscFunctionBegin;
  PetscCall(mat_block3_get(A, &view));
  *values = view.value;
  PetscFunctionReturn(PETSC_SUCCESS);
}
