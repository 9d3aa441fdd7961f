/* Memory of an MPM domain, for benches. */
#ifndef SS_BENCH_MPM_MEMORY_H
#define SS_BENCH_MPM_MEMORY_H
#include "discretize/mpm/mpm_domain.h"

/* Bytes of state per particle, and of solver work (tangents, tiles, nodes) per particle. */
static inline void bench_mpm_memory(const mpm_domain *d, double *state, double *work)
{
  const mpm_grid *g = d->grid;
  double          n = 0.0, bytes = 0.0, solver = 0.0;
  for (int b = 0; b < d->bodies.n; ++b) {
    n += (double)d->bodies.particles[b]->n;
    bytes += particles_bytes(d->bodies.particles[b]) * (double)d->bodies.particles[b]->n;
    if (b < d->tangent.n_bodies) solver += 8.0 * MPM_TANGENT * (double)d->tangent.capacity[b];
  }
  bytes += 8.0 * (double)g->keys_capacity + 4.0 * (double)(g->orders_capacity + g->order_scratch_capacity);
  solver += 8.0 * (double)g->tiles_capacity + (double)g->blocks_capacity * (4.0 * BLOCK_NODES + 12.0) + (double)g->dofs_capacity * 36.0 +
            (double)g->clusters_capacity * sizeof(mpm_cluster) + 8.0 * 12.0 * (double)d->work_capacity;
  *state = n > 0.0 ? bytes / n : 0.0;
  *work  = n > 0.0 ? solver / n : 0.0;
}
#endif
