/* Selects the diagonal, the sweeps of bounds_sweeps.h or the V-cycle of bounds_levels.h. */
#include "optim/bounds/bounds_face.h"
#include "core/memory.h"
#include "optim/bounds/bounds_levels.h"
#include "optim/bounds/bounds_sweeps.h"
#include <string.h>

struct bounds_face {
  const bounds_qp *q;
  int              kind;
  int64_t          n_grid; /* unknowns handled by the preconditioner of the grid; the others are scaled by the diagonal */
  bool             is_set;
  uint8_t         *is_free; /* [n] */
  bounds_sweeps   *sweeps;  /* of ssor and mic; else NULL */
};

static PetscErrorCode allocate_preconditioner(bounds_face *f)
{
  grid_matrix *grid = f->q->grid;
  PetscFunctionBegin;
  PetscCall(memory_alloc("face preconditioner's free set", f->q->n, 1, &f->is_free));
  if (f->kind == BOUNDS_PRECONDITIONER_NONE || f->kind == BOUNDS_PRECONDITIONER_JACOBI || !grid) PetscFunctionReturn(PETSC_SUCCESS);
  f->n_grid = grid->n;
  if (f->kind != BOUNDS_PRECONDITIONER_MULTIGRID) PetscCall(bounds_sweeps_create(grid, &f->sweeps));
  else PetscCall(bounds_levels_require(grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bounds_face_create(const bounds_qp *q, int preconditioner, bounds_face **out)
{
  bounds_face *f = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("face preconditioner", 1, sizeof *f, &f));
  *out                      = f;
  f->q                      = q;
  f->kind                   = preconditioner;
  const PetscErrorCode code = allocate_preconditioner(f);
  if (code) bounds_face_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void bounds_face_destroy(bounds_face **f)
{
  if (!*f) return;
  memory_free(&(*f)->is_free), bounds_sweeps_destroy(&(*f)->sweeps);
  memory_free(f);
}

void bounds_face_update(bounds_face *f, const uint8_t *is_free)
{
  const size_t n = (size_t)f->q->n;
  if (f->is_set && memcmp(f->is_free, is_free, n) == 0) return;
  memcpy(f->is_free, is_free, n);
  f->is_set = true;
  if (f->n_grid == 0) return;
  if (f->kind == BOUNDS_PRECONDITIONER_SSOR) bounds_sweeps_ssor(f->sweeps, f->q->grid, is_free);
  else if (f->kind == BOUNDS_PRECONDITIONER_MIC) bounds_sweeps_mic(f->sweeps, f->q->grid, is_free);
  else bounds_levels_restrict(f->q->grid->levels, is_free);
}

void bounds_face_reset(bounds_face *f)
{
  f->is_set = false;
  if (f->n_grid == 0) return;
  if (f->kind == BOUNDS_PRECONDITIONER_MULTIGRID) bounds_levels_fill(f->q->grid->levels, f->q->grid);
  else bounds_sweeps_load(f->sweeps, f->q->grid);
}

static void scale_by_diagonal(const bounds_face *f, int64_t begin, const double *restrict r, double *restrict z)
{
  const int64_t n                 = f->q->n;
  const bool    is_scaled         = f->kind != BOUNDS_PRECONDITIONER_NONE;
  const double *restrict d        = f->q->diagonal;
  const uint8_t *restrict is_free = f->is_free;
  BOUNDS_CHUNKS(n)
  {
    BOUNDS_RANGE(n);
    for (int64_t i = first > begin ? first : begin; i < last; ++i) z[i] = is_free[i] ? (is_scaled ? r[i] / d[i] : r[i]) : 0.0;
  }
}

void bounds_face_apply(bounds_face *f, const double *restrict r, double *restrict z)
{
  if (f->n_grid < f->q->n) scale_by_diagonal(f, f->n_grid, r, z);
  if (f->n_grid == 0) return;
  if (f->kind == BOUNDS_PRECONDITIONER_MULTIGRID) bounds_levels_cycle(f->q->grid->levels, f->n_grid, r, z);
  else bounds_sweeps_apply(f->sweeps, f->q->grid, r, z);
}
