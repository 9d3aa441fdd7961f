#include "discretize/mpm/mpm_transfer.h"
#include "core/math3.h"
#include "discretize/body/body_stages.h"
#include "discretize/mpm/mpm_affine.h"

/* Work per particle for the timers, as counted in mpm_affine.h; an affine moment takes 3 (K - 1) operations, a sum 2 K - 1. */
static double gather_flops(int K) { return 3.0 * (3 * (K - 1) * (K * K + K + 1) + (2 * K - 1) * (K + 2) + 9); }
static double scatter_flops(int K) { return (1 + 3 * 3 + 1) * K * K * K + (1 + 3 * 4) * K * K; }
static double particles_total(const mpm_grid *g)
{
  double n = 0.0;
  for (int64_t c = 0; c < g->n_clusters; ++c) n += g->cluster[c].end - g->cluster[c].first;
  return n;
}

LANES_INLINE void to_grid_cluster(const int K, const bool is_apic, const mpm_grid *g, const mpm_cluster *c,
                                  const particles *p, double *restrict tile)
{
  const double h = g->h, inverse_h = 1.0 / h;
  for (int q = 0; q < 4 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    const int64_t   at    = group.first;
    double          base[3];
    double         *t = tile + mpm_grid_cell(K, c, group.cell, base);
    lanes           s[3], v[3], C[9];
    affine_points   points;
    for (int a = 0; a < 3; ++a) MPM_PREFETCH(p->x[a], at), MPM_PREFETCH(p->v[a], at);
    for (int a = 0; a < 9 && is_apic; ++a) MPM_PREFETCH(p->C[a], at);
    MPM_PREFETCH(p->mass, at);
    mpm_grid_local(p, at, base, inverse_h, s);
    for (int a = 0; a < 3; ++a) v[a] = lanes_load(p->v[a] + at);
    for (int a = 0; a < 9 && is_apic; ++a) C[a] = lanes_load(p->C[a] + at);
    affine_points_set(K, s, lanes_load(p->mass + at), v, is_apic ? C : NULL, h, &points);
    affine_scatter(K, is_apic, group.n, &points, t);
  }
}

PetscErrorCode mpm_transfer_to_grid(mpm_grid *g, particles *const *bodies, mpm_transfer transfer)
{
  int64_t stride;
  double  heaviest = 0.0;

  PetscFunctionBeginUser;
  timer_begin(TIMER_P2G);
  PetscCall(mpm_grid_tiles(g, 4, &stride));
#pragma omp parallel for schedule(dynamic, 2) reduction(max : heaviest)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster   *c = &g->cluster[q];
    const particles *p = bodies[c->body];
    double              *tile = g->tiles + q * stride;
    if (g->kernel == MPM_QUADRATIC && transfer.is_apic) to_grid_cluster(3, true, g, c, p, tile);
    else if (g->kernel == MPM_QUADRATIC) to_grid_cluster(3, false, g, c, p, tile);
    else if (transfer.is_apic) to_grid_cluster(4, true, g, c, p, tile);
    else to_grid_cluster(4, false, g, c, p, tile);
    for (int64_t i = c->first; i < c->end; ++i) heaviest = p->mass[i] > heaviest ? p->mass[i] : heaviest;
  }
  /* A node at the very rim of a stencil may weigh less than any rounding error: it is not worth an unknown. */
  PetscCall(mpm_grid_activate(g, 1e-30 * heaviest));
  timer_work(TIMER_P2G, particles_total(g) * scatter_flops(g->kernel), particles_total(g) * 8.0 * (transfer.is_apic ? 16 : 7));
  timer_end(TIMER_P2G);
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { BUFFER = MATERIAL_BATCH + 8 };

LANES_INLINE void to_particles_cluster(const int K, const bool is_apic, const mpm_grid *g, const mpm_cluster *c, particles *p,
                                       double flip, const double *v, double dt)
{
  const double h = g->h, inverse_h = 1.0 / h, affine_scale = h / kernel_inertia(g->kernel, h);
  double       tile[3 * TILE_NODES(K)] __attribute__((aligned(64))), tile0[is_apic ? 1 : 3 * TILE_NODES(K)] __attribute__((aligned(64)));
  mpm_grid_load(K, g, c, v, tile);
  if (!is_apic) mpm_grid_load(K, g, c, g->velocity, tile0);
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    const int64_t at = group.first;
    double        base[3];
    const int     cell = mpm_grid_cell(K, c, group.cell, base);
    lanes         s[3], value[3], old[3], affine[9];
    for (int a = 0; a < 3; ++a) MPM_PREFETCH(p->x[a], at), MPM_PREFETCH(p->v[a], at);
    for (int a = 0; a < 9 && is_apic; ++a) MPM_PREFETCH(p->C[a], at);
    mpm_grid_local(p, at, base, inverse_h, s);
    if (is_apic) affine_gather(K, tile + cell, s, affine_scale, value, affine);
    else {
      kernel_lanes w;
      kernel_at(K, KERNEL_AFFINE, s, 1.0, &w);
      tile_gather(K, 3, tile + cell, &w, value, NULL);
      tile_gather(K, 3, tile0 + cell, &w, old, NULL);
    }
    for (int a = 0; a < 3; ++a) {
      lanes_store_first(p->x[a] + at, lanes_load(p->x[a] + at) + dt * value[a], group.n);
      lanes_store_first(p->v[a] + at, is_apic ? value[a] : value[a] + flip * (lanes_load(p->v[a] + at) - old[a]), group.n);
    }
    if (is_apic)
      for (int a = 0; a < 9; ++a) lanes_store_first(p->C[a] + at, affine[a], group.n);
  }
}

void mpm_transfer_to_particles(const mpm_grid *g, particles *const *bodies, mpm_transfer transfer, const double *v, double dt)
{
  timer_begin(TIMER_G2P);
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c = &g->cluster[q];
    particles     *p = bodies[c->body];
    if (g->kernel == MPM_QUADRATIC && transfer.is_apic) to_particles_cluster(3, true, g, c, p, 0.0, v, dt);
    else if (g->kernel == MPM_QUADRATIC) to_particles_cluster(3, false, g, c, p, transfer.flip, v, dt);
    else if (transfer.is_apic) to_particles_cluster(4, true, g, c, p, 0.0, v, dt);
    else to_particles_cluster(4, false, g, c, p, transfer.flip, v, dt);
  }
  timer_work(TIMER_G2P, particles_total(g) * gather_flops(g->kernel), particles_total(g) * 8.0 * (transfer.is_apic ? 18 : 12));
  timer_end(TIMER_G2P);
}

/* Smallest index of a particle of this cluster that moves farther than h, or its end. */
LANES_INLINE int64_t fastest_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, const double *v, double dt)
{
  double tile[3 * TILE_NODES(K)] __attribute__((aligned(64)));
  mpm_grid_load(K, g, c, v, tile);
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    double          base[3];
    const int       cell = mpm_grid_cell(K, c, group.cell, base);
    lanes           s[3], value[3];
    kernel_lanes    w;
    mpm_grid_local(p, group.first, base, 1.0 / g->h, s);
    kernel_at(K, KERNEL_AFFINE, s, 1.0, &w);
    tile_gather(K, 3, tile + cell, &w, value, NULL);
    const lanes speed2 = value[0] * value[0] + value[1] * value[1] + value[2] * value[2];
    for (int l = 0; l < group.n; ++l)
      if (!(speed2[l] * dt * dt <= g->h * g->h)) return group.first + l;
  }
  return c->end;
}

void mpm_transfer_check_cfl(const mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, const double *v,
                            double dt, step_verdict *verdict)
{
  /* Interpolation averages: if no node is too fast, no particle is. */
  const double limit2 = g->h * g->h / (dt * dt);
  int          is_fast = 0;
#pragma omp parallel for schedule(static) reduction(| : is_fast)
  for (int64_t i = 0; i < g->n_dofs; ++i) is_fast |= !(v3_dot(v + 3 * i, v + 3 * i) <= limit2 * (1.0 - 1e-12));
  if (!is_fast) return;
  for (int b = 0; b < n_bodies; ++b) {
    int64_t bad = bodies[b]->n;
#pragma omp parallel for schedule(dynamic, 2) reduction(min : bad)
    for (int64_t q = 0; q < g->n_clusters; ++q) {
      const mpm_cluster *c = &g->cluster[q];
      if (c->body != b) continue;
      const int64_t i = g->kernel == MPM_QUADRATIC ? fastest_cluster(3, g, c, bodies[b], v, dt) : fastest_cluster(4, g, c, bodies[b], v, dt);
      if (i < c->end && i < bad) bad = i;
    }
    if (bad == bodies[b]->n) continue;
    *verdict = (step_verdict){STEP_CFL, names[b], bad};
    return;
  }
}

LANES_INLINE void body_force_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p,
                                     const double constant[3], mpm_body_force force, void *context, double time, double *restrict tile)
{
  double acceleration[3][BUFFER] = {{0}};
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t b = c->first_batch; b < c->end_batch; ++b) {
    const int64_t       first = p->batches[b].particle, n = p->batches[b + 1].particle - first;
    const double *const x[3]  = {p->x[0] + first, p->x[1] + first, p->x[2] + first};
    double *const       a[3]  = {acceleration[0], acceleration[1], acceleration[2]};
    for (int d = 0; d < 3; ++d) memset(a[d], 0, sizeof acceleration[d]);
    if (force) force(context, time, n, x, p->id + first, a);
    for (int32_t q = p->batches[b].group; q < p->batches[b + 1].group; ++q) {
      const particle_group group = p->groups[q];
      double          base[3];
      double         *t = tile + mpm_grid_cell(K, c, group.cell, base);
      lanes           s[3], value[3];
      kernel_lanes    w;
      scatter_rows    rows;
      rowz            nz[GROUP_ROWS], ez[GROUP_ROWS];
      mpm_grid_local(p, group.first, base, 1.0 / g->h, s);
      kernel_at(K, KERNEL_AFFINE, s, g->h, &w);
      const lanes mass = lanes_first(lanes_load(p->mass + group.first), group.n);
      for (int d = 0; d < 3; ++d) value[d] = mass * (lanes_load(a[d] + (group.first - first)) + constant[d]);
      scatter_rows_set(K, &w, value, NULL, &rows);
      kernel_rows(K, KERNEL_AFFINE, s[2], g->h, nz, ez);
      tile_scatter(K, group.n, false, &rows, nz, NULL, t);
    }
  }
}

PetscErrorCode mpm_transfer_body_force(mpm_grid *g, particles *const *bodies, const double (*constant)[3], mpm_body_force force,
                                       void *context, double t, double *f)
{
  int64_t stride;

  PetscFunctionBeginUser;
  PetscCall(mpm_grid_tiles(g, 3, &stride));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c = &g->cluster[q];
    double            *tile = g->tiles + q * stride;
    if (g->kernel == MPM_QUADRATIC) body_force_cluster(3, g, c, bodies[c->body], constant[c->body], force, context, t, tile);
    else body_force_cluster(4, g, c, bodies[c->body], constant[c->body], force, context, t, tile);
  }
  mpm_grid_reduce(g, 3, f);
  PetscFunctionReturn(PETSC_SUCCESS);
}
