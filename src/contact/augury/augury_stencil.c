#include "contact/augury/augury_stencil.h"
#include <omp.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "discretize/mpm/mpm_kernel.h"

enum { MOST_TOUCHED = 8 * 1024, MOMENTS_PADDED = 8, MOST_ENTRIES = 2000000000 };
typedef double row8 __attribute__((vector_size(64)));

/* ---- where points are ---------------------------------------------------------------------------------------------- */

static int64_t n_carriers(const stencil_parts *in) { return in->n_points + in->n_patches; }

/* Point j of carrier c: a point alone, or one of a patch. */
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

/* First nodes of all stencils. They are kept: found again, a point on the border of a cell might come to lie on its other side. */
static PetscErrorCode place(const stencil_parts *in, augury_stencil *s, int64_t low[3], int64_t high[3])
{
  const int64_t n = n_carriers(in);
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

/* ---- nodes that they touch ------------------------------------------------------------------------------------------ */

/* Blocks under the stencils of n points, ascending; returns how many. */
static int touched(const node_set *s, int64_t n, const int32_t (*base)[3], uint64_t *key)
{
  int m = 0;
  for (int64_t j = 0; j < n; ++j) {
    const int32_t *b = base[j];
    for (int64_t p = b[0] >> 2; p <= (b[0] + 2) >> 2; ++p)
      for (int64_t q = b[1] >> 2; q <= (b[1] + 2) >> 2; ++q)
        for (int64_t r = b[2] >> 2; r <= (b[2] + 2) >> 2; ++r) {
          const uint64_t k  = node_set_key(s, p, q, r);
          int            at = m;
          while (at > 0 && key[at - 1] > k) --at;
          if (at > 0 && key[at - 1] == k) continue;
          for (int t = m++; t > at; --t) key[t] = key[t - 1];
          key[at] = k;
        }
  }
  return m;
}

static int local_block(const uint64_t *key, int n, uint64_t k)
{
  int at = 0;
  while (at < n && key[at] != k) ++at;
  return at;
}

/* The eight blocks around a stencil among `key`, 4 (far in x) + 2 (far in y) + (far in z); those that it does not reach are as near ones. */
static void blocks_around(const node_set *s, const int32_t *b, const uint64_t *key, int n, int at[8])
{
  for (int o = 0; o < 8; ++o) {
    const int64_t p = (b[0] + (o & 4 ? 2 : 0)) >> 2, q = (b[1] + (o & 2 ? 2 : 0)) >> 2, r = (b[2] + (o & 1 ? 2 : 0)) >> 2;
    at[o] = local_block(key, n, node_set_key(s, p, q, r));
  }
}

/* Where node (i, j, k) of a stencil is among those of the blocks: 64 block + bit. */
static inline int slot_of(const int32_t *b, const int at[8], int i, int j, int k)
{
  const int o = (((b[0] + i) >> 2) != b[0] >> 2) << 2 | (((b[1] + j) >> 2) != b[1] >> 2) << 1 | (((b[2] + k) >> 2) != b[2] >> 2);
  return at[o] << 6 | node_set_bit(b[0] + i, b[1] + j, b[2] + k);
}

static void mark(const node_set *s, int64_t n_points, const int32_t (*base)[3], const uint64_t *key, int n, uint64_t *mask)
{
  int at[8];
  for (int t = 0; t < n; ++t) mask[t] = 0;
  for (int64_t q = 0; q < n_points; ++q) {
    blocks_around(s, base[q], key, n, at);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 3; ++k) {
          const int slot = slot_of(base[q], at, i, j, k);
          mask[slot >> 6] |= (uint64_t)1 << (slot & 63);
        }
  }
}

/* The set of nodes, and which of its blocks and nodes each carrier touches. */
static PetscErrorCode gather_nodes(const stencil_parts *in, augury_stencil *s)
{
  const int64_t n = n_carriers(in);
  PetscFunctionBegin;
  PetscCall(memory_reserve("blocks of stencils", n + 1, sizeof *s->touch_start, &s->room[2], &s->touch_start));
  s->touch_start[0] = 0;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n; ++c) {
    uint64_t key[MOST_TOUCHED];
    s->touch_start[c + 1] = touched(&s->set, s->base_start[c + 1] - s->base_start[c], (const int32_t(*)[3])s->base + s->base_start[c], key);
  }
  for (int64_t c = 0; c < n; ++c) s->touch_start[c + 1] += s->touch_start[c];
  const int64_t all = s->touch_start[n];
  PetscCall(memory_reserve("blocks of stencils", all, sizeof *s->touch_key, &s->room[3], &s->touch_key));
  PetscCall(memory_reserve("blocks of stencils", all, sizeof *s->keys, &s->room[4], &s->keys));
  PetscCall(memory_reserve("blocks of stencils", all, sizeof *s->touch_mask, &s->room[5], &s->touch_mask));
  PetscCall(memory_reserve("blocks of stencils", all, sizeof *s->touch_block, &s->room[6], &s->touch_block));
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n; ++c) {
    const int32_t(*base)[3] = (const int32_t(*)[3])s->base + s->base_start[c];
    const int64_t m         = s->base_start[c + 1] - s->base_start[c], at = s->touch_start[c];
    const int     k         = touched(&s->set, m, base, s->touch_key + at);
    mark(&s->set, m, base, s->touch_key + at, k, s->touch_mask + at);
  }
  if (all > 0) memcpy(s->keys, s->touch_key, (size_t)all * sizeof *s->keys);
  PetscCall(node_set_blocks(&s->set, all, s->keys));
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < all; ++t) s->touch_block[t] = (int32_t)node_set_find_block(&s->set, s->touch_key[t]);
  for (int64_t t = 0; t < all; ++t) s->set.mask[s->touch_block[t]] |= s->touch_mask[t];
  node_set_count(&s->set);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode place_nodes(const stencil_parts *in, augury_stencil *s)
{
  const node_set *set = &s->set;
  PetscFunctionBegin;
  PetscCall(memory_reserve("places of nodes", set->n, sizeof *s->x, &s->room[7], &s->x));
  for (int64_t b = 0; b < set->n_blocks; ++b) {
    const int64_t key   = (int64_t)set->key[b], yz = set->side[1] * set->side[2];
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

static PetscErrorCode join_points(const stencil_parts *in, augury_stencil *s)
{
  const int64_t n = in->n_points, m = s->set.n;
  PetscFunctionBegin;
  PetscCall(memory_reserve("stencils", n, sizeof *s->point_node, &s->room[8], &s->point_node));
  PetscCall(memory_reserve("stencils", n, sizeof *s->point_weight, &s->room[9], &s->point_weight));
  PetscCall(memory_reserve("stencils", m + 1, sizeof *s->points_start, &s->room[10], &s->points_start));
  PetscCall(memory_reserve("stencils", STENCIL_NODES * n, sizeof *s->at_point, &s->room[11], &s->at_point));
  PetscCall(memory_reserve("stencils", STENCIL_NODES * n, sizeof *s->at_weight, &s->room[12], &s->at_weight));
#pragma omp parallel for schedule(static)
  for (int64_t q = 0; q < n; ++q) {
    const int32_t *base = s->base[s->base_start[q]];
    const int64_t  t    = s->touch_start[q];
    double         x[3], w[3][3];
    int            at[8];
    point_at(in, q, 0, x);
    weights_at(in, x, base, w);
    blocks_around(&s->set, base, s->touch_key + t, (int)(s->touch_start[q + 1] - t), at);
    for (int i = 0; i < STENCIL_NODES; ++i) {
      const int slot        = slot_of(base, at, i / 9, i / 3 % 3, i % 3);
      s->point_node[q][i]   = node_set_number(&s->set, s->touch_block[t + (slot >> 6)], slot & 63);
      s->point_weight[q][i] = w[0][i / 9] * w[1][i / 3 % 3] * w[2][i % 3];
    }
  }
  memset(s->points_start, 0, (size_t)(m + 1) * sizeof *s->points_start);
  for (int64_t k = 0; k < STENCIL_NODES * n; ++k) ++s->points_start[s->point_node[0][k] + 1];
  for (int64_t i = 0; i < m; ++i) s->points_start[i + 1] += s->points_start[i];
  for (int64_t k = 0; k < STENCIL_NODES * n; ++k) {
    const int64_t to = s->points_start[s->point_node[0][k]]++;
    s->at_point[to] = (int32_t)(k / STENCIL_NODES), s->at_weight[to] = s->point_weight[0][k];
  }
  for (int64_t i = m; i > 0; --i) s->points_start[i] = s->points_start[i - 1];
  s->points_start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t first_touch(const stencil_parts *in, const augury_stencil *s, int64_t r) { return s->touch_start[in->n_points + r]; }

/* How many nodes each patch has, which, and where its entries go among those of the nodes. */
static PetscErrorCode join_patches(const stencil_parts *in, augury_stencil *s)
{
  const int64_t n = in->n_patches, m = s->set.n;
  PetscFunctionBegin;
  PetscCall(memory_reserve("stencils", n + 1, sizeof *s->patch_start, &s->room[13], &s->patch_start));
  s->patch_start[0] = 0;
  for (int64_t r = 0; r < n; ++r) {
    s->patch_start[r + 1] = s->patch_start[r];
    for (int64_t t = first_touch(in, s, r); t < first_touch(in, s, r + 1); ++t)
      s->patch_start[r + 1] += __builtin_popcountll(s->touch_mask[t]);
  }
  const int64_t all = s->patch_start[n];
  PetscCheck(all < MOST_ENTRIES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "too many boundary triangles for cells of %g m: use larger ones",
             in->dx);
  PetscCall(memory_reserve("stencils", all, sizeof *s->patch_node, &s->room[14], &s->patch_node));
  PetscCall(memory_reserve("stencils", all, sizeof *s->to, &s->room[15], &s->to));
  PetscCall(memory_reserve("stencils", m + 1, sizeof *s->patches_start, &s->room[16], &s->patches_start));
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < n; ++r) {
    int64_t at = s->patch_start[r];
    for (int64_t t = first_touch(in, s, r); t < first_touch(in, s, r + 1); ++t)
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

/* Moments of patch r over all nodes of the blocks that it touches. */
static void sum_moments(const stencil_parts *in, const augury_stencil *s, int64_t r, row8 *sum)
{
  const int64_t c = in->n_points + r, e = in->patch[r], t = s->touch_start[c];
  const int     n = (int)(s->touch_start[c + 1] - t);
  for (int64_t j = 0; j < s->base_start[c + 1] - s->base_start[c]; ++j) {
    const int32_t *base = s->base[s->base_start[c] + j];
    const double  *l    = in->samples->place[in->samples->start[e] + j];
    const double   mass = in->mass[e] * in->samples->weight[in->samples->start[e] + j];
    const row8     moment = {mass * l[0] * l[0], mass * l[1] * l[1], mass * l[2] * l[2], mass * l[1] * l[2], mass * l[0] * l[2],
                             mass * l[0] * l[1], 0.0, 0.0};
    double x[3], w[3][3];
    int    at[8];
    point_at(in, c, j, x);
    weights_at(in, x, base, w);
    blocks_around(&s->set, base, s->touch_key + t, n, at);
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k)
        for (int q = 0; q < 3; ++q) sum[slot_of(base, at, i, k, q)] += w[0][i] * w[1][k] * w[2][q] * moment;
  }
}

static void store_moments(const stencil_parts *in, augury_stencil *s, int64_t r, const row8 *sum)
{
  const int64_t first = first_touch(in, s, r);
  int64_t       at    = s->patch_start[r];
  for (int64_t t = first; t < first_touch(in, s, r + 1); ++t)
    for (uint64_t left = s->touch_mask[t]; left; left &= left - 1, ++at) {
      const row8 p = sum[((t - first) << 6) + __builtin_ctzll(left)];
      const int64_t to = s->to[at];
      s->patch_mass[at] = p[0] + p[1] + p[2] + 2.0 * (p[3] + p[4] + p[5]);
      s->at_patch[to]   = (int32_t)r;
      for (int k = 0; k < PATCH_MOMENTS; ++k) s->at_moment[to][k] = p[k];
    }
}

static PetscErrorCode fill_patches(const stencil_parts *in, augury_stencil *s)
{
  const int64_t all = s->patch_start[in->n_patches];
  int64_t       most = 0;
  double       *sums = NULL;
  PetscFunctionBegin;
  PetscCall(memory_reserve("stencils", all, sizeof *s->patch_mass, &s->room[17], &s->patch_mass));
  PetscCall(memory_reserve("stencils", all, sizeof *s->at_patch, &s->room[18], &s->at_patch));
  PetscCall(memory_reserve("stencils", all, sizeof *s->at_moment, &s->room[19], &s->at_moment));
  for (int64_t r = 0; r < in->n_patches; ++r)
    most = first_touch(in, s, r + 1) - first_touch(in, s, r) > most ? first_touch(in, s, r + 1) - first_touch(in, s, r) : most;
  const int64_t stride = most * 64 * MOMENTS_PADDED;
  PetscCall(memory_alloc("moments of patches", stride * team_threads(), sizeof *sums, &sums));
#pragma omp parallel for schedule(dynamic, 32)
  for (int64_t r = 0; r < in->n_patches; ++r) {
    double *own = sums + stride * omp_get_thread_num();
    memset(own, 0, (size_t)((first_touch(in, s, r + 1) - first_touch(in, s, r)) * 64) * sizeof(row8));
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
  PetscCall(place(in, s, low, high));
  node_set_reset(&s->set, low, high);
  PetscCall(gather_nodes(in, s));
  PetscCall(place_nodes(in, s));
  PetscCall(join_points(in, s));
  PetscCall(join_patches(in, s));
  PetscCall(fill_patches(in, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void augury_stencil_clear(augury_stencil *s)
{
  void *arrays[] = {&s->x,          &s->point_node,    &s->point_weight, &s->points_start, &s->at_point,    &s->at_weight,
                    &s->patch_start, &s->patch_node,   &s->patch_mass,   &s->patches_start, &s->at_patch,   &s->at_moment,
                    &s->base,       &s->base_start,    &s->touch_start,  &s->touch_key,     &s->touch_mask, &s->keys,
                    &s->touch_block, &s->to};
  node_set_clear(&s->set);
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  *s = (augury_stencil){0};
}
