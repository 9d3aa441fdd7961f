#include "sim/step/step_pattern.h"
#include "core/memory.h"
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
  return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/* Extra couplings by row. */
typedef struct {
  int64_t *start; /* [n + 1] */
  int32_t *col;
} row_lists;

static PetscErrorCode list_pairs(const step_layout *l, int64_t n_pairs, const int32_t *row, const int32_t *col, row_lists *out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("contact couplings", l->n_blocks + 2, sizeof *out->start, &out->start));
  PetscCall(memory_alloc("contact couplings", n_pairs, sizeof *out->col, &out->col));
  for (int64_t k = 0; k < n_pairs; ++k) ++out->start[row[k] + 2];
  for (int64_t i = 0; i < l->n_blocks; ++i) out->start[i + 2] += out->start[i + 1];
  for (int64_t k = 0; k < n_pairs; ++k) out->col[out->start[row[k] + 1]++] = col[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has the body no more to say of this row than its diagonal? */
static bool is_bare(const body *b, int64_t row, const bool *keep) { return keep && b->ops->assembles_part && !keep[row]; }

/* Of body b alone. */
static int64_t own_row(const body *b, int64_t row, const bool *keep, int32_t *to)
{
  const bool is_part = keep && b->ops->assembles_part;
  int64_t    m       = 0;
  if (is_bare(b, row, keep)) {
    to[0] = (int32_t)row;
    return 1;
  }
  const int64_t n = b->ops->couplings(b, row - b->first_block, to);
  for (int64_t k = 0; k < n; ++k) {
    const int32_t col = to[k] + (int32_t)b->first_block;
    if (!is_part || keep[col]) to[m++] = col;
  }
  return m;
}

/* Columns of a row of body b, ascending and unique; `to` has room for all. */
static int64_t merge_row(const body *b, int64_t row, const row_lists *extra, const bool *keep, int32_t *to)
{
  const int64_t n_extra = extra->start[row + 1] - extra->start[row];
  int64_t       n = own_row(b, row, keep, to), m = 0;
  if (n_extra == 0) return n;
  memcpy(to + n, extra->col + extra->start[row], (size_t)n_extra * sizeof *to);
  n += n_extra;
  qsort(to, (size_t)n, sizeof *to, compare);
  for (int64_t k = 0; k < n; ++k)
    if (m == 0 || to[k] != to[m - 1]) to[m++] = to[k];
  return m;
}

PetscErrorCode step_pattern(const step_layout *l, int64_t n_pairs, const int32_t *pair_row, const int32_t *pair_col, const bool *keep,
                            int64_t **row_start, int32_t **col)
{
  row_lists extra = {NULL, NULL};
  int64_t  *room;
  int32_t  *loose;
  PetscFunctionBegin;
  PetscCall(list_pairs(l, n_pairs, pair_row, pair_col, &extra));
  PetscCall(memory_alloc("tangent rows", l->n_blocks + 1, sizeof **row_start, row_start));
  PetscCall(memory_alloc("tangent rows", l->n_blocks + 1, sizeof *room, &room));
  for (int k = 0; k < l->scene->n_systems; ++k) {
    const body *b = l->scene->systems[k];
    for (int64_t i = b->first_block; i < b->first_block + b->n_blocks; ++i)
      room[i + 1] = room[i] + (is_bare(b, i, keep) ? 1 : BODY_MAX_COUPLINGS) + extra.start[i + 1] - extra.start[i];
  }
  PetscCall(memory_alloc("tangent columns", room[l->n_blocks], sizeof *loose, &loose));
  int64_t *const count = *row_start;
  for (int k = 0; k < l->scene->n_systems; ++k) {
    const body   *b   = l->scene->systems[k];
    const int64_t end = b->first_block + b->n_blocks;
#pragma omp parallel for schedule(static) if (b->n_blocks > 256)
    for (int64_t i = b->first_block; i < end; ++i) count[i + 1] = merge_row(b, i, &extra, keep, loose + room[i]);
  }
  for (int64_t i = 0; i < l->n_blocks; ++i) count[i + 1] += count[i];
  PetscCall(memory_alloc("tangent columns", count[l->n_blocks], sizeof **col, col));
  for (int64_t i = 0; i < l->n_blocks; ++i)
    memcpy(*col + count[i], loose + room[i], (size_t)(count[i + 1] - count[i]) * sizeof *loose);
  memory_free(&loose);
  memory_free(&room);
  memory_free(&extra.start);
  memory_free(&extra.col);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double step_pattern_size(const step_layout *l)
{
  enum { LARGE = 4096, STRIDE = 16 };
  double size = 0.0;
  for (int k = 0; k < l->scene->n_systems; ++k) {
    const body   *b      = l->scene->systems[k];
    const int64_t stride = b->n_blocks > LARGE ? STRIDE : 1;
    int64_t       n      = 0;
#pragma omp parallel for schedule(static) reduction(+ : n) if (b->n_blocks > 256)
    for (int64_t i = 0; i < b->n_blocks; i += stride) {
      int32_t row[BODY_MAX_COUPLINGS];
      n += b->ops->couplings(b, i, row);
    }
    size += (double)(n * stride);
  }
  return size;
}
