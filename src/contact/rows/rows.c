/* Sparse rows of contacts and their transpose, see rows.h. */
#include "contact/rows/rows.h"
#include "core/memory.h"

struct contact_rows {
  int64_t  n, n_entries, n_touched, n_blocks;
  int64_t  pair_capacity, entry_capacity, touched_capacity, count_capacity;
  int64_t *start;  /* [n + 1] first entry of each pair */
  int32_t *block;  /* [n_entries] global blocks */
  double  *weight; /* [n_entries] */
  /* transpose */
  int32_t *touched;        /* [n_touched] ascending */
  int64_t *touched_start;  /* [n_touched + 1] */
  int32_t *touched_pair;   /* [n_entries] ascending within a block */
  double  *touched_weight; /* [n_entries] */
  int32_t *count;          /* [n_blocks] scratch: entries per block, then its position among the touched */
};

PetscErrorCode contact_rows_create(contact_rows **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contact rows", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_rows_destroy(contact_rows **r)
{
  if (!r || !*r) return;
  MEMORY_FREE(&(*r)->start, &(*r)->block, &(*r)->weight, &(*r)->touched, &(*r)->touched_start, &(*r)->touched_pair, &(*r)->touched_weight,
              &(*r)->count, r);
}

int64_t           contact_rows_n_entries(const contact_rows *r) { return r->n_entries; }
contact_rows_view contact_rows_get(const contact_rows *r)
{
  return (contact_rows_view){r->n_touched, r->start, r->touched_start, r->block, r->touched, r->touched_pair, r->weight, r->touched_weight};
}

static PetscErrorCode reserve_pairs(contact_rows *r, int64_t n, int64_t n_blocks)
{
  PetscFunctionBeginUser;
  PetscCall(memory_reserve("contact row starts", n + 1, sizeof *r->start, &r->pair_capacity, &r->start));
  PetscCall(memory_reserve("contact block counts", n_blocks, sizeof *r->count, &r->count_capacity, &r->count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reserve_entries(contact_rows *r, int64_t n)
{
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("contact rows", n, &r->entry_capacity, ARRAY(r->block, 1), ARRAY(r->weight, 1), ARRAY(r->touched_pair, 1),
                           ARRAY(r->touched_weight, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transpose by counting sort: pairs are ascending at every block. */
static PetscErrorCode transpose(contact_rows *r)
{
  PetscFunctionBeginUser;
  int64_t n_touched = 0;
  for (int64_t b = 0; b < r->n_blocks; ++b) r->count[b] = 0;
  for (int64_t e = 0; e < r->n_entries; ++e) n_touched += r->count[r->block[e]]++ == 0;
  PetscCall(MEMORY_RESERVE("contact rows", n_touched + 1, &r->touched_capacity, ARRAY(r->touched, 1), ARRAY(r->touched_start, 1)));
  r->n_touched        = n_touched;
  r->touched_start[0] = 0;
  /* While filling, touched_start[t + 1] is the next free entry of block t; afterwards it is its end. */
  int64_t t = 0, sum = 0;
  for (int64_t b = 0; b < r->n_blocks; ++b) {
    if (r->count[b] == 0) continue;
    r->touched[t]           = (int32_t)b;
    r->touched_start[t + 1] = sum;
    sum += r->count[b];
    r->count[b] = (int32_t)t++;
  }
  for (int64_t i = 0; i < r->n; ++i)
    for (int64_t e = r->start[i]; e < r->start[i + 1]; ++e) {
      const int64_t to      = r->touched_start[r->count[r->block[e]] + 1]++;
      r->touched_pair[to]   = (int32_t)i;
      r->touched_weight[to] = r->weight[e];
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_rows_build(contact_rows *r, int64_t n, const contact_candidate *candidates, const contact_source *sources,
                                  int64_t n_blocks)
{
  PetscFunctionBeginUser;
  PetscCall(reserve_pairs(r, n, n_blocks));
  r->n                 = n;
  r->n_blocks          = n_blocks;
  int64_t *const start = r->start;
  /* Two passes through the rows: first their lengths, then the entries at their final indices. */
  start[0] = 0;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    const body *b = sources[candidates[i].i_source].b;
    int32_t     block[POINT_MAX_WEIGHTS];
    double      weight[POINT_MAX_WEIGHTS];
    start[i + 1] = b->ops->points == POINT_WEIGHTED ? b->ops->point_row(b, candidates[i].i_point, block, weight) : 0;
  }
  for (int64_t i = 0; i < n; ++i) start[i + 1] += start[i];
  r->n_entries = start[n];
  PetscCall(reserve_entries(r, r->n_entries));
  int32_t *const all_blocks  = r->block;
  double *const  all_weights = r->weight;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    const body *b = sources[candidates[i].i_source].b;
    if (start[i + 1] == start[i]) continue;
    int32_t   block[POINT_MAX_WEIGHTS];
    double    weight[POINT_MAX_WEIGHTS];
    const int m = b->ops->point_row(b, candidates[i].i_point, block, weight);
    for (int k = 0; k < m; ++k) {
      SS_ASSERT(block[k] >= 0 && block[k] < b->n_blocks && b->first_block + block[k] < n_blocks);
      all_blocks[start[i] + k]  = (int32_t)(b->first_block + block[k]);
      all_weights[start[i] + k] = weight[k];
    }
  }
  PetscCall(transpose(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_rows_build_single(contact_rows *r, int64_t n, const int32_t *block, int64_t n_blocks)
{
  PetscFunctionBeginUser;
  PetscCall(reserve_pairs(r, n, n_blocks));
  PetscCall(reserve_entries(r, n));
  r->n         = n;
  r->n_entries = n;
  r->n_blocks  = n_blocks;
  for (int64_t i = 0; i < n; ++i) {
    r->start[i]  = i;
    r->block[i]  = block[i];
    r->weight[i] = 1.0;
  }
  r->start[n] = n;
  PetscCall(transpose(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_rows_gather(const contact_rows *r, double scale, const double *restrict v, const uint8_t *is_wanted, double *restrict out)
{
  const int64_t n                     = r->n;
  const int64_t *const restrict start = r->start;
  const int32_t *const restrict block = r->block;
  const double *const restrict weight = r->weight;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    if (is_wanted && !is_wanted[i]) continue;
    double sx = 0.0, sy = 0.0, sz = 0.0;
    for (int64_t e = start[i]; e < start[i + 1]; ++e) {
      const double *const x = v + 3 * (int64_t)block[e];
      sx += weight[e] * x[0];
      sy += weight[e] * x[1];
      sz += weight[e] * x[2];
    }
    out[3 * i]     = scale * sx;
    out[3 * i + 1] = scale * sy;
    out[3 * i + 2] = scale * sz;
  }
}

void contact_rows_scatter(const contact_rows *r, double scale, const double *restrict f, double *restrict y)
{
  const int64_t n                     = r->n_touched;
  const int64_t *const restrict start = r->touched_start;
  const int32_t *const restrict pair  = r->touched_pair;
  const double *const restrict weight = r->touched_weight;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t t = 0; t < n; ++t) {
    double sx = 0.0, sy = 0.0, sz = 0.0;
    for (int64_t e = start[t]; e < start[t + 1]; ++e) {
      const double *const p = f + 3 * (int64_t)pair[e];
      sx += weight[e] * p[0];
      sy += weight[e] * p[1];
      sz += weight[e] * p[2];
    }
    double *const o = y + 3 * (int64_t)r->touched[t];
    o[0] += scale * sx;
    o[1] += scale * sy;
    o[2] += scale * sz;
  }
}

void contact_rows_scatter_squares(const contact_rows *r, double scale, const double *restrict m, double *restrict d)
{
  const int64_t n                     = r->n_touched;
  const int64_t *const restrict start = r->touched_start;
  const int32_t *const restrict pair  = r->touched_pair;
  const double *const restrict weight = r->touched_weight;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t t = 0; t < n; ++t) {
    double sum[9] = {0.0};
    for (int64_t e = start[t]; e < start[t + 1]; ++e) {
      const double        w = weight[e] * weight[e];
      const double *const p = m + 9 * (int64_t)pair[e];
#pragma omp simd
      for (int k = 0; k < 9; ++k) sum[k] += w * p[k];
    }
    double *const o = d + 9 * (int64_t)r->touched[t];
    for (int k = 0; k < 9; ++k) o[k] += scale * sum[k];
  }
}
