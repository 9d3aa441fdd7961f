#include "optim/linear/mat_row_scaled.h"
#include "core/error.h"
#include "optim/linear/mat_block3.h"
#include "optim/linear/petsc_private.h"

typedef struct {
  Mat A, pre;
  Vec dinv, scaled_input;
} row_scaled;

static PetscErrorCode row_scaled_mult(Mat S, Vec x, Vec y)
{
  row_scaled *s;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &s));
  PetscCall(MatMult(s->A, x, y));
  PetscCall(VecPointwiseMult(y, s->dinv, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode row_scaled_mult_transpose(Mat S, Vec x, Vec y)
{
  row_scaled *s;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &s));
  PetscCall(VecPointwiseMult(s->scaled_input, s->dinv, x));
  PetscCall(MatMultTranspose(s->A, s->scaled_input, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode row_scaled_diagonal(Mat S, Vec d)
{
  row_scaled *s;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &s));
  PetscCall(MatGetDiagonal(s->pre, d));
  PetscCall(VecPointwiseMult(d, s->dinv, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode row_scaled_block_diagonal(Mat S, PetscScalar *d)
{
  row_scaled        *s;
  const PetscScalar *dinv;
  PetscErrorCode (*get)(Mat, PetscScalar *) = NULL;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &s));
  PetscCall(PetscObjectQueryFunction((PetscObject)s->pre, SS_MAT_GET_BLOCK_DIAGONAL3, &get));
  PetscCall((*get)(s->pre, d));
  PetscCall(VecGetArrayRead(s->dinv, &dinv));
  for (int64_t i = 0; i < S->rmap->n / 3; ++i)
    for (int e = 0; e < 9; ++e) d[9 * i + e] *= dinv[3 * i + e / 3];
  PetscCall(VecRestoreArrayRead(s->dinv, &dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode row_scaled_destroy(Mat S)
{
  row_scaled *s;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &s));
  PetscCall(MatDestroy(&s->A));
  PetscCall(MatDestroy(&s->pre));
  PetscCall(VecDestroy(&s->dinv));
  PetscCall(VecDestroy(&s->scaled_input));
  PetscCall(PetscFree(s));
  PetscCall(PetscObjectComposeFunction((PetscObject)S, SS_MAT_GET_BLOCK_DIAGONAL3, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mat_row_scaled_create(Mat A, Mat pre, Vec dinv, Mat *out)
{
  row_scaled *s;
  VecType     vec_type;
  PetscErrorCode (*get)(Mat, PetscScalar *) = NULL;
  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(PetscObjectReference((PetscObject)pre));
  PetscCall(PetscObjectReference((PetscObject)dinv));
  s->A    = A;
  s->pre  = pre;
  s->dinv = dinv;
  PetscCall(VecDuplicate(dinv, &s->scaled_input));
  PetscCall(VecGetType(dinv, &vec_type));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)A), A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N, s, out));
  PetscCall(MatShellSetOperation(*out, MATOP_MULT, (void (*)(void))row_scaled_mult));
  PetscCall(MatShellSetOperation(*out, MATOP_MULT_TRANSPOSE, (void (*)(void))row_scaled_mult_transpose));
  PetscCall(MatShellSetOperation(*out, MATOP_GET_DIAGONAL, (void (*)(void))row_scaled_diagonal));
  PetscCall(MatShellSetOperation(*out, MATOP_DESTROY, (void (*)(void))row_scaled_destroy));
  PetscCall(MatShellSetVecType(*out, vec_type));
  PetscCall(PetscObjectQueryFunction((PetscObject)pre, SS_MAT_GET_BLOCK_DIAGONAL3, &get));
  if (get) PetscCall(PetscObjectComposeFunction((PetscObject)*out, SS_MAT_GET_BLOCK_DIAGONAL3, row_scaled_block_diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mat_row_scaled_for_preconditioner(Mat shell, Mat pre, Vec dinv, row_scaled_copy *c, Mat *out)
{
  PetscObjectId id;
  PetscFunctionBegin;
  if (!pre->ops->diagonalscale || !pre->ops->duplicate || !pre->ops->getrow) { /* a shell, or like one */
    PetscCall(PetscObjectStateIncrease((PetscObject)shell));
    *out = shell;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectGetId((PetscObject)pre, &id));
  if (c->copy && (c->source != id || c->pattern != pre->nonzerostate)) PetscCall(MatDestroy(&c->copy));
  if (!c->copy) PetscCall(MatDuplicate(pre, MAT_COPY_VALUES, &c->copy));
  else PetscCall(MatCopy(pre, c->copy, SAME_NONZERO_PATTERN));
  c->source  = id;
  c->pattern = pre->nonzerostate;
  PetscCall(MatDiagonalScale(c->copy, dinv, NULL));
  *out = c->copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}
