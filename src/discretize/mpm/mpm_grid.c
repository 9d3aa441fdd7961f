/* Implementation of mpm_grid.h: blocks, clusters, numbering of dofs, stencils. */
#include "discretize/mpm/mpm_grid.h"
#include <float.h>
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/body/body_stages.h"

#define MAX_CELL 1048576.0 /* 2^20 per direction: three axes and the cell in its block fit into 63 bits */
enum { CHUNK = 4096 };

PetscErrorCode mpm_grid_create(double h, mpm_kernel kernel, mpm_grid **out)
{
  PetscFunctionBeginUser;
  PetscCheck(isfinite(h) && h > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the spacing of the MPM grid must be positive and finite");
  PetscCall(memory_alloc("mpm grid", 1, sizeof **out, out));
  (*out)->h      = h;
  (*out)->kernel = kernel;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_grid_destroy(mpm_grid **g)
{
  if (!*g) return;
  mpm_grid *d = *g;
  MEMORY_FREE(&d->cluster, &d->part_start, &d->part, &d->node_dof, &d->dof_node, &d->mass, &d->velocity, &d->tiles, &d->block_key, &d->key,
              &d->order, &d->order_scratch, &d->start, g);
}

/* At least n items, contents lost. */
static PetscErrorCode mpm_grid_reserve(const char *tag, int64_t n, size_t size, void *array, int64_t *capacity)
{
  PetscFunctionBeginUser;
  if (n <= *capacity) PetscFunctionReturn(PETSC_SUCCESS);
  memory_free(array);
  *capacity = 0;
  PetscCall(memory_alloc(tag, n + n / 4, size, array));
  *capacity = n + n / 4;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Box of base nodes of all particles; the first particle that cannot be placed. */
static void find_box(mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, step_status *status)
{
  double           low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
  const double     inverse_h = 1.0 / g->h;
  const mpm_kernel kernel    = g->kernel;
  for (int b = 0; b < n_bodies; ++b) {
    const int64_t n   = bodies[b]->n;
    int64_t       bad = n;
    for (int d = 0; d < 3; ++d) {
      const double *restrict x = bodies[b]->x[d];
      double lo = DBL_MAX, hi = -DBL_MAX;
#pragma omp parallel for schedule(static) reduction(min : lo, bad) reduction(max : hi)
      for (int64_t i = 0; i < n; ++i) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
        if (!(fabs(x[i] * inverse_h) < MAX_CELL) && i < bad) bad = i;
      }
      if (n > 0 && lo < low[d]) low[d] = lo;
      if (n > 0 && hi > high[d]) high[d] = hi;
    }
    if (bad < n && status->code == STEP_OK) *status = (step_status){STEP_OUT_OF_GRID, names[b], bad};
  }
  for (int d = 0; d < 3 && status->code == STEP_OK; ++d) {
    const double lo = low[d] > high[d] ? 0.0 : low[d], hi = low[d] > high[d] ? 0.0 : high[d];
    g->low[d]  = (int64_t)floor(kernel_base(kernel, lo * inverse_h) / BLOCK_SIDE);
    g->side[d] = (int64_t)floor(kernel_base(kernel, hi * inverse_h) / BLOCK_SIDE) + 2 - g->low[d]; /* with upper neighbours */
  }
}

static int bits_for(uint64_t n)
{
  int bits = 0;
  while (bits < 64 && (n >> bits) > 0) ++bits;
  return bits;
}

static void make_keys(const mpm_grid *g, const particles *p)
{
  const double     inverse_h = 1.0 / g->h;
  const mpm_kernel kernel    = g->kernel;
  const int64_t    ny = g->side[1], nz = g->side[2], lx = 4 * g->low[0], ly = 4 * g->low[1], lz = 4 * g->low[2];
  uint64_t *restrict key = g->key;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; ++i) {
    const uint64_t x = (uint64_t)((int64_t)kernel_base(kernel, p->x[0][i] * inverse_h) - lx),
                   y = (uint64_t)((int64_t)kernel_base(kernel, p->x[1][i] * inverse_h) - ly),
                   z = (uint64_t)((int64_t)kernel_base(kernel, p->x[2][i] * inverse_h) - lz);
    key[i]           = ((((x >> 2) * (uint64_t)ny + (y >> 2)) * (uint64_t)nz + (z >> 2)) << 6) | (x & 3) << 4 | (y & 3) << 2 | (z & 3);
  }
}

/* Where a new key >> shift begins: start [*n + 1], the last is n_keys. Needs room for n_keys + 1 in `start` at worst, so it counts first. */
static PetscErrorCode find_starts(mpm_grid *g, int64_t n_keys, int shift, int64_t *n)
{
  const int64_t n_chunks = (n_keys + CHUNK - 1) / CHUNK;
  int32_t      *count;

  PetscFunctionBeginUser;
  PetscCall(memory_alloc("mpm chunk counts", n_chunks + 1, sizeof *count, &count));
  for (int pass = 0; pass < 2; ++pass) {
    const uint64_t *restrict key = g->key;
    int32_t *restrict start      = g->start;
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < n_chunks; ++c) {
      const int64_t end = (c + 1) * CHUNK < n_keys ? (c + 1) * CHUNK : n_keys;
      int32_t       at  = pass == 0 ? 0 : count[c];
      for (int64_t i = c * CHUNK; i < end; ++i) {
        if (i > 0 && key[i] >> shift == key[i - 1] >> shift) continue;
        if (pass == 1) start[at] = (int32_t)i;
        ++at;
      }
      if (pass == 0) count[c + 1] = at;
    }
    if (pass == 1) break;
    for (int64_t c = 0; c < n_chunks; ++c) count[c + 1] += count[c];
    *n = count[n_chunks];
    PetscCall(mpm_grid_reserve("mpm starts", *n + 1, sizeof *g->start, &g->start, &g->starts_capacity));
  }
  g->start[*n] = (int32_t)n_keys;
  memory_free(&count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cut the particles [first, end) of one block into groups and batches; counts only if group is NULL. */
static void cut_cluster(const uint64_t *key, int64_t first, int64_t end, particle_group *group, particle_batch *batch, int64_t first_group,
                        int64_t *n_groups, int64_t *n_batches)
{
  int64_t ng = 0, nb = 0, batch_first = -1;
  for (int64_t i = first; i < end;) {
    int64_t n = 1;
    while (n < LANES && i + n < end && key[i + n] == key[i]) ++n;
    if (batch_first < 0 || i + n - batch_first > MATERIAL_BATCH) {
      if (batch) batch[nb] = (particle_batch){(int32_t)i, (int32_t)(first_group + ng)};
      batch_first = i;
      ++nb;
    }
    if (group) group[ng] = (particle_group){(int32_t)i, (uint8_t)n, (uint8_t)(key[i] & 63)};
    ++ng;
    i += n;
  }
  *n_groups  = ng;
  *n_batches = nb;
}

static void bound_cluster(const particles *p, mpm_cluster *c)
{
  double r2 = 0.0;
  for (int d = 0; d < 3; ++d) {
    double lo = DBL_MAX, hi = -DBL_MAX;
    for (int64_t i = c->first; i < c->end; ++i) {
      lo = p->x[d][i] < lo ? p->x[d][i] : lo;
      hi = p->x[d][i] > hi ? p->x[d][i] : hi;
    }
    c->center[d] = 0.5 * (lo + hi);
    r2 += 0.25 * (hi - lo) * (hi - lo);
  }
  c->radius = sqrt(r2) * (1.0 + 4.0 * DBL_EPSILON);
}

static void block_position(const mpm_grid *g, uint64_t key, double base[3])
{
  const uint64_t ny = (uint64_t)g->side[1], nz = (uint64_t)g->side[2];
  base[0] = (double)(BLOCK_SIDE * (g->low[0] + (int64_t)(key / (ny * nz))));
  base[1] = (double)(BLOCK_SIDE * (g->low[1] + (int64_t)(key / nz % ny)));
  base[2] = (double)(BLOCK_SIDE * (g->low[2] + (int64_t)(key % nz)));
}

/* Clusters of one body from its sorted keys; groups and batches in the body. */
static PetscErrorCode add_clusters(mpm_grid *g, int set, particles *p)
{
  int64_t n_new = 0, first = g->n_clusters;

  PetscFunctionBeginUser;
  PetscCall(find_starts(g, p->n, 6, &n_new));
  PetscCall(memory_reserve("mpm clusters", first + n_new, sizeof *g->cluster, &g->clusters_capacity, &g->cluster));
  mpm_cluster   *cluster = g->cluster + first;
  const int32_t *start   = g->start;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_new; ++c) {
    int64_t n_groups, n_batches;
    cut_cluster(g->key, start[c], start[c + 1], NULL, NULL, 0, &n_groups, &n_batches);
    cluster[c]             = (mpm_cluster){.body = set, .first = start[c], .end = start[c + 1]};
    cluster[c].first_batch = (int32_t)n_batches; /* counts for now */
    cluster[c].end_batch   = (int32_t)n_groups;
    block_position(g, g->key[start[c]] >> 6, cluster[c].base);
    bound_cluster(p, &cluster[c]);
  }
  p->n_groups = p->n_batches = 0;
  for (int64_t c = 0; c < n_new; ++c) {
    const int32_t n_batches = cluster[c].first_batch, n_groups = cluster[c].end_batch;
    cluster[c].first_batch = (int32_t)p->n_batches;
    cluster[c].end_batch   = (int32_t)(p->n_batches + n_batches);
    cluster[c].block[0]    = (int32_t)p->n_groups; /* for the next loop */
    p->n_batches += n_batches;
    p->n_groups += n_groups;
  }
  PetscCall(mpm_grid_reserve("mpm groups", p->n_groups, sizeof *p->groups, &p->groups, &p->groups_capacity));
  PetscCall(mpm_grid_reserve("mpm batches", p->n_batches + 1, sizeof *p->batches, &p->batches, &p->batches_capacity));
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_new; ++c) {
    const int64_t at = cluster[c].block[0];
    int64_t       n_groups, n_batches;
    cut_cluster(g->key, start[c], start[c + 1], p->groups + at, p->batches + cluster[c].first_batch, at, &n_groups, &n_batches);
    cluster[c].block[0] = start[c]; /* remembers where its key is */
  }
  p->batches[p->n_batches] = (particle_batch){(int32_t)p->n, (int32_t)p->n_groups};
  g->n_clusters += n_new;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static uint64_t cluster_key(const mpm_grid *g, const mpm_cluster *c)
{
  const uint64_t x = (uint64_t)((int64_t)c->base[0] / BLOCK_SIDE - g->low[0]), y = (uint64_t)((int64_t)c->base[1] / BLOCK_SIDE - g->low[1]),
                 z = (uint64_t)((int64_t)c->base[2] / BLOCK_SIDE - g->low[2]);
  return (x * (uint64_t)g->side[1] + y) * (uint64_t)g->side[2] + z;
}

/* Blocks under the tiles: sort the 8 keys of every cluster; equal keys are one block, and the tiles over it. */
static PetscErrorCode make_blocks(mpm_grid *g)
{
  const int64_t  n_parts = 8 * g->n_clusters;
  const uint64_t ny = (uint64_t)g->side[1], nz = (uint64_t)g->side[2], n_all = (uint64_t)g->side[0] * ny * nz;

  PetscFunctionBeginUser;
  PetscCheck(n_parts < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "too many MPM grid blocks: use a coarser grid");
  PetscCall(mpm_grid_reserve("mpm block keys", n_parts, sizeof *g->key, &g->key, &g->keys_capacity));
  PetscCall(mpm_grid_reserve("mpm block parts", n_parts, sizeof *g->part, &g->part, &g->parts_capacity));
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < g->n_clusters; ++c) {
    const uint64_t key = cluster_key(g, &g->cluster[c]);
    for (uint64_t o = 0; o < 8; ++o) g->key[8 * c + (int64_t)o] = key + ((o >> 2) * ny + ((o >> 1) & 1)) * nz + (o & 1);
  }
  PetscCall(sort_keys(n_parts, bits_for(n_all), g->key, g->part));
  PetscCall(find_starts(g, n_parts, 0, &g->n_blocks));
  if (g->n_blocks > g->blocks_capacity) {
    const int64_t n       = g->n_blocks + g->n_blocks / 4;
    int64_t       zero[3] = {0, 0, 0};
    PetscCall(mpm_grid_reserve("mpm part starts", n + 1, sizeof *g->part_start, &g->part_start, &zero[0]));
    PetscCall(mpm_grid_reserve("mpm nodes", n * BLOCK_NODES, sizeof *g->node_dof, &g->node_dof, &zero[1]));
    PetscCall(mpm_grid_reserve("mpm block positions", n, sizeof *g->block_key, &g->block_key, &zero[2]));
    g->blocks_capacity = n;
  }
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    g->part_start[b] = g->start[b];
    g->block_key[b]  = g->key[g->start[b]];
    for (int32_t q = g->start[b]; q < g->start[b + 1]; ++q) g->cluster[g->part[q] >> 3].block[g->part[q] & 7] = (int32_t)b;
  }
  if (g->n_blocks > 0) g->part_start[g->n_blocks] = (int32_t)n_parts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpm_grid_build(mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, step_status *status)
{
  int64_t n_max = 0;

  PetscFunctionBeginUser;
  timer_begin(TIMER_SORT);
  g->n_clusters = g->n_blocks = g->n_dofs = 0;
  for (int b = 0; b < n_bodies; ++b) n_max = bodies[b]->n > n_max ? bodies[b]->n : n_max;
  find_box(g, n_bodies, bodies, names, status);
  if (status->code == STEP_OK) {
    const uint64_t n_keys = (uint64_t)g->side[0] * (uint64_t)g->side[1] * (uint64_t)g->side[2] << 6;
    PetscCall(mpm_grid_reserve("mpm keys", n_max, sizeof *g->key, &g->key, &g->keys_capacity));
    PetscCall(mpm_grid_reserve("mpm order", n_max, sizeof *g->order, &g->order, &g->orders_capacity));
    PetscCall(mpm_grid_reserve("mpm order", n_max, sizeof *g->order_scratch, &g->order_scratch, &g->order_scratch_capacity));
    for (int b = 0; b < n_bodies; ++b) {
      make_keys(g, bodies[b]);
      sort_keys_with(bodies[b]->n, bits_for(n_keys), g->key, g->order, (uint64_t *)bodies[b]->scratch, g->order_scratch);
      particles_permute(bodies[b], g->order);
      PetscCall(add_clusters(g, b, bodies[b]));
    }
    PetscCall(make_blocks(g));
  }
  timer_end(TIMER_SORT);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpm_grid_tiles(mpm_grid *g, int n_components, int64_t *stride)
{
  PetscFunctionBeginUser;
  *stride = (int64_t)n_components * TILE_NODES(g->kernel);
  PetscCall(mpm_grid_reserve("mpm tiles", g->n_clusters * *stride, sizeof(double), &g->tiles, &g->tiles_capacity));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sum of the tiles over block b, [n_components][16 rows of 4]. */
LANES_INLINE void block_sum(const int K, const mpm_grid *g, int64_t b, int n_components, row4 *sum)
{
  const int64_t stride = (int64_t)n_components * TILE_NODES(K);
  for (int q = 0; q < 16 * n_components; ++q) sum[q] = (row4){0};
  for (int32_t q = g->part_start[b]; q < g->part_start[b + 1]; ++q) {
    const int     o = g->part[q] & 7, ox = o >> 2, oy = (o >> 1) & 1, oz = o & 1;
    const int     ni = ox ? K - 1 : BLOCK_SIDE, nj = oy ? K - 1 : BLOCK_SIDE;
    const double *tile = g->tiles + (g->part[q] >> 3) * stride + (4 * ox * TILE_SIDE(K) + 4 * oy) * TILE_Z + 4 * oz;
    for (int c = 0; c < n_components; ++c)
      for (int i = 0; i < ni; ++i)
        for (int j = 0; j < nj; ++j) sum[16 * c + 4 * i + j] += row4_load(tile + c * TILE_NODES(K) + (i * TILE_SIDE(K) + j) * TILE_Z);
  }
}
static void block_sum_any(const mpm_grid *g, int64_t b, int n_components, row4 *sum)
{
  if (g->kernel == MPM_QUADRATIC) block_sum(3, g, b, n_components, sum);
  else block_sum(4, g, b, n_components, sum);
}

PetscErrorCode mpm_grid_activate(mpm_grid *g, double threshold)
{
  double  *node;
  int32_t *count;

  PetscFunctionBeginUser;
  PetscCall(MEMORY_ALLOC("mpm grid", ARRAY(node, g->n_blocks * 4 * BLOCK_NODES), ARRAY(count, g->n_blocks + 1)));
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    double *own = node + b * 4 * BLOCK_NODES;
    block_sum_any(g, b, 4, (row4 *)own);
    for (int q = 0; q < BLOCK_NODES; ++q) count[b + 1] += own[3 * BLOCK_NODES + q] > threshold;
  }
  for (int64_t b = 0; b < g->n_blocks; ++b) count[b + 1] += count[b];
  g->n_dofs = count[g->n_blocks];
  if (g->n_dofs > g->dofs_capacity) {
    const int64_t n       = g->n_dofs + g->n_dofs / 4;
    int64_t       zero[3] = {0, 0, 0};
    PetscCall(mpm_grid_reserve("mpm dofs", n, sizeof *g->dof_node, &g->dof_node, &zero[0]));
    PetscCall(mpm_grid_reserve("mpm node mass", n, sizeof *g->mass, &g->mass, &zero[1]));
    PetscCall(mpm_grid_reserve("mpm node velocity", 3 * n, sizeof *g->velocity, &g->velocity, &zero[2]));
    g->dofs_capacity = n;
  }
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    const double *own = node + b * 4 * BLOCK_NODES;
    int32_t       dof = count[b];
    for (int q = 0; q < BLOCK_NODES; ++q) {
      const double m                   = own[3 * BLOCK_NODES + q];
      g->node_dof[b * BLOCK_NODES + q] = m > threshold ? dof : -1;
      if (!(m > threshold)) continue;
      g->dof_node[dof] = (int32_t)(b * BLOCK_NODES + q);
      g->mass[dof]     = m;
      for (int c = 0; c < 3; ++c) g->velocity[3 * (int64_t)dof + c] = own[c * BLOCK_NODES + q] / m;
      ++dof;
    }
  }
  MEMORY_FREE(&count, &node);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_grid_reduce(const mpm_grid *g, int n_components, double *out)
{
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    row4          sum[16 * 9];
    const double *own = (const double *)sum;
    block_sum_any(g, b, n_components, sum);
    for (int q = 0; q < BLOCK_NODES; ++q) {
      const int64_t dof = g->node_dof[b * BLOCK_NODES + q];
      if (dof < 0) continue;
      /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): block_sum_any fills n_components of them */
      for (int c = 0; c < n_components; ++c) out[dof * n_components + c] = own[c * BLOCK_NODES + q]; /* cppcheck-suppress uninitvar */
    }
  }
}

void mpm_grid_node(const mpm_grid *g, int64_t dof, int64_t node[3])
{
  const int32_t at = g->dof_node[dof];
  double        base[3];
  block_position(g, g->block_key[at / BLOCK_NODES], base);
  node[0] = (int64_t)base[0] + ((at >> 4) & 3);
  node[1] = (int64_t)base[1] + ((at >> 2) & 3);
  node[2] = (int64_t)base[2] + (at & 3);
}

int64_t mpm_grid_find_block(const mpm_grid *g, const int64_t node[3])
{
  uint64_t key = 0;
  int64_t  lo = 0, hi = g->n_blocks;
  for (int d = 0; d < 3; ++d) {
    const int64_t at = (int64_t)floor((double)node[d] / BLOCK_SIDE) - g->low[d];
    if (at < 0 || at >= g->side[d]) return -1;
    key = key * (uint64_t)g->side[d] + (uint64_t)at;
  }
  while (lo < hi) {
    const int64_t mid = (lo + hi) / 2;
    if (g->block_key[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  return lo == g->n_blocks || g->block_key[lo] != key ? -1 : lo;
}

int32_t mpm_grid_find(const mpm_grid *g, const int64_t node[3])
{
  const int64_t block = mpm_grid_find_block(g, node);
  return block < 0 ? -1 : g->node_dof[block * BLOCK_NODES + ((node[0] & 3) * 4 + (node[1] & 3)) * 4 + (node[2] & 3)];
}

int mpm_grid_stencil(const mpm_grid *g, const mpm_cluster *c, const double x[3], const double *beside, int32_t *dof, double *weight)
{
  const int K = g->kernel;
  double    w[3][STENCIL_MAX], arm[3][STENCIL_MAX] = {{0.0}}; /* (x_i - x) . offset / D, per axis */
  int       corner[3], n                           = 0;
  for (int d = 0; d < 3; ++d) {
    const double base = kernel_base(g->kernel, x[d] * (1.0 / g->h)), s = x[d] * (1.0 / g->h) - base;
    KERNEL_WEIGHTS(K, s, w[d]);
    corner[d] = (int)(base - c->base[d]);
    for (int k = 0; k < K && beside; ++k) arm[d][k] = g->h * ((double)k - s) * beside[d] / kernel_inertia(g->kernel, g->h);
  }
  for (int i = 0; i < K; ++i)
    for (int j = 0; j < K; ++j)
      for (int k = 0; k < K; ++k) {
        const int     a = corner[0] + i, b = corner[1] + j, e = corner[2] + k;
        const int     o    = ((a >> 2) * 2 + (b >> 2)) * 2 + (e >> 2);
        const int32_t node = g->node_dof[(int64_t)c->block[o] * BLOCK_NODES + ((a & 3) * 4 + (b & 3)) * 4 + (e & 3)];
        if (node < 0) continue;
        dof[n]      = node;
        weight[n++] = w[0][i] * w[1][j] * w[2][k] * (1.0 + (arm[0][i] + arm[1][j] + arm[2][k]));
      }
  return n;
}
