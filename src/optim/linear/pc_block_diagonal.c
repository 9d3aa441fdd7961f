#include "optim/linear/pc_block_diagonal.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/team.h"
#include "optim/linear/block3_inverse.h"
#include "optim/linear/mat_block3.h"
#include "optim/linear/petsc_private.h"

enum { PARALLEL_BLOCKS = 4096 };

typedef struct {
  int64_t n;       /* local blocks */
  double *inverse; /* [n][9] */
  int64_t n_regularised;
} PC_BlockDiagonal;

/* Blocks of a matrix that does not offer them, entry by entry. */
static PetscErrorCode blocks_by_entries(Mat A, double *block)
{
  PetscInt first, end;
  PetscFunctionBegin;
  PetscCheck(A->ops->getvalues && A->rmap->n % 3 == 0, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PC blockdiagonal: this matrix of type %s does not provide its 3x3 diagonal blocks; compose " SS_MAT_GET_BLOCK_DIAGONAL3
             " on it, or choose another -pc_type",
             ((PetscObject)A)->type_name);
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; i += 3) {
    const PetscInt index[3] = {i, i + 1, i + 2};
    PetscCall(MatGetValues(A, 3, index, 3, index, block + 3 * (int64_t)(i - first)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_BlockDiagonal(PC pc)
{
  PC_BlockDiagonal *b                       = pc->data;
  PetscErrorCode (*get)(Mat, PetscScalar *) = NULL;
  const int64_t n                           = pc->pmat->rmap->n / 3;
  double       *block;
  int64_t       n_regularised = 0, bad = n;
  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc->pmat, SS_MAT_GET_BLOCK_DIAGONAL3, &get));
  if (b->n != n) {
    memory_free(&b->inverse);
    PetscCall(memory_alloc("block diagonal", 9 * n, sizeof *b->inverse, &b->inverse));
    b->n = n;
  }
  PetscCall(memory_alloc("block diagonal set-up", 9 * n, sizeof *block, &block));
  if (get) PetscCall((*get)(pc->pmat, block));
  else PetscCall(blocks_by_entries(pc->pmat, block));
  const double scale   = team_max_abs(9 * n, block);
  double      *inverse = b->inverse;
#pragma omp parallel for schedule(static) reduction(+ : n_regularised) reduction(min : bad) if (n >= PARALLEL_BLOCKS)
  for (int64_t i = 0; i < n; ++i) {
    const int status = block3_inverse(block + 9 * i, scale > 0.0 ? scale : 1.0, inverse + 9 * i);
    n_regularised += status > 0;
    if (status < 0 && i < bad) bad = i;
  }
  memory_free(&block);
  b->n_regularised = n_regularised;
  if (bad < n) PetscCall(PetscInfo(pc, "diagonal block %lld is not finite\n", (long long)bad));
  pc->failedreasonrank = pc->failedreason = bad < n ? PC_SUBPC_ERROR : PC_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_BlockDiagonal(PC pc, Vec x, Vec y)
{
  PC_BlockDiagonal  *b = pc->data;
  const PetscScalar *xa;
  PetscScalar       *ya;
  const int64_t      n = b->n;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayWrite(y, &ya));
  const double *restrict d = b->inverse, *restrict in = xa;
  double *restrict out = ya;
#pragma omp parallel for schedule(static) if (n >= PARALLEL_BLOCKS)
  for (int64_t i = 0; i < n; ++i)
    for (int r = 0; r < 3; ++r)
      out[3 * i + r] = d[9 * i + 3 * r] * in[3 * i] + d[9 * i + 3 * r + 1] * in[3 * i + 1] + d[9 * i + 3 * r + 2] * in[3 * i + 2];
  PetscCall(VecRestoreArrayWrite(y, &ya));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(PetscLogFlops(15.0 * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_BlockDiagonal(PC pc, PetscViewer viewer)
{
  PC_BlockDiagonal *b = pc->data;
  PetscBool         is_ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_ascii));
  if (is_ascii)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  blocks: %lld, of them regularised: %lld\n", (long long)b->n, (long long)b->n_regularised));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_BlockDiagonal(PC pc)
{
  PC_BlockDiagonal *b = pc->data;
  PetscFunctionBegin;
  memory_free(&b->inverse);
  b->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_BlockDiagonal(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_BlockDiagonal(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCCreate_BlockDiagonal(PC pc)
{
  PC_BlockDiagonal *b;
  PetscFunctionBegin;
  PetscCall(PetscNew(&b));
  pc->data         = b;
  pc->ops->setup   = PCSetUp_BlockDiagonal;
  pc->ops->apply   = PCApply_BlockDiagonal;
  pc->ops->view    = PCView_BlockDiagonal;
  pc->ops->reset   = PCReset_BlockDiagonal;
  pc->ops->destroy = PCDestroy_BlockDiagonal;
  PetscFunctionReturn(PETSC_SUCCESS);
}
