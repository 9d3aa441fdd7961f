#include "optim/linear/mat_block3_convert.h"
#include "core/memory.h"
#include "optim/linear/mat_block3.h"
#include "optim/linear/petsc_private.h"
#include <string.h>

static PetscErrorCode to_baij(Mat A, Mat *B)
{
  block3_view  v;
  PetscInt    *row_start, *col;
  PetscFunctionBegin;
  PetscCall(mat_block3_get(A, &v));
  const int64_t nnz = v.row_start[v.n];
  PetscCheck(nnz < PETSC_MAX_INT, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%lld blocks are too many for PETSc's BAIJ",
             (long long)nnz);
  PetscCall(PetscMalloc2(v.n + 1, &row_start, nnz, &col));
  for (int64_t i = 0; i <= v.n; ++i) row_start[i] = (PetscInt)v.row_start[i];
  for (int64_t k = 0; k < nnz; ++k) col[k] = v.col[k];
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetType(*B, MATSEQBAIJ));
  PetscCall(MatSetOption(*B, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscCall(MatSeqBAIJSetPreallocationCSR(*B, 3, row_start, col, NULL));
  for (int64_t i = 0; i < v.n; ++i) /* one block a call: MatSetValuesBlocked wants a row's blocks side by side */
    for (int64_t k = v.row_start[i]; k < v.row_start[i + 1]; ++k) {
      const PetscInt row = (PetscInt)i;
      PetscCall(MatSetValuesBlocked(*B, 1, &row, 1, &col[k], v.value + 9 * k, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree2(row_start, col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_Block3(Mat A, MatType type, MatReuse reuse, Mat *out)
{
  bool is_baij, is_plain;
  Mat       B;
  PetscFunctionBegin;
  is_baij  = !strcmp(type, MATSEQBAIJ) || !strcmp(type, MATBAIJ);
  is_plain = !strcmp(type, MATBLOCK3) || !strcmp(type, MATSAME);
  if (is_plain) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  } else {
    PetscCall(to_baij(A, &B));
    if (!is_baij) PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
  }
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatHeaderReplace(A, &B));
  } else if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(B, *out, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&B));
  } else {
    *out = B;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvertFrom_Block3(Mat A, MatType type, MatReuse reuse, Mat *out)
{
  int32_t       *row, *col, *block_col;
  int64_t       *row_start, *slot, n_pairs = 0, n_rows = A->rmap->n;
  double        *value;
  PetscInt       n;
  const PetscInt    *index;
  const PetscScalar *entry;
  Mat            B;
  PetscFunctionBegin;
  (void)type;
  PetscCheck(A->rmap->N == A->cmap->N && A->rmap->N % 3 == 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_SIZ,
             "only a square matrix of 3x3 blocks becomes block3, not %d x %d", (int)A->rmap->N, (int)A->cmap->N);
  for (PetscInt i = 0; i < n_rows; ++i) {
    PetscCall(MatGetRow(A, i, &n, NULL, NULL));
    n_pairs += n;
    PetscCall(MatRestoreRow(A, i, &n, NULL, NULL));
  }
  PetscCall(memory_alloc("block3 convert rows", n_pairs, sizeof *row, &row));
  PetscCall(memory_alloc("block3 convert columns", n_pairs, sizeof *col, &col));
  PetscCall(memory_alloc("block3 convert slots", n_pairs, sizeof *slot, &slot));
  n_pairs = 0;
  for (PetscInt i = 0; i < n_rows; ++i) {
    PetscCall(MatGetRow(A, i, &n, &index, NULL));
    for (PetscInt k = 0; k < n; ++k, ++n_pairs) row[n_pairs] = i / 3, col[n_pairs] = index[k] / 3;
    PetscCall(MatRestoreRow(A, i, &n, &index, NULL));
  }
  PetscCall(mat_block3_pattern(n_rows / 3, n_pairs, row, col, &row_start, &block_col, slot));
  PetscCall(mat_block3_create(PetscObjectComm((PetscObject)A), n_rows / 3, row_start, block_col, NULL, false, &B));
  PetscCall(mat_block3_values(B, &value));
  n_pairs = 0;
  for (PetscInt i = 0; i < n_rows; ++i) {
    PetscCall(MatGetRow(A, i, &n, &index, &entry));
    for (PetscInt k = 0; k < n; ++k, ++n_pairs) value[9 * slot[n_pairs] + 3 * (i % 3) + index[k] % 3] = entry[k];
    PetscCall(MatRestoreRow(A, i, &n, &index, &entry));
  }
  memory_free(&row), memory_free(&col), memory_free(&slot), memory_free(&row_start), memory_free(&block_col);
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(MatHeaderReplace(*out, &B));
  else *out = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}
