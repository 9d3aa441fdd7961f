/* Implementation: sort by Morton code, bottom-up refit, and traversal with a stack and comparisons of 8 boxes at once. */
#include "geometry/primitive/box_tree.h"
#include "core/memory.h"
#include "core/sort.h"
#include "core/team.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { W = BOX_TREE_WIDTH, KEY_BITS = 21, SERIAL_LIMIT = 2048 };
static const double LOOSE = 1.5; /* growth of the node area that causes a sort; a sort takes about as long as two refits */

static int64_t padded(int64_t n) { return (n + W - 1) / W * W; }

PetscErrorCode box_tree_create(int64_t n, box_tree *t)
{
  PetscFunctionBegin;
  t->n        = n;
  t->tightest = INFINITY;
  for (int64_t size = n; size > 0; size = size > W ? (size + W - 1) / W : 0) {
    t->size[t->n_levels]      = size;
    t->start[t->n_levels + 1] = t->start[t->n_levels] + padded(size);
    ++t->n_levels;
  }
  const int64_t total = t->start[t->n_levels];
  for (int k = 0; k < 3; ++k) {
    PetscCall(MEMORY_ALLOC("box tree", ARRAY(t->min[k], total), ARRAY(t->max[k], total)));
    for (int64_t i = 0; i < total; ++i) t->min[k][i] = INFINITY, t->max[k][i] = -INFINITY;
  }
  PetscCall(MEMORY_ALLOC("box tree", ARRAY(t->area, total), ARRAY(t->order, n), ARRAY(t->order_scratch, n), ARRAY(t->key, n),
                         ARRAY(t->key_scratch, n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void box_tree_clear(box_tree *t)
{
  for (int k = 0; k < 3; ++k) memory_free(&t->min[k]), memory_free(&t->max[k]);
  MEMORY_FREE(&t->area, &t->order, &t->order_scratch, &t->key, &t->key_scratch);
  memset(t, 0, sizeof *t);
}

/* ---- sorting ---- */

/* Spread the lower 21 bits of x: two zero bits between neighbouring bits. */
static uint64_t spread_bits(uint64_t x)
{
  x = (x | x << 32) & 0x1f00000000ffffu;
  x = (x | x << 16) & 0x1f0000ff0000ffu;
  x = (x | x << 8) & 0x100f00f00f00f00fu;
  x = (x | x << 4) & 0x10c30c30c30c30c3u;
  return (x | x << 2) & 0x1249249249249249u;
}

static void sort_boxes(box_tree *t, double *const box[6])
{
  const int64_t n = t->n;
  double        low[3], scale = 0.0;
  for (int k = 0; k < 3; ++k) {
    double        lo = INFINITY, hi = -INFINITY;
    const double *a = box[k], *b = box[k + 3];
#pragma omp parallel for simd schedule(static) reduction(min : lo) reduction(max : hi) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; ++i) {
      const double x = 0.5 * a[i] + 0.5 * b[i];
      lo             = x < lo ? x : lo;
      hi             = x > hi ? x : hi;
    }
    low[k] = lo;
    scale  = fmax(scale, 0.5 * hi - 0.5 * lo); /* half the extent: the full extent may overflow */
  }
  const double cells = scale > 0.0 ? ((1 << KEY_BITS) - 1) / scale : 0.0;
#pragma omp                   parallel for schedule(static) if (n > SERIAL_LIMIT)
  for (int64_t i = 0; i < n; ++i) {
                      uint64_t key = 0;
                      for (int k = 0; k < 3; ++k) {
                        const double cell = (0.5 * (0.5 * box[k][i] + 0.5 * box[k + 3][i]) - 0.5 * low[k]) * cells;
                        key |= spread_bits(cell > 0.0 && cell < 1 << KEY_BITS ? (uint64_t)cell : 0) << k;
    }
                      t->key[i] = key;
  }
  sort_keys_with(n, 3 * KEY_BITS, t->key, t->order, t->key_scratch, t->order_scratch);
  t->tightest = INFINITY;
  ++t->n_rebuilds;
}

/* ---- fitting ---- */

static void fit_leaves(box_tree *t, double *const box[6])
{
#pragma omp parallel for schedule(static) if (t->n > SERIAL_LIMIT)
  for (int64_t i = 0; i < t->n; ++i)
    for (int k = 0; k < 3; ++k) {
      t->min[k][i] = box[k][t->order[i]];
      t->max[k][i] = box[k + 3][t->order[i]];
    }
}

static void fit_level(box_tree *t, int level)
{
  const int64_t from = t->start[level - 1], to = t->start[level], size = t->size[level];
#pragma omp parallel for schedule(static) if (size > SERIAL_LIMIT / W)
  for (int64_t i = 0; i < size; ++i) {
    double edge[3];
    for (int k = 0; k < 3; ++k) {
      const double *a = t->min[k] + from + W * i, *b = t->max[k] + from + W * i;
      double        lo = a[0], hi = b[0];
      for (int j = 1; j < W; ++j) lo = a[j] < lo ? a[j] : lo, hi = b[j] > hi ? b[j] : hi;
      t->min[k][to + i] = lo, t->max[k][to + i] = hi;
      edge[k] = hi - lo;
    }
    t->area[to + i] = edge[0] * edge[1] + edge[1] * edge[2] + edge[2] * edge[0];
  }
}

static double refit_all_levels(box_tree *t, double *const box[6])
{
  double area = 0.0;
  fit_leaves(t, box);
  for (int level = 1; level < t->n_levels; ++level) {
    fit_level(t, level);
    area += team_sum(t->size[level], t->area + t->start[level]);
  }
  return area;
}

void box_tree_fit(box_tree *t, double *const box[6])
{
  if (t->n == 0) return;
  double area = INFINITY;
  if (t->n_rebuilds > 0) area = refit_all_levels(t, box);
  if (t->n_rebuilds == 0 || area > LOOSE * t->tightest) {
    sort_boxes(t, box);
    area = refit_all_levels(t, box);
  }
  t->tightest = fmin(t->tightest, area);
}

/* ---- traversal ---- */

void box_walk_begin(box_walk *w, const box_tree *t, const double min[3], const double max[3])
{
  w->t = t;
  for (int k = 0; k < 3; ++k) w->min[k] = fmax(min[k], -DBL_MAX), w->max[k] = fmin(max[k], DBL_MAX); /* excludes the empty boxes in gaps */
  w->top      = t->n > 0;
  w->level[0] = t->n_levels - 1;
  w->group[0] = 0;
}

/* Nodes start at multiples of 64 bytes. Vector types, because gcc 12 does not vectorise the loop, which takes twice the time. */
typedef double  lane_doubles __attribute__((vector_size(8 * W), may_alias));
typedef int64_t lane_masks __attribute__((vector_size(8 * W)));
typedef int8_t  lane_bytes __attribute__((vector_size(W)));

/* Bit 8 i of the result is set when entry `at` + i overlaps the box of w. */
static inline __attribute__((always_inline)) uint64_t overlaps(const box_walk *w, int64_t at)
{
  lane_masks all = {-1, -1, -1, -1, -1, -1, -1, -1};
  uint64_t   bits;
  for (int k = 0; k < 3; ++k) {
    const lane_doubles *min = (const lane_doubles *)(w->t->min[k] + at), *max = (const lane_doubles *)(w->t->max[k] + at);
    all &= (*min <= w->max[k]) & (*max >= w->min[k]);
  }
  const lane_bytes bytes = __builtin_convertvector(all, lane_bytes);
  memcpy(&bits, &bytes, sizeof bits);
  return bits & 0x0101010101010101u;
}

int box_walk_next(box_walk *w, int32_t box[BOX_TREE_WIDTH])
{
  const box_tree *t = w->t;
  int             n = 0;
  while (w->top > 0 && n == 0) {
    --w->top;
    const int32_t level = w->level[w->top], group = w->group[w->top];
    for (uint64_t bits = overlaps(w, t->start[level] + (int64_t)W * group); bits; bits &= bits - 1) {
      const int32_t i = W * group + __builtin_ctzll(bits) / 8;
      if (level == 0) {
        box[n++] = t->order[i];
        continue;
      }
      w->level[w->top] = level - 1, w->group[w->top] = i;
      ++w->top;
    }
  }
  return n;
}
