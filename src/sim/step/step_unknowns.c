/* Three cases, fastest first: all components are free (P = 1), P selects components, or P contains dependent nodes and matrices
 * are triple products P^T A P. */
#include "sim/step/step_unknowns.h"
#include "core/memory.h"
#include "core/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* index [n_full]: number of each component among the free ones; -1: prescribed or dependent. */
static PetscErrorCode number_free(const step_layout *l, step_unknowns *u, int32_t **index)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("free components", u->n_full, sizeof **index, index));
  for (int64_t i = 0; i < l->n_prescribed; ++i) (*index)[l->prescribed[i]] = -1;
  for (int64_t i = 0; i < l->dependent.n; ++i)
    for (int k = 0; k < 3; ++k) (*index)[3 * (int64_t)l->dependent.entry[i].block + k] = -1;
  for (int64_t i = 0; i < u->n_full; ++i)
    if ((*index)[i] == 0) (*index)[i] = (int32_t)u->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { PARALLEL = 4096 };

/* P without dependent nodes. */
static PetscErrorCode build_selection(const int32_t *index, step_unknowns *u)
{
  PetscFunctionBegin;
  u->P = (sparse_rows){.n_rows = u->n_full, .n_cols = u->n};
  PetscCall(MEMORY_ALLOC("free components", ARRAY(u->P.start, u->n_full + 1), ARRAY(u->P.col, u->n), ARRAY(u->P.value, u->n)));
  for (int64_t i = 0; i < u->n_full; ++i) u->P.start[i + 1] = u->P.start[i] + (index[i] >= 0);
  for (int64_t i = 0; i < u->n; ++i) u->P.col[i] = (int32_t)i, u->P.value[i] = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P with dependent nodes: one entry per free component, and one per dependency whose leader component is free. */
static PetscErrorCode build_map(const step_layout *l, const int32_t *index, step_unknowns *u)
{
  int64_t  n = 0;
  int32_t *row, *col;
  double  *value;
  PetscFunctionBegin;
  const int64_t most = u->n_full + 3 * l->dependent.n;
  PetscCall(MEMORY_ALLOC("free components", ARRAY(row, most), ARRAY(col, most), ARRAY(value, most)));
  for (int64_t i = 0; i < u->n_full; ++i)
    if (index[i] >= 0) row[n] = (int32_t)i, col[n] = index[i], value[n++] = 1.0;
  for (int64_t i = 0; i < l->dependent.n; ++i)
    for (int k = 0; k < 3; ++k) {
      const body_dependent_block *e  = &l->dependent.entry[i];
      const int32_t               to = index[3 * (int64_t)e->leader + k];
      if (to >= 0) row[n] = 3 * e->block + k, col[n] = to, value[n++] = e->weight;
    }
  PetscErrorCode code = sparse_rows_from_triplets("free components", u->n_full, u->n, n, row, col, value, &u->P);
  if (!code) code = sparse_rows_transposed(&u->P, &u->PT);
  MEMORY_FREE(&row, &col, &value);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_unknowns_create(const step_layout *l, step_unknowns *u)
{
  int32_t *index;
  PetscFunctionBegin;
  memset(u, 0, sizeof *u);
  u->n_full = 3 * l->n_blocks;
  PetscCheck(u->n_full <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%lld unknowns; at most %d are supported: choose a coarser spacing or fewer bodies", (long long)u->n_full, INT32_MAX);
  u->is_all       = l->n_prescribed == 0 && l->dependent.n == 0;
  u->is_selection = !u->is_all && l->dependent.n == 0;
  if (u->is_all) {
    u->n = u->n_full;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(number_free(l, u, &index));
  PetscErrorCode code = memory_alloc("free components", u->n, sizeof *u->own, &u->own);
  for (int64_t i = 0; i < u->n_full && !code; ++i)
    if (index[i] >= 0) u->own[index[i]] = (int32_t)i;
  if (!code) code = u->is_selection ? build_selection(index, u) : build_map(l, index, u);
  memory_free(&index);
  PetscCall(code);
  PetscCall(memory_alloc("known velocities", u->n_full, sizeof *u->known, &u->known));
  for (int64_t i = 0; i < l->n_prescribed; ++i) u->known[l->prescribed[i]] = l->prescribed_velocity[i];
  dependent_nodes_expand(&l->dependent, u->known); /* of the leaders, only prescribed components are nonzero here */
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_unknowns_destroy(step_unknowns *u)
{
  sparse_rows_destroy(&u->P);
  sparse_rows_destroy(&u->PT);
  MEMORY_FREE(&u->known, &u->own);
  u->n = u->n_full = 0;
}

/* v [n_full] = P y. */
static void step_unknowns_spread(const step_unknowns *u, const double *y, double *v)
{
  if (u->is_all) {
    memcpy(v, y, (size_t)u->n * sizeof *v);
    return;
  }
  if (!u->is_selection) {
    sparse_rows_apply(&u->P, y, v);
    return;
  }
  memset(v, 0, (size_t)u->n_full * sizeof *v);
#pragma omp parallel for schedule(static) if (u->n >= PARALLEL)
  for (int64_t i = 0; i < u->n; ++i) v[u->own[i]] = y[i];
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

void step_unknowns_fold(const step_unknowns *u, const double *x, double *y)
{
  if (u->is_selection) step_unknowns_select(u, x, y);
  else if (u->is_all) memcpy(y, x, (size_t)u->n * sizeof *y);
  else sparse_rows_apply(&u->PT, x, y);
}

void step_unknowns_select(const step_unknowns *u, const double *v, double *y)
{
  if (u->n == 0) return;
  if (u->is_all) {
    memcpy(y, v, (size_t)u->n * sizeof *y);
    return;
  }
#pragma omp parallel for schedule(static) if (u->n >= PARALLEL)
  for (int64_t i = 0; i < u->n; ++i) y[i] = v[u->own[i]];
}

double step_unknowns_norm(const step_unknowns *u, const step_layout *l, const double *x)
{
  double sum = 0.0;
  for (int64_t i = 0; i < u->n; ++i) {
    const double y = x[i] * l->inverse_scale[u->is_all ? i : u->own[i]];
    sum += y * y;
  }
  return sqrt(sum);
}

/* ---- assembled matrices ---------------------------------------------------------------------------------------------- */

/* Convert a block matrix to scalar rows; the sparsity pattern is kept, including zeros. */
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
      int64_t at               = 9 * start[i] + 3 * m * r;
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

/* Fill rows that contain only their diagonal block, for systems that assemble parts. */
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
      if (!keep[b->first_block + i]) memcpy(block_rows_at(H, b->first_block + i, b->first_block + i), own + 9 * i, 9 * sizeof *own);
    memory_free(&own);
    PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assemble all systems and average both triangles, whose sums may differ in the last bits. */
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

/* Index of each component of the global vector among the free ones, -1: not free. Without dependent nodes. */
static PetscErrorCode index_own(const step_unknowns *u, int32_t **index)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("free components", u->n_full, sizeof **index, index));
  for (int64_t i = 0; i < u->n_full; ++i) (*index)[i] = -1;
  for (int64_t i = 0; i < u->n; ++i) (*index)[u->own[i]] = (int32_t)i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Select the columns of free components in n_rows rows of a block matrix: the rows listed in `rows`, or the first n_rows. */
static PetscErrorCode select_blocks(const char *name, const step_unknowns *u, int64_t n_rows, const int32_t *rows, const int64_t *start,
                                    const int32_t *col, const double *value, sparse_rows *out)
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
  PetscErrorCode code = u->is_selection
                            ? select_blocks("matrix of the step", u, u->n, u->own, start, col, value, M)
                            : from_blocks("matrix of the step", l->n_blocks, u->n_full, start, col, value, u->is_all ? M : &full);
  MEMORY_FREE(&start, &col, &value);
  PetscCall(code);
  if (u->is_all || u->is_selection) PetscFunctionReturn(PETSC_SUCCESS);
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
  if (u->is_selection) {
    PetscCall(select_blocks("contact rows", u, 3 * j->n, NULL, j->start, j->block, j->value, H));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(from_blocks("contact rows", j->n, u->n_full, j->start, j->block, j->value, u->is_all ? H : &full));
  if (u->is_all) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sparse_rows_product(&full, &u->P, H));
  sparse_rows_destroy(&full);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== sparsity pattern ==== */

/* Additional couplings by row. */
typedef struct {
  int64_t *start; /* [n + 1] */
  int32_t *col;
} row_lists;

static PetscErrorCode list_pairs(const step_layout *l, int64_t n_pairs, const int32_t *row, const int32_t *col, row_lists *out)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contact couplings", ARRAY(out->start, l->n_blocks + 2), ARRAY(out->col, n_pairs)));
  for (int64_t k = 0; k < n_pairs; ++k) ++out->start[row[k] + 2];
  for (int64_t i = 0; i < l->n_blocks; ++i) out->start[i + 2] += out->start[i + 1];
  for (int64_t k = 0; k < n_pairs; ++k) out->col[out->start[row[k] + 1]++] = col[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True if the body contributes only the diagonal block to this row. */
static bool has_only_diagonal(const body *b, int64_t row, const bool *keep) { return keep && b->ops->assembles_part && !keep[row]; }

/* Couplings of body b alone. */
static int64_t own_row(const body *b, int64_t row, const bool *keep, int32_t *to)
{
  const bool is_part = keep && b->ops->assembles_part;
  int64_t    m       = 0;
  if (has_only_diagonal(b, row, keep)) {
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

/* Columns of a row of body b, ascending and unique; `to` is large enough for all. */
static int64_t merge_row(const body *b, int64_t row, const row_lists *extra, const bool *keep, int32_t *to)
{
  const int64_t n_extra = extra->start[row + 1] - extra->start[row];
  int64_t       n = own_row(b, row, keep, to), m = 0;
  if (n_extra == 0) return n;
  memcpy(to + n, extra->col + extra->start[row], (size_t)n_extra * sizeof *to);
  n += n_extra;
  qsort(to, (size_t)n, sizeof *to, sort_compare_int32);
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
  PetscCall(MEMORY_ALLOC("tangent rows", ARRAY(*row_start, l->n_blocks + 1), ARRAY(room, l->n_blocks + 1)));
  for (int k = 0; k < l->scene->n_systems; ++k) {
    const body *b = l->scene->systems[k];
    for (int64_t i = b->first_block; i < b->first_block + b->n_blocks; ++i)
      room[i + 1] = room[i] + (has_only_diagonal(b, i, keep) ? 1 : BODY_MAX_COUPLINGS) + extra.start[i + 1] - extra.start[i];
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
  for (int64_t i = 0; i < l->n_blocks; ++i) memcpy(*col + count[i], loose + room[i], (size_t)(count[i + 1] - count[i]) * sizeof *loose);
  MEMORY_FREE(&loose, &room, &extra.start, &extra.col);
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

/* ==== products with the tangent ==== */

void step_operator_destroy(step_operator *o) { memory_free(&o->x), memory_free(&o->y); }

bool step_operator_exists(const step_layout *l)
{
  bool exists = true;
  for (int i = 0; i < l->scene->n_systems; ++i) {
    const body *b = l->scene->systems[i];
    exists &= b->n_blocks == 0 || (b->ops->tangent && b->ops->block_diagonal);
  }
  return exists;
}

/* y [n_full] = (tangent of all systems) x */
static PetscErrorCode multiply(const step_layout *l, const double *x, double *y)
{
  PetscFunctionBegin;
  memset(y, 0, (size_t)(3 * l->n_blocks) * sizeof *y);
  for (int i = 0; i < l->scene->n_systems; ++i) {
    const body   *b      = l->scene->systems[i];
    const int64_t offset = 3 * b->first_block;
    if (b->n_blocks > 0) PetscCall(b->ops->tangent(b, x + offset, y + offset, false));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode operator_product(void *context, const double *x, double *y)
{
  step_operator *o = context;
  PetscFunctionBegin;
  ++o->n_products;
  if (o->u->is_all) {
    PetscCall(multiply(o->l, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  step_unknowns_spread(o->u, x, o->x);
  PetscCall(multiply(o->l, o->x, o->y));
  step_unknowns_fold(o->u, o->y, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *is [n_blocks]: which blocks of b are translational velocities. Rods also have blocks that are rotations. NULL: all are
 * translational. */
static PetscErrorCode find_places(const body *b, bool **is)
{
  PetscFunctionBegin;
  *is = NULL;
  if (!b->ops->segments || b->ops->points != POINT_WEIGHTED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("places", b->n_blocks, sizeof **is, is));
  for (int64_t c = 0; c < b->ops->n_clusters(b); ++c) {
    double  center[3], radius, weight[POINT_MAX_WEIGHTS];
    int32_t block[POINT_MAX_WEIGHTS];
    int64_t first, end;
    b->ops->cluster(b, c, center, &radius, &first, &end);
    for (int64_t i = first; i < end; ++i)
      for (int k = b->ops->point_row(b, i, block, weight) - 1; k >= 0; --k) (*is)[block[k]] = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
static bool is_place(const bool *is, const body *b, int64_t i) { return !is || is[i / 3 - b->first_block]; }

/* True if b can translate freely: the tangent applied to a uniform translation equals mass times translation. x, y: work arrays;
 * x is zero before and after. */
static PetscErrorCode is_shiftable(step_operator *o, const body *b, const bool *places, bool *is)
{
  static const double along[3] = {1.0, 0.7, -0.4};
  const int64_t       first = 3 * b->first_block, end = first + 3 * b->n_blocks;
  double              miss = 0.0, size = 0.0;
  PetscFunctionBegin;
  for (int64_t i = first; i < end; ++i) o->x[i] = is_place(places, b, i) ? along[i % 3] : 0.0, o->y[i] = 0.0;
  PetscCall(b->ops->tangent(b, o->x + first, o->y + first, false));
  for (int64_t i = first; i < end; ++i) {
    const double pull = o->l->scale[i] * o->x[i];
    miss += (o->y[i] - pull) * (o->y[i] - pull), size += pull * pull;
    o->x[i] = 0.0;
  }
  *is = miss <= 1e-18 * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Balance one system. */
static PetscErrorCode balance_system(step_operator *o, const body *b, const double *rest, double *v)
{
  const int64_t first = 3 * b->first_block, end = first + 3 * (b->ops->points == POINT_RIGID ? 1 : b->n_blocks);
  double        sum[3] = {0.0, 0.0, 0.0}, mass[3] = {0.0, 0.0, 0.0};
  bool         *places, is                        = true;
  PetscFunctionBegin;
  PetscCall(find_places(b, &places));
  const PetscErrorCode code = b->ops->points == POINT_RIGID ? PETSC_SUCCESS : is_shiftable(o, b, places, &is);
  for (int64_t i = first; i < end && !code && is; ++i)
    if (is_place(places, b, i)) sum[i % 3] += rest[i], mass[i % 3] += o->l->scale[i];
  for (int64_t i = first; i < end && !code && is; ++i)
    if (is_place(places, b, i)) v[i] -= sum[i % 3] / mass[i % 3];
  memory_free(&places);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shift each system so that the sum of its residual forces vanishes: uniformly, or the centre of a rigid body. */
static PetscErrorCode operator_balance(void *context, const double *rest, double *v)
{
  step_operator *o = context;
  PetscFunctionBegin;
  for (int s = 0; s < o->l->scene->n_systems && o->u->is_all; ++s) {
    const body *b = o->l->scene->systems[s];
    if (!b->ops->is_reduced && b->n_blocks > 0) PetscCall(balance_system(o, b, rest, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonal blocks of nodes. Three consecutive unknowns may belong to two nodes; those are not coupled in the block. */
static PetscErrorCode operator_blocks(void *context, double *block, double *weight)
{
  const step_operator *o    = context;
  const step_layout   *l    = o->l;
  const int64_t        n    = o->u->n;
  const int32_t       *own  = o->u->own;
  double              *full = block;
  PetscFunctionBegin;
  if (!o->u->is_all) PetscCall(memory_alloc("diagonal blocks", 9 * l->n_blocks, sizeof *full, &full));
  PetscErrorCode code = PETSC_SUCCESS;
  for (int s = 0; s < l->scene->n_systems && !code; ++s) {
    const body *b = l->scene->systems[s];
    if (b->n_blocks > 0) code = b->ops->block_diagonal(b, full + 9 * b->first_block);
  }
#pragma omp parallel for schedule(static) if (n >= PARALLEL)
  for (int64_t q = 0; q < (n + 2) / 3; ++q)
    for (int i = 0; i < 3; ++i) {
      const int64_t r  = 3 * q + i;
      double *const to = block + 9 * q + 3 * i;
      if (!o->u->is_all) to[i] = 1.0;
      if (r >= n) continue;
      const int64_t from = o->u->is_all ? r : own[r];
      weight[r]          = l->inverse_scale[from] * l->inverse_scale[from];
      for (int64_t j = 0; j < 3 && 3 * q + j < n && !o->u->is_all; ++j)
        if (own[3 * q + j] / 3 == from / 3) to[j] = full[9 * (from / 3) + 3 * (from % 3) + own[3 * q + j] % 3];
    }
  if (!o->u->is_all) memory_free(&full);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_operator_create(const step_layout *l, const step_unknowns *u, const sparse_rows *A, step_operator *o)
{
  PetscFunctionBegin;
  *o = (step_operator){
      .l = l, .u = u, .operator= {.product = operator_product, .balance = operator_balance, .A = A, .n = u->n, .blocks = operator_blocks} };
  o->operator.context = o;
  PetscCall(MEMORY_ALLOC("products", ARRAY(o->x, u->n_full), ARRAY(o->y, u->n_full)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
