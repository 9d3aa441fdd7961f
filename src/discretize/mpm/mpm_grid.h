/* The sparse grid of all MPM bodies of a scene: blocks of 4x4x4 nodes that exist only within reach of particles.
 *
 * A cluster consists of the particles of one body whose base nodes lie in one block. Its tile covers that block and its seven upper
 * neighbours. Adding particles to nodes takes two passes without atomics: each cluster fills a private tile, then each block sums
 * the overlapping tiles in fixed order. Results therefore do not depend on the number of threads. Callers: mpm_domain.c, mpm_force.c.
 *
 * Nodes that carry mass become unknowns ("dofs"), numbered block by block; arrays on dofs are interleaved [n_dofs][3].  */
#ifndef SS_DISCRETIZE_MPM_MPM_GRID_H
#define SS_DISCRETIZE_MPM_MPM_GRID_H
#include "core/error.h"
#include "discretize/body/step_status.h"
#include "discretize/mpm/mpm_kernel.h"
#include "discretize/particles/particles.h"

_Static_assert((int)LANES_DOUBLE <= (int)PARTICLES_PADDING, "whole vectors may be read from any particle");

typedef struct {
  int32_t body, first, end;       /* particles */
  int32_t first_batch, end_batch; /* of that body */
  int32_t block[8];               /* blocks under the tile, index (ox 2 + oy) 2 + oz */
  double  base[3];                /* first node of the block, in units of h */
  double  center[3], radius;      /* sphere around the particles */
} mpm_cluster;

typedef struct {
  mpm_kernel    kernel;
  kernel_factor gradient; /* gradient of a weight for particles: that of the spline, or of the affine transfer, w (x_i - x_p)/D */
  double        h;
  int64_t       low[3], side[3]; /* box of blocks: first one and number, this step */
  int64_t       n_clusters;
  mpm_cluster  *cluster; /* by body, then by block */
  int64_t       n_blocks;
  int32_t      *part_start, *part; /* [n_blocks + 1], [8 n_clusters]: tiles over block b: 8 cluster + offset, ascending */
  int32_t      *node_dof;          /* [n_blocks][64]: -1 where there is no mass */
  int64_t       n_dofs;
  int32_t      *dof_node;  /* [n_dofs]: 64 block + node */
  double       *mass;      /* [n_dofs] kg */
  double       *velocity;  /* [n_dofs][3] at the start of the step */
  const double *leading;   /* [n_dofs][3] borrowed: laws use the rotations at these velocities; NULL: those at the start
                                    * of the step */
  double       *tiles;     /* [n_clusters][components][TILE_NODES] */
  uint64_t     *block_key; /* [n_blocks] */
  uint64_t     *key;       /* sorting */
  int32_t      *order, *order_scratch, *start;
  int64_t clusters_capacity, parts_capacity, blocks_capacity, starts_capacity, nodes_capacity, dofs_capacity, tiles_capacity, keys_capacity,
      orders_capacity, order_scratch_capacity;
} mpm_grid;

PetscErrorCode mpm_grid_create(double h, mpm_kernel kernel, mpm_grid **out);
void           mpm_grid_destroy(mpm_grid **g);

/* For kernel_at and kernel_rows with g->gradient [1/m]. */
static inline double mpm_grid_gradient_scale(const mpm_grid *g)
{
  return g->gradient == KERNEL_GRADIENT ? 1.0 / g->h : g->h / kernel_inertia(g->kernel, g->h);
}

/* Sort the particles of all bodies by block and cell; make clusters, groups, batches and blocks. A particle farther than
 * 2^20 cells from the origin or not finite: *status, with where = its index, body = names[its body]. */
PetscErrorCode mpm_grid_build(mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, step_status *status);
/* Room for tiles of n components, for every cluster; *stride is the doubles per cluster. Contents undefined. */
PetscErrorCode mpm_grid_tiles(mpm_grid *g, int n_components, int64_t *stride);
/* Tiles of momentum (3) and mass (1) -> dofs, mass, velocity. Nodes lighter than `threshold` [kg] are omitted. */
PetscErrorCode mpm_grid_activate(mpm_grid *g, double threshold);
/* out [n_dofs][n_components] = sum of tiles, n_components <= 9. */
void mpm_grid_reduce(const mpm_grid *g, int n_components, double *out);

/* Where dof i is, in units of h. */
void mpm_grid_node(const mpm_grid *g, int64_t dof, int64_t node[3]);
/* The block that contains a node, or -1 if it does not exist. */
int64_t mpm_grid_find_block(const mpm_grid *g, const int64_t node[3]);
/* The dof at a node, or -1 if there is none. */
int32_t mpm_grid_find(const mpm_grid *g, const int64_t node[3]);
/* The stencil of a point in a cluster of this step: dofs and weights, sum w = 1. Returns their number (<= 64). beside [3]:
 * offset; the stencil is that of the place x + offset in the affine field about x (the weights of the affine transfer): sum w
 * x_i = x + offset. NULL: of x. */
int mpm_grid_stencil(const mpm_grid *g, const mpm_cluster *c, const double x[3], const double *beside, int32_t *dof, double *weight);

/* Copy the nodes under a cluster, v [n_dofs][3], into a tile [3][TILE_NODES(K)]; zero where there is no mass. */
LANES_INLINE void mpm_grid_load(const int K, const mpm_grid *g, const mpm_cluster *c, const double *v, lanes_real *tile)
{
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int o = 0; o < 8; ++o) {
    const int      ox = o >> 2, oy = (o >> 1) & 1, oz = o & 1;
    const int      ni = ox ? K - 1 : BLOCK_SIDE, nj = oy ? K - 1 : BLOCK_SIDE, nk = oz ? K - 1 : BLOCK_SIDE;
    const int32_t *map = g->node_dof + (int64_t)c->block[o] * BLOCK_NODES;
    for (int i = 0; i < ni; ++i)
      for (int j = 0; j < nj; ++j) {
        lanes_real *row = tile + ((i + 4 * ox) * TILE_SIDE(K) + j + 4 * oy) * TILE_Z + 4 * oz;
        for (int k = 0; k < nk; ++k) {
          const int32_t dof = map[(4 * i + j) * 4 + k];
          if (dof < 0) continue;
          for (int a = 0; a < 3; ++a) row[a * TILE_NODES(K) + k] = (lanes_real)v[3 * (int64_t)dof + a];
        }
      }
  }
}

/* Offset of a group's cell in a tile, and its base node in units of h. */
LANES_INLINE int mpm_grid_cell(const int K, const mpm_cluster *c, int cell, double base[3])
{
  const int i = cell >> 4, j = (cell >> 2) & 3, k = cell & 3;
  base[0] = c->base[0] + i;
  base[1] = c->base[1] + j;
  base[2] = c->base[2] + k;
  return (i * TILE_SIDE(K) + j) * TILE_Z + k;
}

#ifndef MPM_SINGLE
/* Positions of a group relative to its base node, in units of h, one lane per particle. */
LANES_INLINE void mpm_grid_local(const particles *p, int64_t first, const double base[3], double inverse_h, lanes s[3])
{
  for (int d = 0; d < 3; ++d) s[d] = lanes_load(p->x[d] + first) * inverse_h - base[d];
}
#endif
#endif
