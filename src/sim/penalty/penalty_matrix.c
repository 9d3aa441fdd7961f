#include "sim/penalty/penalty_matrix.h"
#include "core/memory.h"
#include "core/timer.h"
#include "optim/mat_block3.h"
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) { return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b); }

/* Extra couplings by row. */
typedef struct {
  int64_t *start; /* [n + 1] */
  int32_t *col;
} row_lists;

static PetscErrorCode list_contacts(const penalty_system *p, row_lists *out)
{
  int64_t  n_pairs;
  int32_t *row, *col;
  PetscFunctionBegin;
  PetscCall(penalty_contact_couplings(p->contact, &n_pairs, &row, &col));
  PetscCall(memory_alloc("contact couplings", p->n_blocks + 2, sizeof *out->start, &out->start));
  PetscCall(memory_alloc("contact couplings", n_pairs, sizeof *out->col, &out->col));
  for (int64_t k = 0; k < n_pairs; ++k) ++out->start[row[k] + 2];
  for (int64_t i = 0; i < p->n_blocks; ++i) out->start[i + 2] += out->start[i + 1];
  for (int64_t k = 0; k < n_pairs; ++k) out->col[out->start[row[k] + 1]++] = col[k];
  memory_free(&row);
  memory_free(&col);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of a row of body b, ascending and unique; `to` has room for all. */
static int64_t merge_row(const body *b, int64_t row, const row_lists *extra, int32_t *to)
{
  const int64_t n_extra = extra->start[row + 1] - extra->start[row];
  int64_t       n = b->ops->couplings(b, row - b->first_block, to), m = 0;
  for (int64_t k = 0; k < n; ++k) to[k] += (int32_t)b->first_block;
  if (n_extra == 0) return n;
  memcpy(to + n, extra->col + extra->start[row], (size_t)n_extra * sizeof *to);
  n += n_extra;
  qsort(to, (size_t)n, sizeof *to, compare);
  for (int64_t k = 0; k < n; ++k)
    if (m == 0 || to[k] != to[m - 1]) to[m++] = to[k];
  return m;
}

static PetscErrorCode find_pattern(const penalty_system *p, int64_t **row_start, int32_t **col)
{
  row_lists extra = {NULL, NULL};
  int64_t  *room;
  int32_t  *loose;
  PetscFunctionBegin;
  PetscCall(list_contacts(p, &extra));
  PetscCall(memory_alloc("tangent rows", p->n_blocks + 1, sizeof **row_start, row_start));
  PetscCall(memory_alloc("tangent rows", p->n_blocks + 1, sizeof *room, &room));
  for (int64_t i = 0; i < p->n_blocks; ++i) room[i + 1] = room[i] + BODY_MAX_COUPLINGS + extra.start[i + 1] - extra.start[i];
  PetscCall(memory_alloc("tangent columns", room[p->n_blocks], sizeof *loose, &loose));
  int64_t *const count = *row_start;
  for (int k = 0; k < p->scene->n_systems; ++k) {
    const body   *b   = p->scene->systems[k];
    const int64_t end = b->first_block + b->n_blocks;
#pragma omp parallel for schedule(static) if (b->n_blocks > 256)
    for (int64_t i = b->first_block; i < end; ++i) count[i + 1] = merge_row(b, i, &extra, loose + room[i]);
  }
  for (int64_t i = 0; i < p->n_blocks; ++i) count[i + 1] += count[i];
  PetscCall(memory_alloc("tangent columns", count[p->n_blocks], sizeof **col, col));
  for (int64_t i = 0; i < p->n_blocks; ++i) memcpy(*col + count[i], loose + room[i], (size_t)(count[i + 1] - count[i]) * sizeof *loose);
  memory_free(&loose);
  memory_free(&room);
  memory_free(&extra.start);
  memory_free(&extra.col);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  int64_t *row_start;
  int32_t *col;
  bool     same;
  PetscFunctionBegin;
  timer_begin(TIMER_PRECONDITIONER);
  PetscCall(find_pattern(p, &row_start, &col));
  PetscCall(has_pattern(*P, p->n_blocks, row_start, col, &same));
  if (!same) {
    PetscCall(MatDestroy(P));
    PetscCall(mat_block3_create(p->scene->comm, p->n_blocks, row_start, col, NULL, false, P));
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
  for (int k = 0; k < p->scene->n_systems; ++k) PetscCall(p->scene->systems[k]->ops->assemble(p->scene->systems[k], &H));
  PetscCall(penalty_contact_assemble(p->contact, &H));
  for (int64_t i = 0; i < p->n_prescribed; ++i) penalty_system_prescribe_row(p, i, &H);
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}
