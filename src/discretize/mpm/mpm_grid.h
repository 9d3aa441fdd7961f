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
  int32_t body, first, end;       /* particles first ... end - 1 of the body */
  int32_t first_batch, end_batch; /* batches of the body (particle_batch) */
  int32_t block[8];               /* blocks under the tile; offset (ox, oy, oz), each 0 or 1, has index (2 ox + oy) 2 + oz */
  double  base[3];                /* first node of the block, in units of h */
  double  center[3], radius;      /* bounding sphere of the particles [m] */
} mpm_cluster;

typedef struct {
  mpm_kernel    kernel;
  kernel_factor gradient;        /* gradient of the weights: that of the splines, or that of the affine transfer, w (x_i - x_p)/D */
  double        h;               /* spacing [m] */
  int64_t       low[3], side[3]; /* box of all blocks of this step: lowest block, and number of blocks along each axis */
  int64_t       n_clusters;
  mpm_cluster  *cluster; /* [n_clusters] by body, then by block */
  int64_t       n_blocks;
  int32_t      *part_start, *part; /* [n_blocks + 1], [8 n_clusters] tiles that overlap each block: 8 cluster + offset, ascending */
  int32_t      *node_dof;          /* [n_blocks][64] dof of each node; -1: no mass */
  int64_t       n_dofs;
  int32_t      *dof_node;  /* [n_dofs] 64 block + node */
  double       *mass;      /* [n_dofs] kg */
  double       *velocity;  /* [n_dofs][3] at the start of the step */
  const double *leading;   /* [n_dofs][3] borrowed: laws with lagged rotations use those at these velocities; NULL: those at the
                                    * start of the step (body_ops.relinearise) */
  double       *tiles;     /* [n_clusters][components][TILE_NODES] scratch */
  uint64_t     *block_key; /* [n_blocks] */
  uint64_t     *key;       /* scratch for sorting, also the next line */
  int32_t      *order, *order_scratch, *start;
  int64_t clusters_capacity, parts_capacity, blocks_capacity, starts_capacity, nodes_capacity, dofs_capacity, tiles_capacity, keys_capacity,
      orders_capacity, order_scratch_capacity;
} mpm_grid;

PetscErrorCode mpm_grid_create(double h, mpm_kernel kernel, mpm_grid **out);
void           mpm_grid_destroy(mpm_grid **g);

/* Returns the argument `scale` of kernel_at and kernel_rows that gives gradients of kind g->gradient in 1/m. */
static inline double mpm_grid_gradient_scale(const mpm_grid *g)
{
  return g->gradient == KERNEL_GRADIENT ? 1.0 / g->h : g->h / kernel_inertia(g->kernel, g->h);
}

/* Sort the particles of all bodies by block and cell; create clusters, groups, batches and blocks. If a particle is farther than 2^20
 * cells from the origin or not finite, *status is set, with where = its index and body = names[its body]. */
PetscErrorCode mpm_grid_build(mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, step_status *status);
/* Allocate tiles of n_components numbers per node for every cluster; their content is undefined. *stride: doubles per cluster. */
PetscErrorCode mpm_grid_tiles(mpm_grid *g, int n_components, int64_t *stride);
/* Sum the tiles of momentum (3 components) and mass (1): sets dofs, mass and velocity. Nodes lighter than `threshold` [kg] are omitted. */
PetscErrorCode mpm_grid_activate(mpm_grid *g, double threshold);
/* out [n_dofs][n_components] = sum of tiles, n_components <= 9. */
void mpm_grid_reduce(const mpm_grid *g, int n_components, double *out);

/* node: position of a dof in units of h. */
void mpm_grid_node(const mpm_grid *g, int64_t dof, int64_t node[3]);
/* Returns the block that contains a node, or -1 if it does not exist. */
int64_t mpm_grid_find_block(const mpm_grid *g, const int64_t node[3]);
/* Returns the dof at a node, or -1 if there is none. */
int32_t mpm_grid_find(const mpm_grid *g, const int64_t node[3]);
/* The stencil of a point x in cluster c of this step: dofs and weights, sum w = 1. Returns their number (<= 64). beside [3]: offset; the
 * weights are then those of x + beside in the affine field about x (affine transfer): sum w x_i = x + beside. NULL: those of x. */
int mpm_grid_stencil(const mpm_grid *g, const mpm_cluster *c, const double x[3], const double *beside, int32_t *dof, double *weight);

/* Copy v [n_dofs][3] of the nodes under a cluster into a tile [3][TILE_NODES(K)]; nodes without mass get zero. */
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

/* Returns the offset of a cell (particle_group.cell) in a tile; base: its base node in units of h. */
LANES_INLINE int mpm_grid_cell(const int K, const mpm_cluster *c, int cell, double base[3])
{
  const int i = cell >> 4, j = (cell >> 2) & 3, k = cell & 3;
  base[0] = c->base[0] + i;
  base[1] = c->base[1] + j;
  base[2] = c->base[2] + k;
  return (i * TILE_SIDE(K) + j) * TILE_Z + k;
}

#ifndef MPM_SINGLE
/* s: positions of a group of particles relative to its base node, in units of h, one lane per particle. */
LANES_INLINE void mpm_grid_local(const particles *p, int64_t first, const double base[3], double inverse_h, lanes s[3])
{
  for (int d = 0; d < 3; ++d) s[d] = lanes_load(p->x[d] + first) * inverse_h - base[d];
}
#endif
#endif
