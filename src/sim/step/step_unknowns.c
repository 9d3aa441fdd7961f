#include "sim/step/step_unknowns.h"
#include "core/memory.h"
#include "sim/step/step_pattern.h"
#include <string.h>

/* index [n_full]: number among the free components, -1: prescribed, or a follower's. */
static PetscErrorCode number_free(const step_layout *l, step_unknowns *u, int32_t **index)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("free components", u->n_full, sizeof **index, index));
  for (int64_t i = 0; i < l->n_prescribed; ++i) (*index)[l->prescribed[i]] = -1;
  for (int64_t i = 0; i < l->led.n; ++i)
    for (int k = 0; k < 3; ++k) (*index)[3 * (int64_t)l->led.entry[i].block + k] = -1;
  for (int64_t i = 0; i < u->n_full; ++i)
    if ((*index)[i] == 0) (*index)[i] = (int32_t)u->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { PARALLEL = 4096 };

/* P where there are no followers. */
static PetscErrorCode build_picks(const int32_t *index, step_unknowns *u)
{
  PetscFunctionBegin;
  u->P = (sparse_rows){.n_rows = u->n_full, .n_cols = u->n};
  PetscCall(memory_alloc("free components", u->n_full + 1, sizeof *u->P.start, &u->P.start));
  PetscCall(memory_alloc("free components", u->n, sizeof *u->P.col, &u->P.col));
  PetscCall(memory_alloc("free components", u->n, sizeof *u->P.value, &u->P.value));
  for (int64_t i = 0; i < u->n_full; ++i) u->P.start[i + 1] = u->P.start[i] + (index[i] >= 0);
  for (int64_t i = 0; i < u->n; ++i) u->P.col[i] = (int32_t)i, u->P.value[i] = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of P: one for each free component and each entry of followers whose leader's component is free. */
static PetscErrorCode build_map(const step_layout *l, const int32_t *index, step_unknowns *u)
{
  int64_t  n = 0;
  int32_t *row, *col;
  double  *value;
  PetscFunctionBegin;
  const int64_t most = u->n_full + 3 * l->led.n;
  PetscCall(memory_alloc("free components", most, sizeof *row, &row));
  PetscCall(memory_alloc("free components", most, sizeof *col, &col));
  PetscCall(memory_alloc("free components", most, sizeof *value, &value));
  for (int64_t i = 0; i < u->n_full; ++i)
    if (index[i] >= 0) row[n] = (int32_t)i, col[n] = index[i], value[n++] = 1.0;
  for (int64_t i = 0; i < l->led.n; ++i)
    for (int k = 0; k < 3; ++k) {
      const body_follower *e = &l->led.entry[i];
      const int32_t        to = index[3 * (int64_t)e->leader + k];
      if (to >= 0) row[n] = 3 * e->block + k, col[n] = to, value[n++] = e->weight;
    }
  PetscErrorCode code = sparse_rows_from_triplets("free components", u->n_full, u->n, n, row, col, value, &u->P);
  if (!code) code = sparse_rows_transposed(&u->P, &u->PT);
  memory_free(&row);
  memory_free(&col);
  memory_free(&value);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_unknowns_create(const step_layout *l, step_unknowns *u)
{
  int32_t *index;
  PetscFunctionBegin;
  memset(u, 0, sizeof *u);
  u->n_full = 3 * l->n_blocks;
  PetscCheck(u->n_full <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%lld unknowns: more than can be numbered",
             (long long)u->n_full);
  u->is_all    = l->n_prescribed == 0 && l->led.n == 0;
  u->is_picked = !u->is_all && l->led.n == 0;
  if (u->is_all) {
    u->n = u->n_full;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(number_free(l, u, &index));
  PetscErrorCode code = memory_alloc("free components", u->n, sizeof *u->own, &u->own);
  for (int64_t i = 0; i < u->n_full && !code; ++i)
    if (index[i] >= 0) u->own[index[i]] = (int32_t)i;
  if (!code) code = u->is_picked ? build_picks(index, u) : build_map(l, index, u);
  memory_free(&index);
  PetscCall(code);
  PetscCall(memory_alloc("known velocities", u->n_full, sizeof *u->known, &u->known));
  for (int64_t i = 0; i < l->n_prescribed; ++i) u->known[l->prescribed[i]] = l->prescribed_velocity[i];
  followers_expand(&l->led, u->known); /* of what leads, only prescribed components are not 0 */
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_unknowns_destroy(step_unknowns *u)
{
  sparse_rows_destroy(&u->P);
  sparse_rows_destroy(&u->PT);
  memory_free(&u->known);
  memory_free(&u->own);
  u->n = u->n_full = 0;
}

void step_unknowns_expand(const step_unknowns *u, const double *y, double *v)
{
  if (u->is_all) {
    memcpy(v, y, (size_t)u->n * sizeof *v);
    return;
  }
  step_unknowns_spread(u, y, v);
#pragma omp parallel for simd schedule(static) if (u->n_full >= PARALLEL)
  for (int64_t i = 0; i < u->n_full; ++i) v[i] += u->known[i];
}

void step_unknowns_spread(const step_unknowns *u, const double *y, double *v)
{
  if (u->is_all) {
    memcpy(v, y, (size_t)u->n * sizeof *v);
    return;
  }
  if (!u->is_picked) {
    sparse_rows_apply(&u->P, y, v);
    return;
  }
  memset(v, 0, (size_t)u->n_full * sizeof *v);
#pragma omp parallel for schedule(static) if (u->n >= PARALLEL)
  for (int64_t i = 0; i < u->n; ++i) v[u->own[i]] = y[i];
}

void step_unknowns_fold(const step_unknowns *u, const double *x, double *y)
{
  if (u->is_picked) step_unknowns_pick(u, x, y);
  else if (u->is_all) memcpy(y, x, (size_t)u->n * sizeof *y);
  else sparse_rows_apply(&u->PT, x, y);
}

void step_unknowns_pick(const step_unknowns *u, const double *v, double *y)
{
  if (u->is_all) {
    memcpy(y, v, (size_t)u->n * sizeof *y);
    return;
  }
#pragma omp parallel for schedule(static) if (u->n >= PARALLEL)
  for (int64_t i = 0; i < u->n; ++i) y[i] = v[u->own[i]];
}

/* ---- matrices -------------------------------------------------------------------------------------------------------- */

/* A matrix of blocks as scalar rows: what is in the pattern stays in it, zero or not. */
static PetscErrorCode from_blocks(const char *name, int64_t n_rows, int64_t n_cols, const int64_t *start, const int32_t *col,
                                  const double *value, sparse_rows *out)
{
  int64_t *row_start;
  int32_t *scalar_col;
  double  *scalar;
  PetscFunctionBegin;
  PetscCall(memory_alloc(name, 3 * n_rows + 1, sizeof *row_start, &row_start));
  PetscCall(memory_alloc(name, 9 * start[n_rows], sizeof *scalar_col, &scalar_col));
  PetscCall(memory_alloc(name, 9 * start[n_rows], sizeof *scalar, &scalar));
#pragma omp parallel for schedule(static) if (n_rows > 256)
  for (int64_t i = 0; i < n_rows; ++i) {
    const int64_t m = start[i + 1] - start[i];
    for (int r = 0; r < 3; ++r) {
      int64_t at                = 9 * start[i] + 3 * m * r;
      row_start[3 * i + r + 1] = at + 3 * m;
      for (int64_t e = start[i]; e < start[i + 1]; ++e)
        for (int c = 0; c < 3; ++c, ++at) {
          scalar_col[at] = 3 * col[e] + c;
          scalar[at]     = value[9 * e + 3 * r + c];
        }
    }
  }
  PetscCall(sparse_rows_adopt(name, 3 * n_rows, n_cols, row_start, scalar_col, scalar, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that have nothing but their diagonal, of systems that were asked for parts. */
static PetscErrorCode fill_diagonals(const step_layout *l, const bool *keep, const block_rows *H)
{
  PetscFunctionBegin;
  for (int k = 0; k < l->scene->n_systems; ++k) {
    const body *b = l->scene->systems[k];
    double     *own;
    if (!b->ops->assembles_part || b->n_blocks == 0) continue;
    PetscCall(memory_alloc("diagonal blocks", 9 * b->n_blocks, sizeof *own, &own));
    const PetscErrorCode code = b->ops->block_diagonal(b, own);
#pragma omp parallel for schedule(static) if (b->n_blocks > 256)
    for (int64_t i = 0; i < b->n_blocks; ++i)
      if (!keep[b->first_block + i])
        memcpy(block_rows_at(H, b->first_block + i, b->first_block + i), own + 9 * i, 9 * sizeof *own);
    memory_free(&own);
    PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the systems assemble, both triangles made the same: their sums may differ in the last bits. */
static PetscErrorCode assemble(const step_layout *l, const bool *keep, int64_t **start, int32_t **col, double **value)
{
  PetscFunctionBegin;
  PetscCall(step_pattern(l, 0, NULL, NULL, keep, start, col));
  PetscCall(memory_alloc("matrix of the step", 9 * (*start)[l->n_blocks], sizeof **value, value));
  const block_rows H = {l->n_blocks, *start, *col, *value};
  for (int k = 0; k < l->scene->n_systems; ++k) PetscCall(l->scene->systems[k]->ops->assemble(l->scene->systems[k], &H));
  if (keep) PetscCall(fill_diagonals(l, keep, &H));
#pragma omp parallel for schedule(static) if (l->n_blocks > 256)
  for (int64_t i = 0; i < l->n_blocks; ++i)
    for (int64_t e = (*start)[i]; e < (*start)[i + 1]; ++e) {
      if ((*col)[e] > i) continue;
      double *const lower = (*value) + 9 * e, *const upper = block_rows_at(&H, (*col)[e], i);
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
          if ((*col)[e] == i && c > r) continue;
          const double mean = 0.5 * (lower[3 * r + c] + upper[3 * c + r]);
          lower[3 * r + c] = upper[3 * c + r] = mean;
        }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of each component of the global vector among the free ones, -1: it is not free. Where there are no followers. */
static PetscErrorCode index_own(const step_unknowns *u, int32_t **index)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("free components", u->n_full, sizeof **index, index));
  for (int64_t i = 0; i < u->n_full; ++i) (*index)[i] = -1;
  for (int64_t i = 0; i < u->n; ++i) (*index)[u->own[i]] = (int32_t)i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of free components, of n_rows rows of a matrix of blocks: those in `rows`, or the first ones. */
static PetscErrorCode select_blocks(const char *name, const step_unknowns *u, int64_t n_rows, const int32_t *rows, const int64_t *start, const int32_t *col,
                                    const double *value, sparse_rows *out)
{
  int32_t *index, *to;
  int64_t *row;
  double  *picked;
  PetscFunctionBegin;
  PetscCall(index_own(u, &index));
  PetscCall(memory_alloc(name, n_rows + 1, sizeof *row, &row));
#pragma omp parallel for schedule(static) if (n_rows > 1024)
  for (int64_t i = 0; i < n_rows; ++i) {
    const int64_t block = (rows ? rows[i] : i) / 3;
    for (int64_t e = start[block]; e < start[block + 1]; ++e)
      for (int c = 0; c < 3; ++c) row[i + 1] += index[3 * (int64_t)col[e] + c] >= 0;
  }
  for (int64_t i = 0; i < n_rows; ++i) row[i + 1] += row[i];
  PetscCall(memory_alloc(name, row[n_rows], sizeof *to, &to));
  PetscCall(memory_alloc(name, row[n_rows], sizeof *picked, &picked));
#pragma omp parallel for schedule(static) if (n_rows > 1024)
  for (int64_t i = 0; i < n_rows; ++i) {
    const int64_t from = rows ? rows[i] : i, block = from / 3, r = from % 3;
    for (int64_t e = start[block], at = row[i]; e < start[block + 1]; ++e)
      for (int c = 0; c < 3; ++c) {
        const int32_t j = index[3 * (int64_t)col[e] + c];
        if (j >= 0) to[at] = j, picked[at++] = value[9 * e + 3 * r + c];
      }
  }
  memory_free(&index);
  PetscCall(sparse_rows_adopt(name, n_rows, u->n, row, to, picked, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_unknowns_mass(const step_unknowns *u, const step_layout *l, const bool *keep, sparse_rows *M)
{
  int64_t    *start;
  int32_t    *col;
  double     *value;
  sparse_rows full, half;
  PetscFunctionBegin;
  PetscCall(assemble(l, keep, &start, &col, &value));
  PetscErrorCode code = u->is_picked ? select_blocks("matrix of the step", u, u->n, u->own, start, col, value, M)
                                  : from_blocks("matrix of the step", l->n_blocks, u->n_full, start, col, value, u->is_all ? M : &full);
  memory_free(&start);
  memory_free(&col);
  memory_free(&value);
  PetscCall(code);
  if (u->is_all || u->is_picked) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sparse_rows_product(&full, &u->P, &half));
  sparse_rows_destroy(&full);
  PetscCall(sparse_rows_product(&u->PT, &half, M));
  sparse_rows_destroy(&half);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_unknowns_jacobian(const step_unknowns *u, const contact_jacobian *j, sparse_rows *H)
{
  sparse_rows full;
  PetscFunctionBegin;
  if (u->is_picked) {
    PetscCall(select_blocks("contact rows", u, 3 * j->n, NULL, j->start, j->block, j->value, H));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(from_blocks("contact rows", j->n, u->n_full, j->start, j->block, j->value, u->is_all ? H : &full));
  if (u->is_all) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sparse_rows_product(&full, &u->P, H));
  sparse_rows_destroy(&full);
  PetscFunctionReturn(PETSC_SUCCESS);
}
