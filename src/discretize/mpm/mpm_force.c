/* Implementation of mpm_force.h: internal forces of MPM bodies and products with their derivative. */
#include "discretize/mpm/mpm_force.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "core/timer.h"

enum { BUFFER = MATERIAL_BATCH + 8 }; /* a group's vectors may reach beyond the batch */

void mpm_tangent_free(mpm_tangent *t)
{
  for (int b = 0; b < t->n_bodies; ++b) memory_free(&t->of[b]), memory_free(&t->single[b]);
  MEMORY_FREE(&t->of, &t->single, &t->capacity);
  t->n_bodies = 0;
}

static PetscErrorCode mpm_tangent_reserve(mpm_tangent *t, int n_bodies, particles *const *bodies)
{
  PetscFunctionBeginUser;
  if (n_bodies > t->n_bodies) {
    PetscCall(MEMORY_RESIZE("mpm tangents", ARRAY(t->of, n_bodies), ARRAY(t->single, n_bodies), ARRAY(t->capacity, n_bodies)));
    for (int b = t->n_bodies; b < n_bodies; ++b) t->of[b] = NULL, t->single[b] = NULL, t->capacity[b] = 0;
    t->n_bodies = n_bodies;
  }
  for (int b = 0; b < n_bodies; ++b) {
    if (bodies[b]->n <= t->capacity[b] && (t->single[b] || !t->wants_single)) continue;
    MEMORY_FREE(&t->of[b], &t->single[b]);
    t->capacity[b] = 0;
    PetscCall(memory_alloc("mpm tangents", bodies[b]->capacity * MPM_TANGENT + LANES, sizeof(double), &t->of[b]));
    if (t->wants_single)
      PetscCall(memory_alloc("mpm tangents", bodies[b]->capacity * MPM_TANGENT_SINGLE + 2 * LANES, sizeof(float), &t->single[b]));
    t->capacity[b] = bodies[b]->capacity;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inputs and outputs of the material for one batch, [component][BUFFER]. */
typedef struct {
  double F[9][BUFFER], start[9][BUFFER], state[MATERIAL_MAX_STATE][BUFFER], P[9][BUFFER];
  double U[9][BUFFER], V[9][BUFFER], dp[9][BUFFER], a[3][BUFFER], b[3][BUFFER];
} stress_batch;

/* Trial deformation gradients F of a batch at the node velocities of a tile. */
LANES_INLINE void lead_batch(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, int32_t batch, double dt,
                             const double *tile, double F[9][BUFFER], double start[9][BUFFER])
{
  const double  inverse_h = 1.0 / g->h, scale_e = mpm_grid_gradient_scale(g);
  const int64_t first = p->batches[batch].particle;
  for (int32_t q = p->batches[batch].group; q < p->batches[batch + 1].group; ++q) {
    const particle_group group = p->groups[q];
    const int64_t        to    = group.first - first;
    double               base[3];
    const int            cell = mpm_grid_cell(K, c, group.cell, base);
    lanes                x[3], G[9], F0[9], dF[9];
    kernel_lanes         w;
    for (int k = 0; k < 3; ++k) MPM_PREFETCH(p->x[k], group.first);
    for (int k = 0; k < 9; ++k) MPM_PREFETCH(p->F[k], group.first);
    MPM_PREFETCH(p->volume, group.first);
    mpm_grid_local(p, group.first, base, inverse_h, x);
    kernel_at(K, g->gradient, x, scale_e, &w);
    tile_gather(K, 3, tile + cell, &w, NULL, G);
    for (int k = 0; k < 9; ++k) F0[k] = lanes_load(p->F[k] + group.first);
    lanes_mul(dF, G, F0);
    for (int k = 0; k < 9; ++k) lanes_store(&start[k][to], F0[k]), lanes_store(&F[k][to], F0[k] + dt * dF[k]);
  }
}

/* Trial deformation gradients of a batch into s->F, those that the law is to start from into s->start; history into s->state. */
LANES_INLINE void trial_batch(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, int32_t batch, double dt,
                              const double *tile, const double *leading, stress_batch *s)
{
  const int64_t first = p->batches[batch].particle, n = p->batches[batch + 1].particle - first;
  if (leading) lead_batch(K, g, c, p, batch, dt, leading, s->F, s->start), memcpy(s->V, s->F, sizeof s->F);
  lead_batch(K, g, c, p, batch, dt, tile, s->F, s->start);
  if (leading) memcpy(s->start, s->V, sizeof s->start);
  for (int k = 0; k < p->n_state; ++k) memcpy(s->state[k], p->state[k] + first, (size_t)n * sizeof(double));
}

/* The nodes that lead the rotations of this material, under a cluster; NULL: the start of the step does. */
LANES_INLINE const double *load_leading(const int K, const mpm_grid *g, const mpm_cluster *c, const material *m, double *room)
{
  if (!g->leading || !m->law->step || !m->law->step->has_rotation) return NULL;
  mpm_grid_load(K, g, c, g->leading, room);
  return room;
}

/* Step status for a particle that the material rejects. */
static step_code rejection_code(const stress_batch *s, int64_t i)
{
  double sum = 0.0;
  for (int k = 0; k < 9; ++k) sum += fabs(s->F[k][i]);
  return sum < INFINITY ? STEP_INVERTED : STEP_NOT_FINITE;
}

/* U, F0 V and the scaled spectral tangent of a group, one component per vector. */
LANES_INLINE void tangent_of_group(const particles *p, int64_t at, int64_t from, double dt, const stress_batch *s, lanes t[MPM_TANGENT])
{
  const lanes scale = dt * dt * lanes_load(p->volume + at);
  lanes       F0[9], V[9];
  for (int k = 0; k < 9; ++k) F0[k] = lanes_load(p->F[k] + at), V[k] = lanes_load(&s->V[k][from]);
  for (int k = 0; k < 9; ++k) t[k] = lanes_load(&s->U[k][from]);
  lanes_mul(t + 9, F0, V);
  for (int k = 0; k < 9; ++k) t[18 + k] = scale * lanes_load(&s->dp[k][from]);
  for (int k = 0; k < 3; ++k) {
    const lanes a = lanes_load(&s->a[k][from]), b = lanes_load(&s->b[k][from]);
    t[27 + k] = 0.5 * scale * (a + b);
    t[30 + k] = 0.5 * scale * (a - b);
  }
}

/* Positions and tangent of a group, rounded. */
LANES_INLINE void keep_single(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, particle_group group,
                              const lanes t[MPM_TANGENT], float *to)
{
  typedef float narrow __attribute__((vector_size(4 * LANES)));
  typedef float narrow_unaligned __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
  double        base[3];
  lanes         s[3];
  (void)mpm_grid_cell(K, c, group.cell, base);
  mpm_grid_local(p, group.first, base, 1.0 / g->h, s);
  for (int k = 0; k < MPM_TANGENT_SINGLE; ++k) {
    const narrow x = __builtin_convertvector(k < 3 ? s[k] : t[k - 3], narrow);
    if (group.n == LANES) *(narrow_unaligned *)(to + k * LANES) = x;
    else
      for (int l = 0; l < group.n; ++l) to[k * group.n + l] = x[l];
  }
}

LANES_INLINE void keep_tangent(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, int32_t batch, double dt,
                               const stress_batch *s, double *tangent, float *single)
{
  for (int32_t q = p->batches[batch].group; q < p->batches[batch + 1].group; ++q) {
    const particle_group group = p->groups[q];
    lanes                t[MPM_TANGENT];
    double              *to = tangent + MPM_TANGENT * (int64_t)group.first;
    tangent_of_group(p, group.first, group.first - p->batches[batch].particle, dt, s, t);
    if (single) keep_single(K, g, c, p, group, t, single + MPM_TANGENT_SINGLE * (int64_t)group.first);
    if (group.n == LANES) {
      for (int k = 0; k < MPM_TANGENT; ++k) lanes_store(to + k * LANES, t[k]);
    } else {
      for (int k = 0; k < MPM_TANGENT; ++k)
        for (int l = 0; l < group.n; ++l) to[k * group.n + l] = t[k][l];
    }
  }
}

/* The tangent of a group at a stride of LANES: where it is, or spread out into `room`. */
LANES_INLINE const double *group_tangent(const double *tangent, particle_group group, double room[MPM_TANGENT * LANES])
{
  const double *from = tangent + MPM_TANGENT * (int64_t)group.first;
  for (int k = 0; k < MPM_TANGENT; ++k)
    __builtin_prefetch(from + (3 * MPM_TANGENT + k) * LANES); /* 39 -> 25 ns a product, Zen 5, 2026-11 */
  if (group.n == LANES) return from;
  for (int k = 0; k < MPM_TANGENT; ++k) lanes_store(room + k * LANES, lanes_load(from + k * group.n));
  return room;
}

/* Add dt V P F0^T of a batch to the tile. */
LANES_INLINE void scatter_batch(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, int32_t batch, double dt,
                                const stress_batch *s, double *tile)
{
  const double  inverse_h = 1.0 / g->h, scale_e = mpm_grid_gradient_scale(g);
  const int64_t first = p->batches[batch].particle;
  for (int32_t q = p->batches[batch].group; q < p->batches[batch + 1].group; ++q) {
    const particle_group group = p->groups[q];
    double               base[3];
    double              *t = tile + mpm_grid_cell(K, c, group.cell, base);
    lanes                x[3], P[9], F0[9], Q[9];
    kernel_lanes         w;
    scatter_rows         rows;
    rowz                 nz[GROUP_ROWS], ez[GROUP_ROWS];
    mpm_grid_local(p, group.first, base, inverse_h, x);
    kernel_at(K, g->gradient, x, scale_e, &w);
    for (int k = 0; k < 9; ++k) F0[k] = lanes_load(p->F[k] + group.first), P[k] = lanes_load(&s->P[k][group.first - first]);
    lanes_mul_nt(Q, P, F0);
    const lanes scale = dt * lanes_load(p->volume + group.first);
    for (int k = 0; k < 9; ++k) Q[k] = lanes_first(Q[k] * scale, group.n);
    scatter_rows_set(K, &w, NULL, Q, &rows);
    kernel_rows(K, g->gradient, x[2], scale_e, nz, ez);
    tile_scatter(K, group.n, true, &rows, nz, ez, t);
  }
}

/* Forces of one cluster; returns the smallest bad particle or c->end. */
LANES_INLINE int64_t residual_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, const material *m,
                                      double dt, const double *v, double *tangent, float *single, bool is_definite, double *tile,
                                      step_code *code)
{
  stress_batch  s;
  double        nodes[3 * TILE_NODES(K)] __attribute__((aligned(64))), room[3 * TILE_NODES(K)] __attribute__((aligned(64)));
  const double *leading = load_leading(K, g, c, m, room);
  mpm_grid_load(K, g, c, v, nodes);
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t b = c->first_batch; b < c->end_batch; ++b) {
    const int64_t first = p->batches[b].particle, n = p->batches[b + 1].particle - first;
    trial_batch(K, g, c, p, b, dt, nodes, leading, &s);
    const int64_t bad =
        material_stress(m, n, BUFFER, s.start[0], s.F[0], s.state[0], s.P[0], tangent ? s.U[0] : NULL, tangent ? s.V[0] : NULL,
                        tangent ? s.dp[0] : NULL, tangent ? s.a[0] : NULL, tangent ? s.b[0] : NULL);
    if (bad < n) {
      *code = rejection_code(&s, bad);
      return first + bad;
    }
    scatter_batch(K, g, c, p, b, dt, &s, tile);
    if (tangent && is_definite) material_tangent_project(m, n, BUFFER, s.dp[0], s.a[0], s.b[0]);
    if (tangent) keep_tangent(K, g, c, p, b, dt, &s, tangent, single);
  }
  return c->end;
}

PetscErrorCode mpm_force_residual(mpm_grid *g, int n_bodies, particles *const *bodies, const material *const *materials,
                                  const char *const *names, double dt, const double *v, double *r, mpm_tangent *tangent,
                                  step_status *status)
{
  int64_t    stride, *bad;
  step_code *code;

  PetscFunctionBeginUser;
  timer_begin(TIMER_STRESS);
  PetscCall(mpm_grid_tiles(g, 3, &stride));
  if (tangent) PetscCall(mpm_tangent_reserve(tangent, n_bodies, bodies));
  PetscCall(MEMORY_ALLOC("mpm step status", ARRAY(bad, g->n_clusters), ARRAY(code, g->n_clusters)));
  const bool is_definite = tangent && tangent->is_definite;
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c    = &g->cluster[q];
    double            *tile = g->tiles + q * stride, *t = tangent ? tangent->of[c->body] : NULL;
    float             *single = tangent && tangent->wants_single ? tangent->single[c->body] : NULL;
    if (g->kernel == MPM_QUADRATIC)
      bad[q] = residual_cluster(3, g, c, bodies[c->body], materials[c->body], dt, v, t, single, is_definite, tile, &code[q]);
    else bad[q] = residual_cluster(4, g, c, bodies[c->body], materials[c->body], dt, v, t, single, is_definite, tile, &code[q]);
  }
  /* Clusters are in order of body and particle: the first one with an error has the smallest index. */
  for (int64_t q = 0; q < g->n_clusters && status->code == STEP_OK; ++q)
    if (bad[q] < g->cluster[q].end) *status = (step_status){code[q], names[g->cluster[q].body], bad[q]};
  mpm_grid_reduce(g, 3, r);
  MEMORY_FREE(&bad, &code);
  timer_end(TIMER_STRESS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

LANES_INLINE void product_cluster(const int K, const bool is_transposed, const mpm_grid *g, const mpm_cluster *c, const particles *p,
                                  const double *tangent, const double *x, double *restrict tile)
{
  const double inverse_h = 1.0 / g->h, scale_e = mpm_grid_gradient_scale(g);
  double       nodes[3 * TILE_NODES(K)] __attribute__((aligned(64)));
  mpm_grid_load(K, g, c, x, nodes);
  for (int q = 0; q < 3 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    double               room[MPM_TANGENT * LANES];
    const double        *t = group_tangent(tangent, group, room);
    double               base[3];
    const int            cell = mpm_grid_cell(K, c, group.cell, base);
    lanes                s[3], A[9], B[9], U[9], W[9], law[15];
    kernel_lanes         w;
    scatter_rows         rows;
    rowz                 nz[GROUP_ROWS], ez[GROUP_ROWS];
    for (int k = 0; k < 3; ++k) MPM_PREFETCH(p->x[k], group.first);
    mpm_grid_local(p, group.first, base, inverse_h, s);
    kernel_rows(K, g->gradient, s[2], scale_e, nz, ez);
    kernel_at(K, g->gradient, s, scale_e, &w);
    tile_gather(K, 3, nodes + cell, &w, NULL, A);
    for (int k = 0; k < 9; ++k) U[k] = lanes_load(t + k * LANES), W[k] = lanes_load(t + (9 + k) * LANES);
    lanes_mul_tn(B, U, A);
    lanes_mul(A, B, W);
    for (int k = 0; k < 15; ++k) law[k] = lanes_load(t + (18 + k) * LANES);
    spectral(law, is_transposed, A, B);
    lanes_mul(A, U, B);
    lanes_mul_nt(B, A, W);
    for (int k = 0; k < 9; ++k) B[k] = lanes_first(B[k], group.n);
    scatter_rows_set(K, &w, NULL, B, &rows);
    tile_scatter(K, group.n, true, &rows, nz, ez, tile + cell);
  }
}

PetscErrorCode mpm_force_product(mpm_grid *g, particles *const *bodies, const mpm_tangent *tangent, bool is_transposed, const double *x,
                                 double *y)
{
  int64_t stride;
  double  n = 0.0;

  PetscFunctionBeginUser;
  timer_begin(TIMER_OPERATOR);
  PetscCall(mpm_grid_tiles(g, 3, &stride));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c    = &g->cluster[q];
    const particles   *p    = bodies[c->body];
    const double      *t    = tangent->of[c->body];
    double            *tile = g->tiles + q * stride;
    if (g->kernel == MPM_QUADRATIC && !is_transposed) product_cluster(3, false, g, c, p, t, x, tile);
    else if (g->kernel == MPM_QUADRATIC) product_cluster(3, true, g, c, p, t, x, tile);
    else if (!is_transposed) product_cluster(4, false, g, c, p, t, x, tile);
    else product_cluster(4, true, g, c, p, t, x, tile);
  }
  mpm_grid_reduce(g, 3, y);
  for (int64_t c = 0; c < g->n_clusters; ++c) n += g->cluster[c].end - g->cluster[c].first;
  const int K = g->kernel;
  timer_work(TIMER_OPERATOR, n * mpm_force_product_flops(K), n * 8.0 * (MPM_TANGENT + 3));
  timer_end(TIMER_OPERATOR);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double mpm_force_product_flops(int K)
{
  const double weights = 3.0 * 4 * K, gather = 2.0 * 3 * (K * K * (2 * K + 3) + 4 * K), dense = 2.0 * (4 * 27 + 9 + 12),
               scatter = 2.0 * (3 * 2 * K * K * K + K * K * (3 + 9));
  return weights + gather + dense + scatter;
}

/* Diagonal block of node i for one particle: D = U S U^T, with r = W^T grad w_i and S(r) linear in the six r_i r_j: D = T rr.
 * S_ii = p'_ii r_i^2 + sum_j plus_ij r_j^2,  S_ij = (p'_ij + minus_ij) r_i r_j. Order of rr: 00 11 22 12 02 01. */
LANES_INLINE void diagonal_map(const double *t, lanes T[9][6])
{
  lanes U[9], p[9];
  for (int k = 0; k < 9; ++k) U[k] = lanes_load(t + k * LANES), p[k] = lanes_load(t + (18 + k) * LANES);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      lanes *o = T[3 * a + b];
      for (int j = 0; j < 3; ++j) {
        o[j] = (lanes){0};
        for (int i = 0; i < 3; ++i)
          o[j] += U[3 * a + i] * U[3 * b + i] * (i == j ? p[4 * i] : lanes_load(t + (27 + (3 - i - j) % 3) * LANES));
      }
      for (int k = 0; k < 3; ++k) {
        const int   i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2;
        const lanes minus = lanes_load(t + (30 + k) * LANES);
        o[3 + k]          = U[3 * a + i] * U[3 * b + j] * (p[3 * i + j] + minus) + U[3 * a + j] * U[3 * b + i] * (p[3 * j + i] + minus);
      }
    }
}

/* r_i r_j at the K x K rows of nodes of a particle (or pair), from r = W^T grad w in the form that scatter_rows keeps. */
LANES_INLINE void diagonal_rows(const int K, const scatter_rows *rows, int l, rowz nz, rowz ez, rowz rr[][6])
{
#pragma GCC unroll 16
  for (int q = 0; q < K * K; ++q) {
    rowz r[3];
    for (int d = 0; d < 3; ++d) r[d] = rowz_spread(&rows->s[d][q][l]) * nz + rowz_spread(&rows->t[d][q][l]) * ez;
    rr[q][0] = r[0] * r[0], rr[q][1] = r[1] * r[1], rr[q][2] = r[2] * r[2];
    rr[q][3] = r[1] * r[2], rr[q][4] = r[0] * r[2], rr[q][5] = r[0] * r[1];
  }
}

LANES_INLINE void diagonal_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, const double *tangent,
                                   double *restrict tile)
{
  const double inverse_h = 1.0 / g->h, scale_e = mpm_grid_gradient_scale(g);
  for (int q = 0; q < 9 * TILE_NODES(K); ++q) tile[q] = 0.0;
  for (int32_t q = p->batches[c->first_batch].group; q < p->batches[c->end_batch].group; ++q) {
    const particle_group group = p->groups[q];
    double               room[MPM_TANGENT * LANES], base[3];
    const double        *t  = group_tangent(tangent, group, room);
    double              *to = tile + mpm_grid_cell(K, c, group.cell, base);
    lanes                s[3], W[9], T[9][6];
    double               map[9][6][LANES];
    kernel_lanes         w;
    scatter_rows         rows;
    rowz                 nz[GROUP_ROWS], ez[GROUP_ROWS], rr[GROUP_ROWS][STENCIL_MAX * STENCIL_MAX][6];
    mpm_grid_local(p, group.first, base, inverse_h, s);
    kernel_at(K, g->gradient, s, scale_e, &w);
    kernel_rows(K, g->gradient, s[2], scale_e, nz, ez);
    for (int k = 0; k < 9; ++k) W[k] = lanes_first(lanes_load(t + (9 + k % 3 * 3 + k / 3) * LANES), group.n); /* transposed */
    scatter_rows_set(K, &w, NULL, W, &rows);
    diagonal_map(t, T);
    for (int k = 0; k < 54; ++k) lanes_store(map[k / 6][k % 6], lanes_first(T[k / 6][k % 6], group.n));
    for (int l = 0; l < group.n; l += ROW_PARTICLES)
      diagonal_rows(K, &rows, l, nz[l / ROW_PARTICLES], ez[l / ROW_PARTICLES], rr[l / ROW_PARTICLES]);
    for (int k = 0; k < 9; ++k) {
      rowz sum[STENCIL_MAX * STENCIL_MAX];
#pragma GCC unroll 16
      for (int r = 0; r < K * K; ++r) sum[r] = (rowz){0};
      for (int l = 0; l < group.n; l += ROW_PARTICLES)
        for (int m = 0; m < 6; ++m) {
          const rowz factor = rowz_spread(&map[k][m][l]);
#pragma GCC unroll 16
          for (int r = 0; r < K * K; ++r) sum[r] += factor * rr[l / ROW_PARTICLES][r][m];
        }
#pragma GCC unroll 16
      for (int r = 0; r < K * K; ++r) {
        double *row = to + k * TILE_NODES(K) + (r / K * TILE_SIDE(K) + r % K) * TILE_Z;
        row4_store(row, row4_load(row) + rowz_fold(sum[r]));
      }
    }
  }
}

PetscErrorCode mpm_force_block_diagonal(mpm_grid *g, particles *const *bodies, const mpm_tangent *tangent, double *d)
{
  int64_t stride;

  PetscFunctionBeginUser;
  timer_begin(TIMER_PRECONDITIONER);
  PetscCall(mpm_grid_tiles(g, 9, &stride));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c = &g->cluster[q];
    if (g->kernel == MPM_QUADRATIC) diagonal_cluster(3, g, c, bodies[c->body], tangent->of[c->body], g->tiles + q * stride);
    else diagonal_cluster(4, g, c, bodies[c->body], tangent->of[c->body], g->tiles + q * stride);
  }
  mpm_grid_reduce(g, 9, d);
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Update the state of a batch by its law when v is accepted. Returns the smallest bad particle, or their number. */
LANES_INLINE int64_t accept_batch(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, const material *m,
                                  int32_t batch, double dt, const double *nodes, const double *leading, stress_batch *s,
                                  material_step_maxima *marks)
{
  const int64_t n = p->batches[batch + 1].particle - p->batches[batch].particle;
  trial_batch(K, g, c, p, batch, dt, nodes, leading, s);
  return material_has_return(m) ? material_accept(m, n, BUFFER, s->start[0], s->F[0], s->state[0], marks) : n;
}

LANES_INLINE void advance_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, particles *p, const material *m, double dt,
                                  const double *v, material_step_maxima *marks)
{
  stress_batch  s;
  double        nodes[3 * TILE_NODES(K)] __attribute__((aligned(64))), room[3 * TILE_NODES(K)] __attribute__((aligned(64)));
  const double *leading = load_leading(K, g, c, m, room);
  mpm_grid_load(K, g, c, v, nodes);
  for (int32_t b = c->first_batch; b < c->end_batch; ++b) {
    const int64_t first = p->batches[b].particle, n = p->batches[b + 1].particle - first;
    (void)accept_batch(K, g, c, p, m, b, dt, nodes, leading, &s, marks);
    for (int k = 0; k < 9; ++k) memcpy(p->F[k] + first, s.F[k], (size_t)n * sizeof(double));
    for (int k = 0; k < p->n_state; ++k) memcpy(p->state[k] + first, s.state[k], (size_t)n * sizeof(double));
  }
}

LANES_INLINE int64_t refused_in_cluster(const int K, const mpm_grid *g, const mpm_cluster *c, const particles *p, const material *m,
                                        double dt, const double *v)
{
  stress_batch  s;
  double        nodes[3 * TILE_NODES(K)] __attribute__((aligned(64))), room[3 * TILE_NODES(K)] __attribute__((aligned(64)));
  const double *leading = load_leading(K, g, c, m, room);
  mpm_grid_load(K, g, c, v, nodes);
  for (int32_t b = c->first_batch; b < c->end_batch; ++b) {
    const int64_t first = p->batches[b].particle, n = p->batches[b + 1].particle - first;
    const int64_t bad = accept_batch(K, g, c, p, m, b, dt, nodes, leading, &s, NULL);
    if (bad < n) return first + bad;
  }
  return c->end;
}

PetscErrorCode mpm_force_check(const mpm_grid *g, particles *const *bodies, const material *const *materials, const char *const *names,
                               double dt, const double *v, step_status *status)
{
  int64_t *bad;

  PetscFunctionBeginUser;
  timer_begin(TIMER_STRESS);
  PetscCall(memory_alloc("mpm step status", g->n_clusters, sizeof *bad, &bad));
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster *c = &g->cluster[q];
    const material    *m = materials[c->body];
    bad[q]               = c->end;
    if (!material_may_reject(m)) continue;
    if (g->kernel == MPM_QUADRATIC) bad[q] = refused_in_cluster(3, g, c, bodies[c->body], m, dt, v);
    else bad[q] = refused_in_cluster(4, g, c, bodies[c->body], m, dt, v);
  }
  for (int64_t q = 0; q < g->n_clusters && status->code == STEP_OK; ++q)
    if (bad[q] < g->cluster[q].end) *status = (step_status){STEP_ROTATION_TOO_LARGE, names[g->cluster[q].body], bad[q]};
  memory_free(&bad);
  timer_end(TIMER_STRESS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_force_advance(const mpm_grid *g, particles *const *bodies, const material *const *materials, double dt, const double *v,
                       material_step_maxima *marks)
{
  timer_begin(TIMER_STRESS);
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t q = 0; q < g->n_clusters; ++q) {
    const mpm_cluster   *c   = &g->cluster[q];
    material_step_maxima own = {0.0, 0.0};
    if (g->kernel == MPM_QUADRATIC) advance_cluster(3, g, c, bodies[c->body], materials[c->body], dt, v, &own);
    else advance_cluster(4, g, c, bodies[c->body], materials[c->body], dt, v, &own);
    if (own.overshoot > 0.0 || own.turn > 0.0) {
#pragma omp critical(mpm_marks) /* a maximum: the order does not matter */
      material_step_maxima_merge(&marks[c->body], &own);
    }
  }
  timer_end(TIMER_STRESS);
}
