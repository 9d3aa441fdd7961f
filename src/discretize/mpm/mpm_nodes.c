#include "discretize/mpm/mpm_nodes.h"
#include "core/math3.h"
#include "discretize/mpm/mpm_domain_impl.h"

LANES_INLINE void gradient_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, double *restrict tile)
{
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    double               base[3];
    double              *t = tile + mpm_grid_cell(K, c, group.cell, base);
    lanes                s[3], derivative[9];
    kernel_lanes         w;
    scatter_rows         rows;
    rowz                 nz[GROUP_ROWS], ez[GROUP_ROWS];
    mpm_grid_local(p, group.first, base, 1.0 / g->h, s);
    kernel_at(K, KERNEL_GRADIENT, s, 1.0 / g->h, &w);
    const lanes mass = lanes_first(lanes_load(p->mass + group.first), group.n);
    for (int k = 0; k < 9; ++k) derivative[k] = k % 4 == 0 ? mass : (lanes){0};
    scatter_rows_set(K, &w, NULL, derivative, &rows);
    kernel_rows(K, KERNEL_GRADIENT, s[2], 1.0 / g->h, nz, ez);
    tile_scatter(K, group.n, true, &rows, nz, ez, t);
  }
}

PetscErrorCode mpm_nodes_get(mpm_domain *d, int32_t (*node)[3], double *mass, double (*outward)[3])
{
  mpm_grid *g = d->grid;
  int64_t   stride;
  PetscFunctionBeginUser;
  SS_ASSERT(d->is_laid_out);
  PetscCall(mpm_grid_tiles(g, 3, &stride));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c    = &g->cluster[q];
    double            *tile = g->tiles + q * stride;
    if (g->kernel == MPM_QUADRATIC) gradient_cluster(3, g, c, d->bodies.particles[c->body], tile);
    else gradient_cluster(4, g, c, d->bodies.particles[c->body], tile);
  }
  mpm_grid_reduce(g, 3, outward[0]);
  if (d->walls.n_walls > 0) mpm_walls_fold(&d->walls, g, outward[0]);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i) {
    int64_t at[3];
    mpm_grid_node(g, i, at);
    for (int k = 0; k < 3; ++k) node[i][k] = (int32_t)at[k];
    mass[i] = g->mass[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
