/* Implementation of mpm_single.h: products with the MPM tangent in single precision. */
#define MPM_SINGLE
#include "discretize/mpm/mpm_single.h"
#include "discretize/body/body_stages.h"
#include "core/timer.h"

/* Tangents come in groups of half a vector (mpm_force.h): one group, or a full one and the next, which shares its cell. */
typedef struct {
  const float *low, *high; /* high NULL: there is no second group */
  int          n_low, n_high;
} group_pair;

static inline group_pair next_groups(const particles *p, int32_t q, int32_t end, const float *tangent)
{
  const particle_group *group = p->groups + q;
  group_pair            pair  = {tangent + MPM_TANGENT_SINGLE * (int64_t)group->first, NULL, group->n, 0};
  if (group->n == LANES_DOUBLE && q + 1 < end && group[1].cell == group->cell)
    pair.high = tangent + MPM_TANGENT_SINGLE * (int64_t)group[1].first, pair.n_high = group[1].n;
  return pair;
}

LANES_INLINE lanes load_pair(const group_pair *pair, int k)
{
  if (!pair->high) return lanes_load(pair->low + k * pair->n_low);
#if defined(__AVX512DQ__)
  const __m512 low = _mm512_castps256_ps512(_mm256_loadu_ps(pair->low + k * LANES_DOUBLE));
  return _mm512_insertf32x8(low, _mm256_loadu_ps(pair->high + k * pair->n_high), 1);
#else
  lanes x = {0};
  for (int l = 0; l < LANES_DOUBLE; ++l) {
    x[l]                = pair->low[k * LANES_DOUBLE + l];
    x[LANES_DOUBLE + l] = pair->high[k * pair->n_high + l];
  }
  return x;
#endif
}

LANES_INLINE void product_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, const float *tangent,
                                  const double *x, double *restrict tile)
{
  const float   scale_e = (float)mpm_grid_gradient_scale(g);
  const int32_t end     = p->batches[c->end_batch].group;
  float         nodes[3 * TILE_NODES(K)] __attribute__((aligned(64))), sum[3 * TILE_NODES(K)] __attribute__((aligned(64)));
  mpm_grid_load(K, g, c, x, nodes);
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) sum[q] = 0.0F;
  for (int32_t q = p->batches[c->first_batch].group; q < end;) {
    const group_pair pair = next_groups(p, q, end, tangent);
    const int        n = pair.n_low + pair.n_high, cell = p->groups[q].cell;
    const int        at = ((cell >> 4) * TILE_SIDE(K) + (cell >> 2 & 3)) * TILE_Z + (cell & 3);
    lanes            s[3], A[9], B[9], U[9], W[9], t[15];
    kernel_lanes     w;
    scatter_rows     rows;
    rowz             nz[GROUP_ROWS], ez[GROUP_ROWS];
    q += pair.high ? 2 : 1;
    for (int k = 0; k < MPM_TANGENT_SINGLE; ++k) __builtin_prefetch(pair.low + (2 * MPM_TANGENT_SINGLE + k) * LANES);
    for (int k = 0; k < 3; ++k) s[k] = load_pair(&pair, k);
    kernel_rows(K, g->gradient, s[2], scale_e, nz, ez);
    kernel_at(K, g->gradient, s, scale_e, &w);
    tile_gather(K, 3, nodes + at, &w, NULL, A);
    for (int k = 0; k < 9; ++k) U[k] = load_pair(&pair, 3 + k), W[k] = load_pair(&pair, 12 + k);
    for (int k = 0; k < 15; ++k) t[k] = load_pair(&pair, 21 + k);
    lanes_mul_tn(B, U, A);
    lanes_mul(A, B, W);
    spectral(t, false, A, B);
    lanes_mul(A, U, B);
    lanes_mul_nt(B, A, W);
    for (int k = 0; k < 9; ++k) B[k] = lanes_first(B[k], n);
    scatter_rows_set(K, &w, NULL, B, &rows);
    tile_scatter(K, n, true, &rows, nz, ez, sum + at);
  }
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) tile[q] = (double)sum[q];
}

PetscErrorCode mpm_single_product(mpm_grid *g, particles *const *bodies, const mpm_tangent *tangent, const double *x, double *y)
{
  int64_t stride;
  double  n = 0.0;

  PetscFunctionBeginUser;
  timer_begin(TIMER_OPERATOR);
  PetscCall(mpm_grid_tiles(g, 3, &stride));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c = &g->cluster[q];
    if (g->kernel == MPM_QUADRATIC) product_cluster(3, g, c, bodies[c->body], tangent->single[c->body], x, g->tiles + q * stride);
    else product_cluster(4, g, c, bodies[c->body], tangent->single[c->body], x, g->tiles + q * stride);
  }
  mpm_grid_reduce(g, 3, y);
  for (int64_t c = 0; c < g->n_clusters; ++c) n += g->cluster[c].end - g->cluster[c].first;
  timer_work(TIMER_OPERATOR, n * mpm_force_product_flops((int)g->kernel), n * 4.0 * MPM_TANGENT_SINGLE);
  timer_end(TIMER_OPERATOR);
  PetscFunctionReturn(PETSC_SUCCESS);
}
