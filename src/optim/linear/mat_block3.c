/* The pattern of a 3x3-block matrix: compressed rows, and the data of the threaded products. A matrix and its duplicates share one
 * pattern with a reference count. It is constant after its creation.                                                  */
#include "optim/linear/mat_block3.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sort.h"
#include "core/team.h"
#include "optim/linear/petsc_private.h"
#include "optim/linear/vec_threaded.h"
#include <petscmat.h>
#include <string.h>

typedef struct {
  int      n_references;
  int64_t  n, nnz;    /* block rows; blocks */
  int64_t *row_start; /* [n+1] */
  int32_t *col;       /* [nnz] sorted within a row */
  int64_t *diagonal;  /* [n] slot of (i,i), -1: none */
  int64_t  n_chunks;  /* runs of rows with about the same number of blocks, by the pattern alone */
  int64_t *chunk_row; /* [n_chunks+1] */
} block3_pattern;

enum { CHUNK_BLOCKS = 2048 }; /* 150 kB of values: long enough to amortise a loop, short enough to balance */

/* Cut [0, n) where the running number of entries passes multiples of `blocks`. */
static PetscErrorCode cut_chunks(int64_t n, const int64_t *start, int64_t blocks, int64_t *n_chunks, int64_t **chunk)
{
  int64_t count = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("block3 chunks", start[n] / blocks + 2, sizeof **chunk, chunk));
  for (int64_t i = 0, next = 0; i < n; ++i)
    if (start[i] >= next) {
      (*chunk)[count++] = i;
      next              = start[i] + blocks;
    }
  (*chunk)[count] = n;
  *n_chunks       = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check(int64_t n, const int64_t *row_start, const int32_t *col)
{
  PetscFunctionBegin;
  PetscCheck(n >= 0 && n < INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "block3: %lld block rows do not fit 32-bit scalar indices", (long long)n);
  PetscCheck(row_start[0] == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "block3: row_start[0] is not 0");
  for (int64_t i = 0; i < n; ++i) {
    PetscCheck(row_start[i] <= row_start[i + 1], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "block3: row_start decreases at block row %lld",
               (long long)i);
    for (int64_t s = row_start[i]; s < row_start[i + 1]; ++s) {
      PetscCheck(col[s] >= 0 && col[s] < n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "block3: block row %lld has column %d outside [0, %lld)", (long long)i, (int)col[s], (long long)n);
      PetscCheck(s == row_start[i] || col[s - 1] < col[s], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "block3: columns of block row %lld are not sorted, or repeat %d", (long long)i, (int)col[s]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slot of block (i,j), -1 if it is not in the pattern. O(log of the row's length). */
static int64_t block3_pattern_find(const block3_pattern *p, int64_t i, int32_t j)
{
  int64_t lo = p->row_start[i], hi = p->row_start[i + 1];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (p->col[mid] < j) lo = mid + 1;
    else hi = mid;
  }
  return lo < p->row_start[i + 1] && p->col[lo] == j ? lo : -1;
}

/* row_start [n+1], col [row_start[n]] are copied and checked (PETSC_ERR_ARG_OUTOFRANGE). */
static PetscErrorCode block3_pattern_create(int64_t n, const int64_t *row_start, const int32_t *col, block3_pattern **out)
{
  block3_pattern *p;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(check(n, row_start, col));
  PetscCall(memory_alloc("block3 pattern", 1, sizeof *p, &p));
  *out            = p;
  p->n_references = 1;
  p->n            = n;
  p->nnz          = row_start[n];
  PetscCall(MEMORY_ALLOC("mat block3", ARRAY(p->row_start, n + 1), ARRAY(p->col, p->nnz), ARRAY(p->diagonal, n)));
  for (int64_t i = 0; i <= n; ++i) p->row_start[i] = row_start[i];
  for (int64_t s = 0; s < p->nnz; ++s) p->col[s] = col[s];
  for (int64_t i = 0; i < n; ++i) p->diagonal[i] = block3_pattern_find(p, i, (int32_t)i);
  PetscCall(cut_chunks(n, p->row_start, CHUNK_BLOCKS, &p->n_chunks, &p->chunk_row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* drops one reference */
static void block3_pattern_destroy(block3_pattern **p)
{
  if (!*p) return;
  if (--(*p)->n_references == 0) MEMORY_FREE(&(*p)->row_start, &(*p)->col, &(*p)->diagonal, &(*p)->chunk_row, p);
  *p = NULL;
}

static int bits_of(uint64_t x)
{
  int n = 0;
  for (; x; x >>= 1) ++n;
  return n;
}

PetscErrorCode mat_block3_pattern(int64_t n, int64_t n_pairs, const int32_t *row, const int32_t *col, int64_t **row_start,
                                  int32_t **col_out, int64_t *slot)
{
  const int64_t n_key = n_pairs + n; /* the diagonal comes first, so it takes part like any pair */
  const int     shift = bits_of((uint64_t)n);
  uint64_t     *key;
  int32_t      *perm;
  int64_t       n_distinct = 0;
  PetscFunctionBegin;
  *row_start = NULL;
  *col_out   = NULL;
  PetscCheck(n >= 0 && n_key < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "block3 pattern: %lld pairs are more than can be sorted", (long long)n_pairs);
  for (int64_t k = 0; k < n_pairs; ++k)
    PetscCheck(row[k] >= 0 && row[k] < n && col[k] >= 0 && col[k] < n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "block3 pattern: pair %lld = (%d, %d) outside [0, %lld)", (long long)k, (int)row[k], (int)col[k], (long long)n);
  PetscCall(MEMORY_ALLOC("mat block3", ARRAY(key, n_key), ARRAY(perm, n_key)));
  for (int64_t i = 0; i < n; ++i) key[i] = (uint64_t)i << shift | (uint64_t)i;
  for (int64_t k = 0; k < n_pairs; ++k) key[n + k] = (uint64_t)row[k] << shift | (uint64_t)col[k];
  PetscCall(sort_keys(n_key, 2 * shift, key, perm));
  for (int64_t k = 0; k < n_key; ++k) n_distinct += k == 0 || key[k] != key[k - 1];
  PetscCall(MEMORY_ALLOC("mat block3", ARRAY(*row_start, n + 1), ARRAY(*col_out, n_distinct)));
  for (int64_t k = 0, s = -1; k < n_key; ++k) {
    if (k == 0 || key[k] != key[k - 1]) {
      (*col_out)[++s] = (int32_t)(key[k] & (((uint64_t)1 << shift) - 1));
      ++(*row_start)[(key[k] >> shift) + 1];
    }
    if (slot && perm[k] >= n) slot[perm[k] - n] = s;
  }
  for (int64_t i = 0; i < n; ++i) (*row_start)[i + 1] += (*row_start)[i];
  MEMORY_FREE(&key, &perm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { PARALLEL_CHUNKS = 4, BLOCK = 9 };

typedef struct {
  block3_pattern *p;     /* NULL until a pattern is known */
  double         *value; /* [nnz][9] */
  bool            is_borrowed;
  PetscInt       *row_index; /* MatGetRow: one row, unpacked */
  PetscScalar    *row_value;
} Mat_Block3;

static inline Mat_Block3 *data_of(Mat A) { return (Mat_Block3 *)A->data; }

/* y = A x */
static void multiply(const block3_pattern *p, const double *restrict value, const double *restrict x, double *restrict y)
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
      y[3 * i]     = s0;
      y[3 * i + 1] = s1;
      y[3 * i + 2] = s2;
    }
}

/* y = A^T x on one thread: formulations evaluate transposed products without a matrix. */
static void multiply_transposed(const block3_pattern *p, const double *restrict value, const double *restrict x, double *restrict y)
{
  memset(y, 0, (size_t)(3 * p->n) * sizeof *y);
  for (int64_t i = 0; i < p->n; ++i)
    for (int64_t k = p->row_start[i]; k < p->row_start[i + 1]; ++k) {
      const double *restrict a = value + BLOCK * k;
      double *restrict s       = y + 3 * (int64_t)p->col[k];
      for (int e = 0; e < 3; ++e) s[e] += a[e] * x[3 * i] + a[3 + e] * x[3 * i + 1] + a[6 + e] * x[3 * i + 2];
    }
}

/* y = A x or A^T x for any Vec type. */
static PetscErrorCode product(Mat A, Vec x, Vec y, bool is_transposed)
{
  const Mat_Block3  *a = data_of(A);
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayWrite(y, &ya));
  if (is_transposed) multiply_transposed(a->p, a->value, xa, ya);
  else multiply(a->p, a->value, xa, ya);
  PetscCall(VecRestoreArrayWrite(y, &ya));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(PetscLogFlops(18.0 * (double)a->p->nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode MatMult_Block3(Mat A, Vec x, Vec y) { return product(A, x, y, false); }
static PetscErrorCode MatMultTranspose_Block3(Mat A, Vec x, Vec y) { return product(A, x, y, true); }

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
  info->memory                       = (double)(a->p->nnz * (BLOCK * 8 + 4) + a->p->n * 16);
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

/* Only between a matrix and its duplicates. */
static PetscErrorCode MatCopy_Block3(Mat A, Mat B, MatStructure structure)
{
  Mat_Block3 *a = data_of(A), *b = data_of(B);
  PetscBool   is_block3;
  PetscFunctionBegin;
  (void)structure;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATBLOCK3, &is_block3));
  PetscCheck(is_block3 && a->p == b->p, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "block3: values are copied only between a matrix and its duplicates");
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
    PetscCall(
        PetscViewerASCIIPrintf(viewer, "block rows=%lld, 3x3 blocks=%lld\n", (long long)data_of(A)->p->n, (long long)data_of(A)->p->nnz));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
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

PetscErrorCode MatCreate_Block3(Mat A)
{
  Mat_Block3 *a;
  PetscMPIInt size;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "block3 matrices support one process, not %d", (int)size);
  PetscCall(PetscNew(&a));
  A->data = a;
  PetscCall(PetscLayoutSetBlockSize(A->rmap, 3));
  PetscCall(PetscLayoutSetBlockSize(A->cmap, 3));
  A->ops->mult          = MatMult_Block3;
  A->ops->multtranspose = MatMultTranspose_Block3;
  A->ops->getdiagonal   = MatGetDiagonal_Block3;
  A->ops->zeroentries   = MatZeroEntries_Block3;
  A->ops->diagonalscale = MatDiagonalScale_Block3;
  A->ops->getrow        = MatGetRow_Block3; /* MatConvert to PETSc's formats uses it */
  A->ops->restorerow    = MatRestoreRow_Block3;
  A->ops->assemblyend   = MatAssembly_Block3;
  A->ops->getinfo       = MatGetInfo_Block3;
  A->ops->duplicate     = MatDuplicate_Block3;
  A->ops->copy          = MatCopy_Block3;
  A->ops->view          = MatView_Block3;
  A->ops->destroy       = MatDestroy_Block3;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATBLOCK3));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, SS_MAT_GET_BLOCK_DIAGONAL3, MatGetBlockDiagonal3_Block3));
  PetscCall(MatSetVecType(A, VECTHREADED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mat_block3_create(MPI_Comm comm, int64_t n, const int64_t *row_start, const int32_t *col, double *values, bool is_borrowed,
                                 Mat *A)
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
