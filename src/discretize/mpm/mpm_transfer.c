#include "discretize/mpm/mpm_transfer.h"
#include "core/math3.h"
#include "discretize/body/body_stages.h"
#include "core/timer.h"
#include "discretize/mpm/mpm_kernel.h"

/* The two inner operations of the affine transfer: from particles to a tile of nodes (mass, momentum) and back (velocity, affine velocity).
 *
 * The velocity of a particle at node (i, j, k) of its stencil is w (A + i B + j C + k D). It is linear in i, j, k, so additions are enough
 * to compute it for all nodes, and all components share the weights w. In the other direction, the moment about the second node of the
 * stencil along an axis is also computed by additions: with p_k = w_k v_k, it is sum (k - 1) p_k = (p_2 + p_3) + p_3 - p_0, and its terms
 * are partial sums of p_0 + (p_1 + (p_2 + p_3)). Most machines execute additions in parallel with multiply-adds. To the grid a cubic
 * stencil costs 46 multiply-adds and 26 additions of vectors (tile_scatter: 88 multiply-adds), back to the particles 108 multiply-adds and
 * 63 additions per component (tile_gather: 192 multiply-adds).                                                             */

/* ---- to the grid ----------------------------------------------------------------------------------------------------------- */

/* Rows of four nodes in z, one or two of them, neighbours in y, of one particle; components that fit into registers at once. */
#if defined(__AVX512F__)
enum { PLANE_ROWS = 2, PLANE_COMPONENTS = 4 };
typedef double plane __attribute__((vector_size(64)));
#define PLANE_Z(a, b, c, d) ((plane){a, b, c, d, a, b, c, d})
#define PLANE_Y(a, b) ((plane){a, a, a, a, b, b, b, b})
LANES_INLINE plane plane_rows(double a, double b) { return _mm512_mask_blend_pd(0xF0, _mm512_set1_pd(a), _mm512_set1_pd(b)); }
LANES_INLINE row4  plane_row(plane x, int row) { return row ? _mm512_extractf64x4_pd(x, 1) : _mm512_castpd512_pd256(x); }
#else
enum { PLANE_ROWS = 1, PLANE_COMPONENTS = 2 };
typedef row4       plane;
#define PLANE_Z(a, b, c, d) ((plane){a, b, c, d})
#define PLANE_Y(a, b) ((plane){a, a, a, a})
LANES_INLINE plane plane_rows(double a, double b) { return (void)b, (plane){a, a, a, a}; }
LANES_INLINE row4  plane_row(plane x, int row) { return (void)row, x; }
#endif

/* The particles of a group, as they act on nodes (i, j, k) of their stencil: weight x_i y_j z_k, velocity
 * value + i slope[3c] + j slope[3c + 1] + k slope[3c + 2]. */
typedef struct {
  double x[STENCIL_MAX][LANES];                  /* with the mass in it; lanes without a particle are never read */
  double y[STENCIL_MAX + PLANE_ROWS - 1][LANES]; /* 0 beyond the stencil */
  plane  z[LANES];
  double value[3][LANES], slope[9][LANES]; /* m/s */
} affine_points;

/* Weights in z at s, as in kernel_row: those that vanish do so exactly. */
LANES_INLINE plane plane_weights(const int K, double s)
{
  plane p;
  if (K == 3) {
    p = PLANE_Z(1.5, -1.0, -0.5, 0.0) + s * PLANE_Z(-1.0, 1.0, 1.0, 0.0);
    return PLANE_Z(0.0, 0.75, 0.0, 0.0) + PLANE_Z(0.5, -1.0, 0.5, 0.0) * p * p;
  }
  p = PLANE_Z(2.0, -1.0, 2.0, -1.0) + s * PLANE_Z(-1.0, 1.0, -1.0, 1.0);
  return PLANE_Z(0.0, 2.0 / 3.0, 2.0 / 3.0, 0.0) + p * p * (PLANE_Z(0.0, -1.0, -1.0, 0.0) + PLANE_Z(1.0 / 6.0, 0.5, 0.5, 1.0 / 6.0) * p);
}

/* At s from their base node; C [9] is the affine velocity [1/s], NULL: none (constant). */
LANES_INLINE void affine_points_set(const int K, const lanes s[3], lanes mass, const lanes v[3], const lanes *C, double h, affine_points *a)
{
  lanes  n[STENCIL_MAX];
  double at[LANES];
  KERNEL_WEIGHTS(K, s[0], n);
#pragma GCC unroll 4
  for (int i = 0; i < K; ++i) lanes_store(a->x[i], mass * n[i]);
  KERNEL_WEIGHTS(K, s[1], n);
#pragma GCC unroll 5
  for (int j = 0; j < STENCIL_MAX + PLANE_ROWS - 1; ++j) lanes_store(a->y[j], j < K ? n[j] : (lanes){0});
  lanes_store(at, s[2]);
#pragma GCC unroll 8
  for (int l = 0; l < LANES; ++l) a->z[l] = plane_weights(K, at[l]);
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c) {
    lanes value = v[c];
    for (int d = 0; d < 3 && C; ++d) {
      const lanes slope = C[3 * c + d] * h;
      lanes_store(a->slope[3 * c + d], slope);
      value -= slope * s[d];
    }
    lanes_store(a->value[c], value);
  }
}

/* Adds components [first, end) of n particles, momentum (0 to 2) and mass (3), in rows j and its neighbours, to a tile. */
LANES_INLINE void affine_add_rows(const int K, const bool is_affine, const int first, const int end, const int j, const int n,
                                  const affine_points *a, double *tile)
{
  const plane y = PLANE_Y((double)j, (double)j + 1.0), z = PLANE_Z(0.0, 1.0, 2.0, 3.0);
  plane       sum[PLANE_COMPONENTS][STENCIL_MAX];
#pragma GCC unroll 16
  for (int q = 0; q < (end - first) * K; ++q) sum[q / K][q % K] = (plane){0};
  for (int l = 0; l < n; ++l) {
    const plane yz = plane_rows(a->y[j][l], a->y[j + PLANE_ROWS - 1][l]) * a->z[l];
    plane       w[STENCIL_MAX];
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) w[i] = a->x[i][l] * yz;
#pragma GCC unroll 4
    for (int c = first; c < end; ++c) {
      plane v = {0};
      if (c < 3 && is_affine) v = a->slope[3 * c + 2][l] * z + (a->slope[3 * c + 1][l] * y + a->value[c][l]);
#pragma GCC unroll 4
      for (int i = 0; i < K; ++i) {
        if (c == 3) sum[c - first][i] += w[i];
        else if (is_affine) sum[c - first][i] += w[i] * v;
        else sum[c - first][i] += w[i] * a->value[c][l];
        if (c < 3 && is_affine) v += a->slope[3 * c][l];
      }
    }
  }
#pragma GCC unroll 4
  for (int c = first; c < end; ++c)
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i)
      for (int r = 0; r < PLANE_ROWS && j + r < K; ++r) {
        double *row = tile + c * TILE_NODES(K) + (i * TILE_SIDE(K) + j + r) * TILE_Z;
        row4_store(row, row4_load(row) + plane_row(sum[c - first][i], r));
      }
}

/* Adds momentum (components 0 to 2) and mass (3) of n particles to a tile; tile: component 0 at their base node. */
LANES_INLINE void affine_scatter(const int K, const bool is_affine, const int n, const affine_points *a, double *tile)
{
#pragma GCC unroll 4
  for (int j = 0; j < K; j += PLANE_ROWS)
#pragma GCC unroll 2
    for (int c = 0; c < 4; c += PLANE_COMPONENTS) affine_add_rows(K, is_affine, c, c + PLANE_COMPONENTS, j, n, a, tile);
}

/* ---- to the particles ------------------------------------------------------------------------------------------------------- */

/* A product that is computed once for both uses instead of being fused into each: additions have separate execution units. */
#if defined(__has_builtin) && __has_builtin(__builtin_assoc_barrier)
#define AFFINE_ONCE(x) __builtin_assoc_barrier(x)
#else
#define AFFINE_ONCE(x) (x)
#endif

/* *sum = sum p_k n_k, *moment = sum (k - 1) p_k n_k over K values; p: lanes or double [K]. */
#define AFFINE_MOMENT(K, p, n, sum, moment)                                                                                                \
  do {                                                                                                                                     \
    const lanes first = AFFINE_ONCE((p)[0] * (n)[0]);                                                                                      \
    if ((K) == 3) {                                                                                                                        \
      const lanes last = (p)[2] * (n)[2];                                                                                                  \
      *(sum)           = first + ((p)[1] * (n)[1] + last);                                                                                 \
      *(moment)        = last - first;                                                                                                     \
    } else {                                                                                                                               \
      const lanes last = (p)[(K)-1] * (n)[(K)-1], upper = (p)[2] * (n)[2] + last;                                                          \
      *(sum)    = first + ((p)[1] * (n)[1] + upper);                                                                                       \
      *(moment) = (upper + last) - first;                                                                                                  \
    }                                                                                                                                      \
  } while (0)

LANES_INLINE lanes affine_sum(const int K, const lanes *p, const lanes *n)
{
  lanes sum = p[0] * n[0];
#pragma GCC unroll 4
  for (int k = 1; k < K; ++k) sum += p[k] * n[k];
  return sum;
}

/* value[c] = sum_i w_i t_i, moment[3c + d] = scale sum_i w_i t_i (x_i - x)_d / h for points at s from their base node.
 * t: component 0 of a tile at that node. */
LANES_INLINE void affine_gather(const int K, const double *t, const lanes s[3], double scale, lanes value[3], lanes moment[9])
{
  lanes n[3][STENCIL_MAX];
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) KERNEL_WEIGHTS(K, s[d], n[d]);
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c) {
    const double *tc             = t + c * TILE_NODES(K);
    lanes         a[STENCIL_MAX] = {{0}}, ay[STENCIL_MAX] = {{0}}, az[STENCIL_MAX] = {{0}}, v = {0}, m = {0};
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) {
      lanes b[STENCIL_MAX] = {{0}}, bz[STENCIL_MAX] = {{0}};
#pragma GCC unroll 4
      for (int j = 0; j < K; ++j) {
        const double *row = tc + (i * TILE_SIDE(K) + j) * TILE_Z;
        AFFINE_MOMENT(K, row, n[2], &b[j], &bz[j]);
      }
      AFFINE_MOMENT(K, b, n[1], &a[i], &ay[i]);
      az[i] = affine_sum(K, bz, n[1]);
    }
    AFFINE_MOMENT(K, a, n[0], &v, &m);
    value[c]          = v;
    moment[3 * c]     = (m - (s[0] - 1.0) * v) * scale;
    moment[3 * c + 1] = (affine_sum(K, ay, n[0]) - (s[1] - 1.0) * v) * scale;
    moment[3 * c + 2] = (affine_sum(K, az, n[0]) - (s[2] - 1.0) * v) * scale;
  }
}

/* Work per particle for the timers, as counted above; an affine moment takes 3 (K - 1) operations, a sum 2 K - 1. */
static double gather_flops(int K) { return 3.0 * (3 * (K - 1) * (K * K + K + 1) + (2 * K - 1) * (K + 2) + 9); }
static double scatter_flops(int K) { return (1 + 3 * 3 + 1) * K * K * K + (1 + 3 * 4) * K * K; }
static double particles_total(const mpm_grid *g)
{
  double n = 0.0;
  for (int64_t c = 0; c < g->n_clusters; ++c) n += g->cluster[c].end - g->cluster[c].first;
  return n;
}

LANES_INLINE void to_grid_cluster(const int K, const bool is_apic, const mpm_grid *g, const mpm_cluster *c, const particles *p,
                                  double *restrict tile)
{
  const double h = g->h, inverse_h = 1.0 / h;
  for (int q = 0; q < 4 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    const int64_t        at    = group.first;
    double               base[3];
    double              *t = tile + mpm_grid_cell(K, c, group.cell, base);
    lanes                s[3], v[3], C[9];
    affine_points        points;
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
    const mpm_cluster *c    = &g->cluster[q];
    const particles   *p    = bodies[c->body];
    double            *tile = g->tiles + q * stride;
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

LANES_INLINE void to_particles_cluster(const int K, const bool is_apic, const mpm_grid *g, const mpm_cluster *c, particles *p, double flip,
                                       const double *v, double dt)
{
  const double h = g->h, inverse_h = 1.0 / h, affine_scale = h / kernel_inertia(g->kernel, h);
  double       tile[3 * TILE_NODES(K)] __attribute__((aligned(64))), tile0[is_apic ? 1 : 3 * TILE_NODES(K)] __attribute__((aligned(64)));
  mpm_grid_load(K, g, c, v, tile);
  if (!is_apic) mpm_grid_load(K, g, c, g->velocity, tile0);
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    const int64_t        at    = group.first;
    double               base[3];
    const int            cell = mpm_grid_cell(K, c, group.cell, base);
    lanes                s[3], value[3], old[3], affine[9];
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
    particles         *p = bodies[c->body];
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
    double               base[3];
    const int            cell = mpm_grid_cell(K, c, group.cell, base);
    lanes                s[3], value[3];
    kernel_lanes         w;
    mpm_grid_local(p, group.first, base, 1.0 / g->h, s);
    kernel_at(K, KERNEL_AFFINE, s, 1.0, &w);
    tile_gather(K, 3, tile + cell, &w, value, NULL);
    const lanes speed2 = value[0] * value[0] + value[1] * value[1] + value[2] * value[2];
    for (int l = 0; l < group.n; ++l)
      if (!(speed2[l] * dt * dt <= g->h * g->h)) return group.first + l;
  }
  return c->end;
}

void mpm_transfer_check_cfl(const mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, const double *v, double dt,
                            step_status *status)
{
  /* Interpolation averages: if no node is too fast, no particle is. */
  const double limit2  = g->h * g->h / (dt * dt);
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
      const int64_t i =
          g->kernel == MPM_QUADRATIC ? fastest_cluster(3, g, c, bodies[b], v, dt) : fastest_cluster(4, g, c, bodies[b], v, dt);
      if (i < c->end && i < bad) bad = i;
    }
    if (bad == bodies[b]->n) continue;
    *status = (step_status){STEP_CFL_VIOLATED, names[b], bad};
    return;
  }
}

LANES_INLINE void body_force_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, mpm_body_force force,
                                     void *context, double time, double *restrict tile)
{
  double acceleration[3][BUFFER] = {{0}};
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t b = c->first_batch; b < c->end_batch; ++b) {
    const int64_t       first = p->batches[b].particle, n = p->batches[b + 1].particle - first;
    const double *const x[3] = {p->x[0] + first, p->x[1] + first, p->x[2] + first};
    double *const       a[3] = {acceleration[0], acceleration[1], acceleration[2]};
    for (int d = 0; d < 3; ++d) memset(a[d], 0, sizeof acceleration[d]);
    force(context, time, n, x, p->id + first, a);
    for (int32_t q = p->batches[b].group; q < p->batches[b + 1].group; ++q) {
      const particle_group group = p->groups[q];
      double               base[3];
      double              *t = tile + mpm_grid_cell(K, c, group.cell, base);
      lanes                s[3], value[3];
      kernel_lanes         w;
      scatter_rows         rows;
      rowz                 nz[GROUP_ROWS], ez[GROUP_ROWS];
      mpm_grid_local(p, group.first, base, 1.0 / g->h, s);
      kernel_at(K, KERNEL_AFFINE, s, g->h, &w);
      const lanes mass = lanes_first(lanes_load(p->mass + group.first), group.n);
      for (int d = 0; d < 3; ++d) value[d] = mass * lanes_load(a[d] + (group.first - first));
      scatter_rows_set(K, &w, value, NULL, &rows);
      kernel_rows(K, KERNEL_AFFINE, s[2], g->h, nz, ez);
      tile_scatter(K, group.n, false, &rows, nz, NULL, t);
    }
  }
}

PetscErrorCode mpm_transfer_body_force(mpm_grid *g, particles *const *bodies, mpm_body_force force, void *context, double t, double *f)
{
  int64_t stride;

  PetscFunctionBeginUser;
  PetscCall(mpm_grid_tiles(g, 3, &stride));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c    = &g->cluster[q];
    double            *tile = g->tiles + q * stride;
    if (g->kernel == MPM_QUADRATIC) body_force_cluster(3, g, c, bodies[c->body], force, context, t, tile);
    else body_force_cluster(4, g, c, bodies[c->body], force, context, t, tile);
  }
  mpm_grid_reduce(g, 3, f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- gradient of the mass -------------------------------------------------------------------------------------------- */

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

PetscErrorCode mpm_transfer_mass_gradient(mpm_grid *g, particles *const *bodies, double *gradient)
{
  int64_t stride;
  PetscFunctionBeginUser;
  PetscCall(mpm_grid_tiles(g, 3, &stride));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c    = &g->cluster[q];
    double            *tile = g->tiles + q * stride;
    if (g->kernel == MPM_QUADRATIC) gradient_cluster(3, g, c, bodies[c->body], tile);
    else gradient_cluster(4, g, c, bodies[c->body], tile);
  }
  mpm_grid_reduce(g, 3, gradient);
  PetscFunctionReturn(PETSC_SUCCESS);
}
