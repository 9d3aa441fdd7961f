/* Particles of one cell have the same stencil of N = K^3 nodes. The contribution of a cell to the matrix is therefore dense, N x N blocks,
 * and a sum of outer products. With r_i = W^T grad w_i and the spectral tangent of a particle (mpm_force.h):
 *
 *   H_ij = sum_b r_i[b] T_b(r_j),   T_b(r) = sum_d r[d] C_bd,
 *   C_bb = p'_bb u_b u_b^T + sum_{a != b} plus_ab u_a u_a^T,   C_bd = p'_bd u_b u_d^T + minus_bd u_d u_b^T   (u: columns of U)
 *
 * This is a product of an N x 3n with a 3n x 9N matrix for n particles. It is summed in a private buffer per cell and then added to the
 * matrix. Clusters whose blocks agree modulo 2 along every axis have no common node. Therefore eight rounds per body need no atomics, and
 * the order of additions to an entry is that of the rounds. With walls, contributions go to other nodes, and one thread does all rounds. */
#include "discretize/mpm/mpm_assemble.h"
#include "core/memory.h"
#include "core/sort.h"
#include "core/team.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define STENCIL(K) ((K) * (K) * (K))
#define STRIDE(K) ((K) == 3 ? 28 : 64)    /* nodes of a stencil, rounded up to vectors of four */
#define COLUMNS(K) ((K) == 3 ? 256 : 576) /* 9 STRIDE, rounded up to three or four vectors of eight */
#define SPAN(K) (2 * (K)-1)               /* coupled nodes along an axis */
#define CODES(K) (SPAN(K) * SPAN(K) * SPAN(K))
#define TILE_CUBE(K) (TILE_SIDE(K) * TILE_SIDE(K) * TILE_SIDE(K))

/* Dofs within K - 1 nodes along every axis, block by block, in the order in which dofs are numbered. */
static int near_nodes(const mpm_grid *g, const int64_t node[3], int32_t *other)
{
  const int reach = (int)g->kernel - 1;
  int64_t   first[3], last[3], b[3];
  int       n = 0;
  for (int d = 0; d < 3; ++d) {
    first[d] = (node[d] - reach) >> 2; /* floor, also below zero */
    last[d]  = (node[d] + reach) >> 2;
  }
  for (b[0] = first[0]; b[0] <= last[0]; ++b[0])
    for (b[1] = first[1]; b[1] <= last[1]; ++b[1])
      for (b[2] = first[2]; b[2] <= last[2]; ++b[2]) {
        int64_t corner[3], lo[3], hi[3];
        for (int d = 0; d < 3; ++d) {
          corner[d] = BLOCK_SIDE * b[d];
          lo[d]     = node[d] - reach - corner[d] > 0 ? node[d] - reach - corner[d] : 0;
          hi[d]     = node[d] + reach - corner[d] < 3 ? node[d] + reach - corner[d] : 3;
        }
        const int64_t block = mpm_grid_find_block(g, corner);
        if (block < 0) continue;
        const int32_t *map = g->node_dof + block * BLOCK_NODES;
        for (int64_t i = lo[0]; i <= hi[0]; ++i)
          for (int64_t j = lo[1]; j <= hi[1]; ++j)
            for (int64_t k = lo[2]; k <= hi[2]; ++k)
              if (map[(4 * i + j) * 4 + k] >= 0) other[n++] = map[(4 * i + j) * 4 + k];
      }
  return n;
}

/* The dof that moves at a node: itself, or its mirror image. */
static int32_t image_of(const mpm_walls *w, int32_t dof)
{
  int64_t lo = 0, hi = w->n_ghosts;
  while (lo < hi) {
    const int64_t mid = (lo + hi) / 2;
    if (w->ghost[mid].dof < dof) lo = mid + 1;
    else hi = mid;
  }
  return lo < w->n_ghosts && w->ghost[lo].dof == dof ? w->ghost[lo].image : dof;
}

/* Nodes between the periodic planes of an axis; 0 if there are none. */
static int64_t period_of(const mpm_walls *w, double h, int axis)
{
  double plane[2] = {0.0, 0.0};
  int    n        = 0;
  for (int q = 0; q < w->n_walls; ++q)
    if (w->wall[q].kind == MPM_WALL_PERIODIC && w->wall[q].axis == axis) plane[w->wall[q].side > 0] = w->wall[q].coordinate, ++n;
  return n == 2 ? llrint((plane[1] - plane[0]) / h) : 0;
}

int mpm_couplings(const mpm_grid *g, const mpm_walls *walls, int64_t dof, int32_t *other)
{
  int64_t node[3], period[3], s[3];
  mpm_grid_node(g, dof, node);
  int n = near_nodes(g, node, other), m = 0;
  if (walls->n_walls == 0) return n;
  /* Nodes near this one and near its copies a period away: the images of all of these. */
  int32_t found[BODY_MAX_COUPLINGS * 27], near[BODY_MAX_COUPLINGS];
  memcpy(found, other, (size_t)n * sizeof *found);
  for (int d = 0; d < 3; ++d) period[d] = period_of(walls, g->h, d);
  for (s[0] = -(period[0] > 0); s[0] <= (period[0] > 0); ++s[0])
    for (s[1] = -(period[1] > 0); s[1] <= (period[1] > 0); ++s[1])
      for (s[2] = -(period[2] > 0); s[2] <= (period[2] > 0); ++s[2]) {
        int64_t at[3];
        for (int d = 0; d < 3; ++d) at[d] = node[d] + s[d] * period[d];
        if (mpm_grid_find(g, at) < 0) continue;
        const int n_near = near_nodes(g, at, near);
        for (int k = 0; k < n_near; ++k) found[n++] = image_of(walls, near[k]);
      }
  qsort(found, (size_t)n, sizeof *found, sort_compare_int32);
  for (int k = 0; k < n; ++k)
    if (m == 0 || found[k] != other[m - 1]) other[m++] = found[k];
  return m;
}

/* Destination of the entries, and work space of a thread. */
typedef struct {
  const mpm_grid   *g;
  const block_rows *H;
  int64_t           first_block;
  const mpm_walls  *walls;
  const mpm_ghost  *image; /* [n_dofs] with walls: the node that moves in this one's place */
} target;
typedef struct {
  double  *sum;     /* [N][COLUMNS]: 9 components, STRIDE nodes j each */
  double  *r, *T;   /* [3 LANES][STRIDE + LANES], [3 LANES][COLUMNS + LANES] */
  int32_t *tile_of; /* [n_dofs] node of the current tile, or -1 */
  int32_t *dof_at;  /* [TILE_CUBE] its inverse */
  int32_t *slot;    /* [TILE_CUBE][CODES] place of a neighbour in a node's row, or -1 */
} scratch;

/* r_i of a group's particles, row 3 l + b for particle l. */
LANES_INLINE void group_rows(const int K, const kernel_lanes *w, const double *t, int n, double *restrict r)
{
  lanes W[9];
  for (int k = 0; k < 9; ++k) W[k] = lanes_load(t + (9 + k) * LANES);
  for (int k = 0; k < 3 * n * (STRIDE(K) + LANES); ++k) r[k] = 0.0;
  for (int i = 0; i < K; ++i)
    for (int j = 0; j < K; ++j)
      for (int k = 0; k < K; ++k) {
        const lanes x = w->e[0][i] * w->n[1][j] * w->n[2][k], y = w->n[0][i] * w->e[1][j] * w->n[2][k],
                    z = w->n[0][i] * w->n[1][j] * w->e[2][k];
        for (int b = 0; b < 3; ++b) {
          const lanes v = W[b] * x + W[3 + b] * y + W[6 + b] * z;
          for (int l = 0; l < n; ++l) r[(3 * l + b) * (STRIDE(K) + LANES) + (i * K + j) * K + k] = v[l];
        }
      }
}

/* C_bd of a group's particles. */
LANES_INLINE void group_tensors(const double *t, double C[3][3][9][LANES])
{
  lanes U[9];
  for (int k = 0; k < 9; ++k) U[k] = lanes_load(t + k * LANES);
  for (int b = 0; b < 3; ++b)
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 9; ++e) {
        const lanes *row = U + 3 * (e / 3), *col = U + 3 * (e % 3);
        lanes        v = lanes_load(t + (18 + 3 * b + d) * LANES) * row[b] * col[d];
        if (b != d) v += lanes_load(t + (30 + 3 - b - d) * LANES) * row[d] * col[b];
        else
          for (int a = 0; a < 3; ++a)
            if (a != b) v += lanes_load(t + (27 + 3 - a - b) * LANES) * row[a] * col[a];
        lanes_store(C[b][d][e], v);
      }
}

/* T_b(r_j) for all nodes j. A component's last vector may reach into the next component, which is written after it. */
LANES_INLINE void group_columns(const int K, int n, const double C[3][3][9][LANES], const double *restrict r, double *restrict T)
{
  for (int l = 0; l < n; ++l)
    for (int b = 0; b < 3; ++b)
      for (int e = 0; e < 9; ++e) {
        const double *from = r + 3 * l * (STRIDE(K) + LANES);
        double       *to   = T + (3 * l + b) * (COLUMNS(K) + LANES) + e * STRIDE(K);
        for (int j = 0; j < STRIDE(K); j += LANES) {
          lanes v = {0};
          for (int d = 0; d < 3; ++d) v += C[b][d][e][l] * lanes_load(from + d * (STRIDE(K) + LANES) + j);
          lanes_store(to + j, v);
        }
      }
}

/* sum += r^T T, in pieces of K rows and three or four vectors that stay in registers. */
LANES_INLINE void accumulate(const int K, int n_terms, const double *restrict r, const double *restrict T, double *restrict sum)
{
  enum { V = 4 };
  const int n_vectors = K == 3 ? 4 : 3;
  for (int c = 0; c < COLUMNS(K); c += n_vectors * LANES)
    for (int i = 0; i < STENCIL(K); i += K) {
      lanes s[4][V];
#pragma GCC unroll 4
      for (int q = 0; q < K; ++q)
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; ++v) s[q][v] = lanes_load(sum + (i + q) * COLUMNS(K) + c + v * LANES);
      for (int k = 0; k < n_terms; ++k) {
        const double *factor = r + k * (STRIDE(K) + LANES) + i, *row = T + k * (COLUMNS(K) + LANES) + c;
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; ++v) {
          const lanes x = lanes_load(row + v * LANES);
#pragma GCC unroll 4
          for (int q = 0; q < K; ++q) s[q][v] += factor[q] * x;
        }
      }
#pragma GCC unroll 4
      for (int q = 0; q < K; ++q)
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; ++v) lanes_store(sum + (i + q) * COLUMNS(K) + c + v * LANES, s[q][v]);
    }
}

LANES_INLINE int tile_index(const int K, int x, int y, int z) { return (x * TILE_SIDE(K) + y) * TILE_SIDE(K) + z; }

/* The dofs of a tile, and where their rows hold each other. */
LANES_INLINE void map_tile(const int K, const target *to, const mpm_cluster *c, scratch *s)
{
  const mpm_grid *g = to->g;
  for (int x = 0; x < TILE_SIDE(K); ++x)
    for (int y = 0; y < TILE_SIDE(K); ++y)
      for (int z = 0; z < TILE_SIDE(K); ++z) {
        const int     o                   = ((x >> 2) * 2 + (y >> 2)) * 2 + (z >> 2);
        const int32_t dof                 = g->node_dof[(int64_t)c->block[o] * BLOCK_NODES + ((x & 3) * 4 + (y & 3)) * 4 + (z & 3)];
        s->dof_at[tile_index(K, x, y, z)] = dof;
        if (dof >= 0) s->tile_of[dof] = tile_index(K, x, y, z);
      }
  if (to->image) return; /* with walls, rows are searched */
  memset(s->slot, 0xff, TILE_CUBE(K) * CODES(K) * sizeof *s->slot);
  for (int q = 0; q < TILE_CUBE(K); ++q) {
    if (s->dof_at[q] < 0) continue;
    const int64_t row = to->first_block + s->dof_at[q], start = to->H->row_start[row];
    const int     x = q / (TILE_SIDE(K) * TILE_SIDE(K)), y = q / TILE_SIDE(K) % TILE_SIDE(K), z = q % TILE_SIDE(K);
    for (int64_t e = start; e < to->H->row_start[row + 1]; ++e) {
      const int64_t local = to->H->col[e] - to->first_block;
      if (local < 0 || local >= g->n_dofs || s->tile_of[local] < 0) continue;
      const int p = s->tile_of[local], dx = p / (TILE_SIDE(K) * TILE_SIDE(K)) - x + K - 1, dy = p / TILE_SIDE(K) % TILE_SIDE(K) - y + K - 1,
                dz                                               = p % TILE_SIDE(K) - z + K - 1;
      s->slot[q * CODES(K) + (dx * SPAN(K) + dy) * SPAN(K) + dz] = (int32_t)(e - start);
    }
  }
}

LANES_INLINE void unmap_tile(const int K, scratch *s)
{
  for (int q = 0; q < TILE_CUBE(K); ++q)
    if (s->dof_at[q] >= 0) s->tile_of[s->dof_at[q]] = -1;
}

/* R^T B R for one block B at column j of a row of sums: only the images of its nodes feel it, where they are free. */
static void add_mirrored(const target *to, int64_t row, int64_t col, const double *sum, int stride)
{
  const mpm_ghost *a = &to->image[row], *b = &to->image[col];
  double          *H = block_rows_find(to->H, to->first_block + a->image, to->first_block + b->image);
  if (!H) return; /* images far apart, of nodes behind several walls with nothing before them: weightless */
  for (int e = 0; e < 9; ++e)
    if (!mpm_walls_held(to->walls, a->image, e / 3) && !mpm_walls_held(to->walls, b->image, e % 3))
      H[e] += a->sign[e / 3] * b->sign[e % 3] * sum[e * stride];
}

LANES_INLINE void flush_cell(const int K, const target *to, int cell, const scratch *s)
{
  const int cx = cell >> 4, cy = (cell >> 2) & 3, cz = cell & 3;
  for (int i = 0; i < STENCIL(K); ++i) {
    const int     ix = i / (K * K), iy = i / K % K, iz = i % K, q = tile_index(K, cx + ix, cy + iy, cz + iz);
    const int32_t dof = s->dof_at[q];
    if (dof < 0) continue;
    const double  *sum  = s->sum + i * COLUMNS(K);
    const int32_t *slot = s->slot + q * CODES(K) + ((K - 1 - ix) * SPAN(K) + K - 1 - iy) * SPAN(K) + K - 1 - iz;
    double        *row  = to->H->value + 9 * to->H->row_start[to->first_block + dof];
    for (int jx = 0; jx < K; ++jx)
      for (int jy = 0; jy < K; ++jy)
        for (int jz = 0; jz < K; ++jz) {
          const int j = (jx * K + jy) * K + jz;
          if (to->image) {
            const int32_t other = s->dof_at[tile_index(K, cx + jx, cy + jy, cz + jz)];
            if (other >= 0) add_mirrored(to, dof, other, sum + j, STRIDE(K));
            continue;
          }
          const int32_t at = slot[(jx * SPAN(K) + jy) * SPAN(K) + jz];
          if (at < 0) continue;
          double *block = row + 9 * (int64_t)at;
          for (int e = 0; e < 9; ++e) block[e] += sum[e * STRIDE(K) + j];
        }
  }
}

LANES_INLINE void assemble_cluster(const int K, const target *to, const mpm_cluster *c, const particles *p, const double *tangent,
                                   scratch *s)
{
  const double  inverse_h = 1.0 / to->g->h, scale_e = mpm_grid_gradient_scale(to->g);
  const int32_t end = p->batches[c->end_batch].group;
  map_tile(K, to, c, s);
  memset(s->sum, 0, STENCIL(K) * COLUMNS(K) * sizeof *s->sum);
  for (int32_t q = p->batches[c->first_batch].group; q < end; ++q) {
    const particle_group group = p->groups[q];
    const double        *from  = tangent + MPM_TANGENT * (int64_t)group.first;
    double               t[MPM_TANGENT * LANES], C[3][3][9][LANES], base[3];
    lanes                x[3];
    kernel_lanes         w;
    for (int k = 0; k < MPM_TANGENT; ++k) lanes_store(t + k * LANES, lanes_load(from + k * group.n));
    (void)mpm_grid_cell(K, c, group.cell, base);
    mpm_grid_local(p, group.first, base, inverse_h, x);
    kernel_at(K, to->g->gradient, x, scale_e, &w);
    group_rows(K, &w, t, group.n, s->r);
    group_tensors(t, C);
    group_columns(K, group.n, (const double(*)[3][9][LANES])C, s->r, s->T);
    accumulate(K, 3 * group.n, s->r, s->T, s->sum);
    if (q + 1 < end && p->groups[q + 1].cell == group.cell) continue;
    flush_cell(K, to, group.cell, s);
    memset(s->sum, 0, STENCIL(K) * COLUMNS(K) * sizeof *s->sum);
  }
  unmap_tile(K, s);
}

/* Has a node of the cluster's tile a row with more than its diagonal? */
static bool is_wanted(const target *to, const mpm_cluster *c)
{
  const mpm_grid *g = to->g;
  if (to->image) return true;
  for (int o = 0; o < 8; ++o)
    for (int k = 0; k < BLOCK_NODES && c->block[o] >= 0; ++k) {
      const int32_t dof = g->node_dof[(int64_t)c->block[o] * BLOCK_NODES + k];
      const int64_t row = to->first_block + dof;
      if (dof >= 0 && to->H->row_start[row + 1] - to->H->row_start[row] > 1) return true;
    }
  return false;
}

static int64_t round_up(int64_t n) { return (n + 7) / 8 * 8; }

static PetscErrorCode scratch_create(const mpm_grid *g, int n_threads, scratch **out, double **reals, int32_t **integers)
{
  const int     K = (int)g->kernel, side = BLOCK_SIDE + K - 1, cube = side * side * side, span = 2 * K - 1;
  const int64_t n_sum = (int64_t)K * K * K * COLUMNS(K), n_r = round_up(3 * LANES * (STRIDE(K) + LANES)),
                n_T = round_up(3 * LANES * (COLUMNS(K) + LANES)), n_tile = round_up(2 * g->n_dofs) / 2 + 16, n_cube = round_up(cube) + 8,
                n_slot = round_up((int64_t)cube * span * span * span) + 16;
  PetscFunctionBeginUser;
  PetscCall(MEMORY_ALLOC("mpm assembly", ARRAY(*out, n_threads), ARRAY(*reals, n_threads * (n_sum + n_r + n_T)),
                         ARRAY(*integers, n_threads * (n_tile + n_cube + n_slot))));
  for (int t = 0; t < n_threads; ++t) {
    scratch *s = &(*out)[t];
    s->sum     = *reals + t * (n_sum + n_r + n_T);
    s->r       = s->sum + n_sum;
    s->T       = s->r + n_r;
    s->tile_of = *integers + t * (n_tile + n_cube + n_slot);
    s->dof_at  = s->tile_of + n_tile;
    s->slot    = s->dof_at + n_cube;
    for (int64_t i = 0; i < g->n_dofs; ++i) s->tile_of[i] = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mirror image of every node, or the node itself. */
static PetscErrorCode find_images(const mpm_grid *g, const mpm_walls *walls, mpm_ghost **image)
{
  PetscFunctionBeginUser;
  *image = NULL;
  if (walls->n_walls == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("mpm mirrors", g->n_dofs, sizeof **image, image));
  for (int64_t i = 0; i < g->n_dofs; ++i) (*image)[i] = (mpm_ghost){(int32_t)i, (int32_t)i, {1.0, 1.0, 1.0}};
  for (int64_t q = 0; q < walls->n_ghosts; ++q) (*image)[walls->ghost[q].dof] = walls->ghost[q];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounds of clusters that touch no common node: by body, then by parity of the block. order [n_clusters], start [8 n_bodies + 1]. */
static void sort_rounds(const mpm_grid *g, int n_bodies, int32_t *order, int64_t *start)
{
  int64_t n = 0;
  for (int round = 0; round < 8 * n_bodies; ++round) {
    start[round] = n;
    for (int64_t q = 0; q < g->n_clusters; ++q) {
      const mpm_cluster *c      = &g->cluster[q];
      int                parity = 0;
      for (int d = 0; d < 3; ++d) parity = 2 * parity + (int)(((int64_t)c->base[d] >> 2) & 1);
      if (c->body == round / 8 && parity == round % 8) order[n++] = (int32_t)q;
    }
  }
  start[8 * n_bodies] = n;
}

PetscErrorCode mpm_assemble(const mpm_grid *g, int n_bodies, particles *const *bodies, const mpm_tangent *tangent, const mpm_walls *walls,
                            int64_t first_block, const block_rows *H)
{
  target     to = {g, H, first_block, walls, NULL};
  scratch   *own;
  double    *reals;
  int32_t   *integers, *order;
  int64_t   *start;
  mpm_ghost *image;

  PetscFunctionBeginUser;
  const int n_threads = walls->n_walls > 0 ? 1 : team_threads();
  PetscCall(scratch_create(g, n_threads, &own, &reals, &integers));
  PetscCall(find_images(g, walls, &image));
  PetscCall(MEMORY_ALLOC("mpm assembly", ARRAY(order, g->n_clusters), ARRAY(start, 8 * (int64_t)n_bodies + 1)));
  to.image = image;
  sort_rounds(g, n_bodies, order, start);
  for (int round = 0; round < 8 * n_bodies; ++round) {
#pragma omp parallel for schedule(dynamic) num_threads(n_threads)
    for (int64_t q = start[round]; q < start[round + 1]; ++q) {
      const mpm_cluster *c = &g->cluster[order[q]];
      scratch           *s = &own[omp_get_thread_num()];
      if (!is_wanted(&to, c)) continue;
      if (g->kernel == MPM_QUADRATIC) assemble_cluster(3, &to, c, bodies[c->body], tangent->of[c->body], s);
      else assemble_cluster(4, &to, c, bodies[c->body], tangent->of[c->body], s);
    }
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i) {
    double *block = block_rows_at(H, first_block + i, first_block + i);
    for (int k = 0; k < 3; ++k) block[4 * k] += g->mass[i];
  }
  MEMORY_FREE(&order, &start, &image, &own, &reals, &integers);
  PetscFunctionReturn(PETSC_SUCCESS);
}
