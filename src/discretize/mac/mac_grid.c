/* Implementation of mac_grid.h: creation of the staggered grid and its blocks. */
#include "discretize/mac/mac_grid.h"
#include "core/memory.h"
#include <omp.h>

static int64_t table_size(const mac_grid *g) { return (int64_t)g->n_table[0] * g->n_table[1] * g->n_table[2]; }

PetscErrorCode mac_grid_create(double h, const double min[3], const int32_t n[3], const mac_wall wall[3][2], mac_grid *g)
{
  int64_t size = 1;
  PetscFunctionBegin;
  *g = (mac_grid){.h = h};
  PetscCheck(h > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "a staggered grid needs cells of a size > 0");
  for (int a = 0; a < 3; ++a) {
    PetscCheck(n[a] >= 1 && n[a] < INT32_MAX / 2, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "a staggered grid of %" PRId32 " cells along axis %d; expected 1 ... 2^30", n[a], a);
    PetscCheck((wall[a][0] == MAC_WALL_PERIODIC) == (wall[a][1] == MAC_WALL_PERIODIC), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "a staggered grid is periodic along axis %d on one side only", a);
    g->min[a] = min[a], g->n[a] = n[a];
    g->wall[a][0] = wall[a][0], g->wall[a][1] = wall[a][1];
    g->n_table[a] = (n[a] + (mac_grid_is_periodic(g, a) ? 0 : 1) + MAC_SIDE - 1) / MAC_SIDE;
    PetscCheck(size <= INT32_MAX / g->n_table[a], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "a staggered grid of %" PRId32 " x %" PRId32 " x %" PRId32 " cells has more than 2^31 - 1 blocks; "
               "choose larger cells or a smaller domain",
               n[0], n[1], n[2]);
    size *= g->n_table[a];
  }
  PetscCall(memory_alloc("blocks of the staggered grid", size, sizeof *g->block_of, &g->block_of));
  for (int64_t t = 0; t < size; ++t) g->block_of[t] = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_grid_destroy(mac_grid *g)
{
  MEMORY_FREE(&g->block_of, &g->block, &g->occupied);
  *g = (mac_grid){0};
}

/* Mark the cells with particles, in one table per thread; the result does not depend on the order. */
static void mark_particles(mac_grid *g, int n_sets, const int64_t *n, const double *const (*x)[3], int n_threads)
{
  const int64_t size = table_size(g);
#pragma omp parallel num_threads(n_threads)
  {
    uint64_t *mine = g->occupied + size * omp_get_thread_num();
    for (int64_t t = 0; t < size; ++t) mine[t] = 0;
    for (int s = 0; s < n_sets; ++s) {
#pragma omp for schedule(static) nowait
      for (int64_t p = 0; p < n[s]; ++p) {
        const int32_t i = mac_grid_index(g, 0, x[s][0][p]), j = mac_grid_index(g, 1, x[s][1][p]), k = mac_grid_index(g, 2, x[s][2][p]);
        mine[((int64_t)(i >> 2) * g->n_table[1] + (j >> 2)) * g->n_table[2] + (k >> 2)] |= UINT64_C(1)
                                                                                           << (((i & 3) << 4) + ((j & 3) << 2) + (k & 3));
      }
    }
  }
}

/* Lowest and highest occupied layer of a block along each axis. */
static void occupied_layers(uint64_t bits, int low[3], int high[3])
{
  for (int a = 0; a < 3; ++a) low[a] = MAC_SIDE, high[a] = -1;
  for (; bits; bits &= bits - 1) {
    const int l = __builtin_ctzll(bits), at[3] = {l >> 4, (l >> 2) & 3, l & 3};
    for (int a = 0; a < 3; ++a) {
      if (at[a] < low[a]) low[a] = at[a];
      if (at[a] > high[a]) high[a] = at[a];
    }
  }
}

/* Blocks reached along one axis from cells low ... high, as entries of the table, each once; returns their number. */
static int reached_blocks(const mac_grid *g, int axis, int32_t low, int32_t high, int32_t *out)
{
  const int32_t n = g->n_table[axis];
  int           m = 0;
  if (!mac_grid_is_periodic(g, axis)) {
    for (int32_t b = low < 0 ? 0 : low >> 2; b <= high >> 2 && b < n; ++b) out[m++] = b;
    return m;
  }
  const int32_t cells = g->n[axis]; /* wraps by cells: n may not be a multiple of the block's side */
  for (int32_t i = low; i <= high; ++i) {
    const int32_t b      = ((i % cells + cells) % cells) >> 2;
    bool          is_new = true;
    for (int l = 0; l < m; ++l) is_new = is_new && out[l] != b;
    if (is_new) out[m++] = b;
  }
  return m;
}

enum { BLOCKS_REACHED = 64 };
static void mark_reached(mac_grid *g, const int32_t b[3], uint64_t bits, int reach)
{
  int     low[3], high[3], m[3];
  int32_t at[3][BLOCKS_REACHED];
  occupied_layers(bits, low, high);
  for (int a = 0; a < 3; ++a) m[a] = reached_blocks(g, a, MAC_SIDE * b[a] + low[a] - reach, MAC_SIDE * b[a] + high[a] + reach, at[a]);
  for (int i = 0; i < m[0]; ++i)
    for (int j = 0; j < m[1]; ++j)
      for (int k = 0; k < m[2]; ++k) g->block_of[((int64_t)at[0][i] * g->n_table[1] + at[1][j]) * g->n_table[2] + at[2][k]] = 0;
}

PetscErrorCode mac_grid_build(mac_grid *g, int n_sets, const int64_t *n, const double *const (*x)[3], int reach)
{
  const int64_t size = table_size(g), n_threads = omp_get_max_threads();
  int64_t       n_blocks = 0;
  PetscFunctionBegin;
  SS_ASSERT(reach >= MAC_REACH && reach <= MAC_SIDE * (BLOCKS_REACHED / 4));
  PetscCall(
      memory_reserve("occupied cells of the staggered grid", n_threads * size, sizeof *g->occupied, &g->occupied_capacity, &g->occupied));
  mark_particles(g, n_sets, n, x, (int)n_threads);
  for (int64_t t = 0; t < size; ++t) g->block_of[t] = -1;
  for (int64_t t = 0; t < size; ++t) {
    uint64_t bits = 0;
    for (int64_t p = 0; p < n_threads; ++p) bits |= g->occupied[p * size + t];
    const int32_t b[3] = {(int32_t)(t / g->n_table[2] / g->n_table[1]), (int32_t)(t / g->n_table[2] % g->n_table[1]),
                          (int32_t)(t % g->n_table[2])};
    if (bits) mark_reached(g, b, bits, reach);
  }
  for (int64_t t = 0; t < size; ++t)
    if (g->block_of[t] >= 0) g->block_of[t] = (int32_t)n_blocks++;
  PetscCall(memory_reserve("blocks of the staggered grid", n_blocks, sizeof *g->block, &g->blocks_capacity, &g->block));
  for (int64_t t = 0; t < size; ++t)
    if (g->block_of[t] >= 0) {
      int32_t *b = g->block[g->block_of[t]];
      b[0] = (int32_t)(t / g->n_table[2] / g->n_table[1]), b[1] = (int32_t)(t / g->n_table[2] % g->n_table[1]);
      b[2] = (int32_t)(t % g->n_table[2]);
    }
  g->n_blocks = n_blocks, g->n_slots = MAC_BLOCK * n_blocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks are adjacent as a whole, except where a period ends within a block. */
static bool has_whole_neighbors(const mac_grid *g, const int32_t b[3])
{
  for (int a = 0; a < 3; ++a)
    if (mac_grid_is_periodic(g, a) && (b[a] == 0 || b[a] == g->n_table[a] - 1)) return false;
  return true;
}

static void tile_of_blocks(const mac_grid *g, const int32_t b[3], int64_t slot[MAC_TILE])
{
  static const int block[MAC_TILE_SIDE] = {0, 1, 1, 1, 1, 2}, local[MAC_TILE_SIDE] = {3, 0, 1, 2, 3, 0};
  int64_t          near[3][3][3];
  for (int q = 0; q < 27; ++q) {
    const int32_t at[3] = {b[0] + q / 9 - 1, b[1] + q / 3 % 3 - 1, b[2] + q % 3 - 1};
    bool          is_in = true;
    for (int a = 0; a < 3; ++a) is_in = is_in && at[a] >= 0 && at[a] < g->n_table[a];
    const int32_t other           = is_in ? g->block_of[((int64_t)at[0] * g->n_table[1] + at[1]) * g->n_table[2] + at[2]] : -1;
    near[q / 9][q / 3 % 3][q % 3] = other < 0 ? -1 : (int64_t)MAC_BLOCK * other;
  }
  for (int i = 0, t = 0; i < MAC_TILE_SIDE; ++i)
    for (int j = 0; j < MAC_TILE_SIDE; ++j)
      for (int k = 0; k < MAC_TILE_SIDE; ++k, ++t) {
        const int64_t first = near[block[i]][block[j]][block[k]];
        slot[t]             = first < 0 ? -1 : first + ((local[i] << 4) + (local[j] << 2) + local[k]);
      }
}

void mac_grid_tile(const mac_grid *g, int64_t b, int64_t slot[MAC_TILE])
{
  const int32_t *at = g->block[b], i = MAC_SIDE * at[0] - 1, j = MAC_SIDE * at[1] - 1, k = MAC_SIDE * at[2] - 1;
  if (has_whole_neighbors(g, at)) {
    tile_of_blocks(g, at, slot);
    return;
  }
  int t = 0;
  for (int u = 0; u < MAC_TILE_SIDE; ++u)
    for (int v = 0; v < MAC_TILE_SIDE; ++v)
      for (int w = 0; w < MAC_TILE_SIDE; ++w) slot[t++] = mac_grid_slot(g, i + u, j + v, k + w);
}
