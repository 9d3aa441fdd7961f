#include "sim/penalty/penalty_matrix.h"
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "optim/linear/mat_block3.h"
#include "sim/step/step_pattern.h"
#include <string.h>

static PetscErrorCode has_pattern(Mat P, int64_t n, const int64_t *row_start, const int32_t *col, bool *same)
{
  block3_view view;
  PetscFunctionBegin;
  *same = false;
  if (!P) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mat_block3_get(P, &view));
  *same = view.n == n && memcmp(view.row_start, row_start, (size_t)(n + 1) * sizeof *row_start) == 0 &&
          memcmp(view.col, col, (size_t)row_start[n] * sizeof *col) == 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_matrix_lay_out(const penalty_system *p, Mat *P)
{
  const step_layout *l = &p->layout;
  int64_t           *row_start, n_pairs;
  int32_t           *col, *pair_row, *pair_col;
  bool               same;
  PetscFunctionBegin;
  timer_begin(TIMER_PRECONDITIONER);
  PetscCall(penalty_contact_couplings(p->contact, &n_pairs, &pair_row, &pair_col));
  PetscCall(step_pattern(l, n_pairs, pair_row, pair_col, NULL, &row_start, &col));
  memory_free(&pair_row);
  memory_free(&pair_col);
  PetscCall(has_pattern(*P, l->n_blocks, row_start, col, &same));
  if (!same) {
    PetscCall(MatDestroy(P));
    PetscCall(mat_block3_create(l->scene->comm, l->n_blocks, row_start, col, NULL, false, P));
  }
  memory_free(&row_start);
  memory_free(&col);
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_matrix_assemble(const penalty_system *p, Mat P)
{
  block3_view view;
  PetscFunctionBegin;
  SS_ASSERT(p->has_tangent);
  timer_begin(TIMER_PRECONDITIONER);
  PetscCall(MatZeroEntries(P));
  PetscCall(mat_block3_get(P, &view));
  const block_rows H = {view.n, view.row_start, view.col, view.value};
  for (int k = 0; k < p->layout.scene->n_systems; ++k) PetscCall(p->layout.scene->systems[k]->ops->assemble(p->layout.scene->systems[k], &H));
  PetscCall(penalty_contact_assemble(p->contact, &H));
  for (int64_t i = 0; i < p->layout.n_prescribed; ++i) penalty_system_prescribe_row(p, i, &H);
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}
