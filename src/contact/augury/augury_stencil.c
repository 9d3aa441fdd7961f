/* Stencils between boundary points and grid nodes, see augury_stencil.h. */
#include "contact/augury/augury_stencil.h"
#include <omp.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "discretize/mpm/mpm_kernel.h"

enum { MOMENTS_PADDED = 8, MOST_ENTRIES = 2000000000 };
typedef double row8 __attribute__((vector_size(64)));

/* ---- positions of points ---------------------------------------------------------------------------------------------- */

static int64_t n_carriers(const stencil_parts *in) { return in->n_points + in->n_patches; }

/* Position of point j of carrier c, which is a point (then j = 0) or a patch. */
static void point_at(const stencil_parts *in, int64_t c, int64_t j, double x[3])
{
  if (c < in->n_points) {
    v3_copy(x, in->x + 3 * (int64_t)in->point[c]);
    return;
  }
  const int64_t  e    = in->patch[c - in->n_points];
  const int32_t *node = in->element + 3 * e;
  const double  *l    = in->samples->place[in->samples->start[e] + j];
  const double  *p = in->x + 3 * (int64_t)node[0], *q = in->x + 3 * (int64_t)node[1], *r = in->x + 3 * (int64_t)node[2];
  for (int k = 0; k < 3; ++k) x[k] = l[0] * p[k] + l[1] * q[k] + l[2] * r[k];
}

/* Compute the first nodes of all stencils. They are stored, because a second evaluation could round a point on the border of two cells to
 * the other cell. */
static PetscErrorCode augury_stencil_place(const stencil_parts *in, augury_stencil *s, int64_t low[3], int64_t high[3])
{
  const int64_t n     = n_carriers(in);
  int32_t       lo[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, hi[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
  PetscFunctionBegin;
  PetscCall(memory_reserve("places of points", n + 1, sizeof *s->base_start, &s->room[0], &s->base_start));
  s->base_start[0] = 0;
  for (int64_t c = 0; c < n; ++c) {
    const int64_t e      = c < in->n_points ? -1 : in->patch[c - in->n_points];
    s->base_start[c + 1] = s->base_start[c] + (e < 0 ? 1 : in->samples->start[e + 1] - in->samples->start[e]);
  }
  PetscCall(memory_reserve("places of points", s->base_start[n], sizeof *s->base, &s->room[1], &s->base));
#pragma omp parallel for schedule(static) reduction(min : lo) reduction(max : hi)
  for (int64_t c = 0; c < n; ++c)
    for (int64_t j = 0; j < s->base_start[c + 1] - s->base_start[c]; ++j) {
      double   x[3];
      int32_t *base = s->base[s->base_start[c] + j];
      point_at(in, c, j, x);
      for (int k = 0; k < 3; ++k) {
        base[k] = (int32_t)kernel_base(MPM_QUADRATIC, x[k] / in->dx);
        if (base[k] < lo[k]) lo[k] = base[k];
        if (base[k] > hi[k]) hi[k] = base[k];
      }
    }
  for (int k = 0; k < 3; ++k) low[k] = node_set_block_of(lo[k]), high[k] = node_set_block_of((int64_t)hi[k] + 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- grid nodes of the stencils ------------------------------------------------------------------------------------------ */

/* The nodes of one stencil among blocks: along each axis, how far the block of each is (bits 4, 2, 1 of a number 0 ... 7), and its part
 * of a node's bit. */
typedef struct {
  int      o[3][3], bit[3][3];
  int      crosses;    /* bits of the axes along which the stencil is in two blocks */
  uint64_t rows[3][2]; /* for each axis: bits 0 ... 3 of the nodes in the first block, and in the second block */
  int64_t  block[3];
} stencil_frame;

static void frame_at(const int32_t *base, stencil_frame *f)
{
  f->crosses = 0;
  for (int d = 0; d < 3; ++d) {
    f->block[d]   = base[d] >> 2;
    f->rows[d][0] = f->rows[d][1] = 0;
    for (int i = 0; i < 3; ++i) {
      const int axis = 4 >> d;
      f->o[d][i]     = (base[d] + i) >> 2 == base[d] >> 2 ? 0 : axis;
      f->bit[d][i]   = ((base[d] + i) & 3) << (4 - 2 * d);
      f->crosses |= f->o[d][i];
      f->rows[d][f->o[d][i] != 0] |= (uint64_t)1 << ((base[d] + i) & 3);
    }
  }
}

static uint64_t key_at(const node_set *s, const stencil_frame *f, int o)
{
  return node_set_key(s, f->block[0] + (o >> 2), f->block[1] + (o >> 1 & 1), f->block[2] + (o & 1));
}

/* Spread bits 0 ... 3 to a distance of `by` bits. */
static uint64_t spread(uint64_t bits, int by)
{
  return (bits & 1) | (bits >> 1 & 1) << by | (bits >> 2 & 1) << 2 * by | (bits >> 3) << 3 * by;
}

/* Mask of the nodes of a stencil in block o (0 ... 7) of the blocks around it. */
static uint64_t mask_at(const stencil_frame *f, int o)
{
  return spread(f->rows[0][o >> 2], 16) * (spread(f->rows[1][o >> 1 & 1], 4) * f->rows[2][o & 1]);
}

/* List the blocks of the stencils of n points, in the order of first occurrence, with the masks of their nodes. Returns their number. */
static int touched(const node_set *s, int64_t n, const int32_t (*base)[3], uint64_t *key, uint64_t *mask)
{
  int m = 0;
  for (int64_t q = 0; q < n; ++q) {
    stencil_frame f;
    frame_at(base[q], &f);
    for (int o = 0; o < 8; ++o) {
      if ((o & f.crosses) != o) continue;
      const uint64_t k  = key_at(s, &f, o);
      int            at = 0;
      while (at < m && key[at] != k) ++at;
      if (at == m) key[m] = k, mask[m++] = 0;
      mask[at] |= mask_at(&f, o);
    }
  }
  return m;
}

/* Indices in `key` of the blocks around a stencil. */
static void blocks_around(const node_set *s, const stencil_frame *f, const uint64_t *key, int at[8])
{
  for (int o = 0; o < 8; ++o) {
    if ((o & f->crosses) != o) continue;
    const uint64_t k = key_at(s, f, o);
    for (at[o] = 0; key[at[o]] != k;) ++at[o];
  }
}

/* Number of node (i, j, k) of a stencil among the nodes of the blocks: 64 block + bit. */
static inline int slot_of(const stencil_frame *f, const int at[8], int i, int j, int k)
{
  return at[f->o[0][i] | f->o[1][j] | f->o[2][k]] << 6 | f->bit[0][i] | f->bit[1][j] | f->bit[2][k];
}

/* Upper bound of the number of blocks of the stencils of n points. */
static int64_t most_touched(int64_t n, const int32_t (*base)[3])
{
  int64_t box = n > 0 ? 1 : 0;
  for (int d = 0; d < 3 && n > 0; ++d) {
    int32_t lo = base[0][d], hi = base[0][d];
    for (int64_t q = 1; q < n; ++q) {
      if (base[q][d] < lo) lo = base[q][d];
      if (base[q][d] > hi) hi = base[q][d];
    }
    box *= ((hi + 2) >> 2) - (lo >> 2) + 1;
  }
  return box < 8 * n ? box : 8 * n;
}

/* Create the set of nodes, and the lists of blocks and nodes of each carrier. */
static PetscErrorCode gather_nodes(const stencil_parts *in, augury_stencil *s)
{
  const int64_t n      = n_carriers(in);
  int64_t       n_keys = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("blocks of stencils", n + 1, &s->room[2], ARRAY(s->touch_start, 1), ARRAY(s->touch_end, 1)));
  s->touch_start[0] = 0;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n; ++c)
    s->touch_start[c + 1] = most_touched(s->base_start[c + 1] - s->base_start[c], (const int32_t(*)[3])s->base + s->base_start[c]);
  for (int64_t c = 0; c < n; ++c) s->touch_start[c + 1] += s->touch_start[c];
  const int64_t all = s->touch_start[n];
  PetscCall(MEMORY_RESERVE("blocks of stencils", all, &s->room[3], ARRAY(s->touch_key, 1), ARRAY(s->keys, 1), ARRAY(s->touch_mask, 1),
                           ARRAY(s->touch_block, 1)));
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n; ++c) {
    const int64_t at = s->touch_start[c];
    s->touch_end[c]  = at + touched(&s->set, s->base_start[c + 1] - s->base_start[c], (const int32_t(*)[3])s->base + s->base_start[c],
                                    s->touch_key + at, s->touch_mask + at);
  }
  for (int64_t c = 0; c < n; ++c)
    for (int64_t t = s->touch_start[c]; t < s->touch_end[c]; ++t) s->keys[n_keys++] = s->touch_key[t];
  PetscCall(node_set_blocks(&s->set, n_keys, s->keys));
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n; ++c)
    for (int64_t t = s->touch_start[c]; t < s->touch_end[c]; ++t)
      s->touch_block[t] = (int32_t)node_set_find_block(&s->set, s->touch_key[t]);
  for (int64_t c = 0; c < n; ++c)
    for (int64_t t = s->touch_start[c]; t < s->touch_end[c]; ++t) s->set.mask[s->touch_block[t]] |= s->touch_mask[t];
  node_set_count(&s->set);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode place_nodes(const stencil_parts *in, augury_stencil *s)
{
  const node_set *set = &s->set;
  PetscFunctionBegin;
  PetscCall(memory_reserve("places of nodes", set->n, sizeof *s->x, &s->room[4], &s->x));
  for (int64_t b = 0; b < set->n_blocks; ++b) {
    const int64_t key = (int64_t)set->key[b], yz = set->side[1] * set->side[2];
    const int64_t at[3] = {set->low[0] + key / yz, set->low[1] + key / set->side[2] % set->side[1], set->low[2] + key % set->side[2]};
    int64_t       i     = set->first[b];
    for (int bit = 0; bit < 64; ++bit) {
      if (!(set->mask[b] >> bit & 1)) continue;
      const int64_t node[3] = {4 * at[0] + (bit >> 4), 4 * at[1] + (bit >> 2 & 3), 4 * at[2] + (bit & 3)};
      for (int k = 0; k < 3; ++k) s->x[i][k] = in->dx * (double)node[k];
      s->x[i++][3] = 0.0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- entries -------------------------------------------------------------------------------------------------------- */

static void weights_at(const stencil_parts *in, const double x[3], const int32_t *base, double w[3][3])
{
  for (int k = 0; k < 3; ++k) {
    const double at = x[k] / in->dx - base[k];
    KERNEL_WEIGHTS(3, at, w[k]);
  }
}

static PetscErrorCode build_point_stencils(const stencil_parts *in, augury_stencil *s)
{
  const int64_t n = in->n_points, m = s->set.n;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("stencils", n, &s->room[5], ARRAY(s->point_node, 1), ARRAY(s->point_weight, 1)));
  PetscCall(memory_reserve("stencils", m + 1, sizeof *s->points_start, &s->room[6], &s->points_start));
  PetscCall(MEMORY_RESERVE("stencils", n, &s->room[7], ARRAY(s->at_point, STENCIL_NODES), ARRAY(s->at_weight, STENCIL_NODES)));
#pragma omp parallel for schedule(static)
  for (int64_t q = 0; q < n; ++q) {
    const int32_t *base = s->base[s->base_start[q]];
    const int64_t  t    = s->touch_start[q];
    double         x[3], w[3][3];
    int            at[8];
    stencil_frame  f;
    point_at(in, q, 0, x);
    weights_at(in, x, base, w);
    frame_at(base, &f);
    blocks_around(&s->set, &f, s->touch_key + t, at);
    for (int i = 0; i < STENCIL_NODES; ++i) {
      const int slot        = slot_of(&f, at, i / 9, i / 3 % 3, i % 3);
      s->point_node[q][i]   = node_set_number(&s->set, s->touch_block[t + (slot >> 6)], slot & 63);
      s->point_weight[q][i] = w[0][i / 9] * w[1][i / 3 % 3] * w[2][i % 3];
    }
  }
  const int32_t *node   = n > 0 ? s->point_node[0] : NULL; /* nodes of all points in sequence */
  const double  *weight = n > 0 ? s->point_weight[0] : NULL;
  memset(s->points_start, 0, (size_t)(m + 1) * sizeof *s->points_start);
  for (int64_t k = 0; k < STENCIL_NODES * n; ++k) ++s->points_start[node[k] + 1];
  for (int64_t i = 0; i < m; ++i) s->points_start[i + 1] += s->points_start[i];
  for (int64_t k = 0; k < STENCIL_NODES * n; ++k) {
    const int64_t to = s->points_start[node[k]]++;
    s->at_point[to] = (int32_t)(k / STENCIL_NODES), s->at_weight[to] = weight[k];
  }
  for (int64_t i = m; i > 0; --i) s->points_start[i] = s->points_start[i - 1];
  s->points_start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t first_touch(const stencil_parts *in, const augury_stencil *s, int64_t r) { return s->touch_start[in->n_points + r]; }
static int64_t end_touch(const stencil_parts *in, const augury_stencil *s, int64_t r) { return s->touch_end[in->n_points + r]; }

/* Compute the nodes of each patch, and the index in at_patch of each of its entries. */
static PetscErrorCode build_patch_stencils(const stencil_parts *in, augury_stencil *s)
{
  const int64_t n = in->n_patches, m = s->set.n;
  PetscFunctionBegin;
  PetscCall(memory_reserve("stencils", n + 1, sizeof *s->patch_start, &s->room[8], &s->patch_start));
  s->patch_start[0] = 0;
  for (int64_t r = 0; r < n; ++r) {
    s->patch_start[r + 1] = s->patch_start[r];
    for (int64_t t = first_touch(in, s, r); t < end_touch(in, s, r); ++t) s->patch_start[r + 1] += __builtin_popcountll(s->touch_mask[t]);
  }
  const int64_t all = s->patch_start[n];
  PetscCheck(all < MOST_ENTRIES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "too many boundary triangles in cells of %g m: use smaller cells or a coarser surface mesh", in->dx);
  PetscCall(MEMORY_RESERVE("stencils", all, &s->room[9], ARRAY(s->patch_node, 1), ARRAY(s->to, 1)));
  PetscCall(memory_reserve("stencils", m + 1, sizeof *s->patches_start, &s->room[10], &s->patches_start));
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < n; ++r) {
    int64_t at = s->patch_start[r];
    for (int64_t t = first_touch(in, s, r); t < end_touch(in, s, r); ++t)
      for (uint64_t left = s->touch_mask[t]; left; left &= left - 1)
        s->patch_node[at++] = node_set_number(&s->set, s->touch_block[t], __builtin_ctzll(left));
  }
  memset(s->patches_start, 0, (size_t)(m + 1) * sizeof *s->patches_start);
  for (int64_t k = 0; k < all; ++k) ++s->patches_start[s->patch_node[k] + 1];
  for (int64_t i = 0; i < m; ++i) s->patches_start[i + 1] += s->patches_start[i];
  for (int64_t k = 0; k < all; ++k) s->to[k] = (int32_t)s->patches_start[s->patch_node[k]]++;
  for (int64_t i = m; i > 0; --i) s->patches_start[i] = s->patches_start[i - 1];
  s->patches_start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sum the moments of patch r at all its nodes, stored by block and bit. */
static void sum_moments(const stencil_parts *in, const augury_stencil *s, int64_t r, row8 *sum)
{
  const int64_t c = in->n_points + r, e = in->patch[r], first = s->touch_start[c];
  for (int64_t t = first; t < s->touch_end[c]; ++t)
    for (uint64_t left = s->touch_mask[t]; left; left &= left - 1) sum[((t - first) << 6) + __builtin_ctzll(left)] = (row8){0.0};
  for (int64_t j = 0; j < s->base_start[c + 1] - s->base_start[c]; ++j) {
    const int32_t *base   = s->base[s->base_start[c] + j];
    const double  *l      = in->samples->place[in->samples->start[e] + j];
    const double   mass   = in->mass[e] * in->samples->weight[in->samples->start[e] + j];
    const row8     moment = {
            mass * l[0] * l[0], mass * l[1] * l[1], mass * l[2] * l[2], mass * l[1] * l[2], mass * l[0] * l[2], mass * l[0] * l[1], 0.0, 0.0};
    double        x[3], w[3][3];
    int           at[8];
    stencil_frame f;
    point_at(in, c, j, x);
    weights_at(in, x, base, w);
    frame_at(base, &f);
    blocks_around(&s->set, &f, s->touch_key + first, at);
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) {
        const row8 row = w[0][i] * w[1][k] * moment;
        for (int q = 0; q < 3; ++q) sum[slot_of(&f, at, i, k, q)] += w[2][q] * row;
      }
  }
}

static void store_moments(const stencil_parts *in, augury_stencil *s, int64_t r, const row8 *sum)
{
  const int64_t first = first_touch(in, s, r);
  int64_t       at    = s->patch_start[r];
  for (int64_t t = first; t < end_touch(in, s, r); ++t)
    for (uint64_t left = s->touch_mask[t]; left; left &= left - 1, ++at) {
      const row8    p   = sum[((t - first) << 6) + __builtin_ctzll(left)];
      const int64_t to  = s->to[at];
      s->patch_mass[at] = p[0] + p[1] + p[2] + 2.0 * (p[3] + p[4] + p[5]);
      s->at_patch[to]   = (int32_t)r;
      for (int k = 0; k < PATCH_MOMENTS; ++k) s->at_moment[to][k] = p[k];
    }
}

static PetscErrorCode fill_patches(const stencil_parts *in, augury_stencil *s)
{
  const int64_t all  = s->patch_start[in->n_patches];
  int64_t       most = 0;
  double       *sums = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("stencils", all, &s->room[11], ARRAY(s->patch_mass, 1), ARRAY(s->at_patch, 1), ARRAY(s->at_moment, 1)));
  for (int64_t r = 0; r < in->n_patches; ++r)
    most = end_touch(in, s, r) - first_touch(in, s, r) > most ? end_touch(in, s, r) - first_touch(in, s, r) : most;
  const int64_t stride = most * 64 * MOMENTS_PADDED;
  PetscCall(memory_alloc("moments of patches", stride * team_threads(), sizeof *sums, &sums));
#pragma omp parallel for schedule(dynamic, 32)
  for (int64_t r = 0; r < in->n_patches; ++r) {
    double *own = sums + stride * omp_get_thread_num();
    sum_moments(in, s, r, (row8 *)own);
    store_moments(in, s, r, (const row8 *)own);
  }
  memory_free(&sums);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode augury_stencil_make(const stencil_parts *in, augury_stencil *s)
{
  int64_t low[3], high[3];
  PetscFunctionBegin;
  PetscCall(augury_stencil_place(in, s, low, high));
  node_set_reset(&s->set, low, high);
  PetscCall(gather_nodes(in, s));
  PetscCall(place_nodes(in, s));
  PetscCall(build_point_stencils(in, s));
  PetscCall(build_patch_stencils(in, s));
  PetscCall(fill_patches(in, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void augury_stencil_clear(augury_stencil *s)
{
  void *arrays[] = {&s->x,           &s->point_node, &s->point_weight,  &s->points_start, &s->at_point,    &s->at_weight, &s->patch_start,
                    &s->patch_node,  &s->patch_mass, &s->patches_start, &s->at_patch,     &s->at_moment,   &s->base,      &s->base_start,
                    &s->touch_start, &s->touch_key,  &s->touch_mask,    &s->keys,         &s->touch_block, &s->touch_end, &s->to};
  node_set_clear(&s->set);
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  *s = (augury_stencil){0};
}
