/* Particles -> faces and centres, by the staggered affine particle-in-cell method [Jiang2015] with trilinear weights.
 *
 * Each block with particles of a body fills a private tile, which reaches one layer of cells beyond it; then each block adds up
 * the tiles that
 * overlap it, in fixed order. What a kernel spreads beyond a wall of the box is folded back inside the tile: as if a mirror image
 * of the particle
 * stood behind the wall. On faces along the wall's axis nothing is cut off. */
#include "core/math3.h"
#include "discretize/body/body_stages.h"
#include "discretize/mac/mac_domain_impl.h"

typedef double quad __attribute__((vector_size(32)));
typedef double quad_unaligned __attribute__((vector_size(32), aligned(8), may_alias));
typedef double pair __attribute__((vector_size(16)));
typedef double pair_unaligned __attribute__((vector_size(16), aligned(8), may_alias));
enum { STEP_X = 36, STEP_Y = 6 }; /* of a tile; along z 1 */

/* Lower node and share of the upper one, along each axis: on faces, and on the lattice half a cell off. Coordinates from the
 * block's corner, in
 * cells; what is outside of it by rounding counts as on its border. */
typedef struct {
  int    on[3], off[3];
  double f_on[3], f_off[3];
} place;

static inline __attribute__((always_inline)) place place_of(const mac_grid *g, const int32_t block[3], const particles *p,
                                                            int64_t i)
{
  place l;
  for (int a = 0; a < 3; ++a) {
    double s   = (p->x[a][i] - g->min[a]) / g->h - MAC_SIDE * block[a];
    s          = fmin(fmax(s, 0.0), MAC_SIDE);
    l.on[a]    = (int)s < MAC_SIDE - 1 ? (int)s : MAC_SIDE - 1;
    l.off[a]   = (int)(s + 0.5) - 1 < MAC_SIDE - 1 ? (int)(s + 0.5) - 1 : MAC_SIDE - 1;
    l.f_on[a]  = s - l.on[a];
    l.f_off[a] = s - 0.5 - l.off[a];
  }
  return l;
}

static inline __attribute__((always_inline)) void add_axis(int axis, bool is_affine, double h, const place *l, double mass,
                                                           double v, const double C[3], double *restrict tile)
{
  int    n[3];
  double f[3];
  for (int a = 0; a < 3; ++a) n[a] = a == axis ? l->on[a] : l->off[a], f[a] = a == axis ? l->f_on[a] : l->f_off[a];
  double      *t     = tile + 2 * ((n[0] + 1) * STEP_X + (n[1] + 1) * STEP_Y + n[2] + 1);
  const double q0    = is_affine ? v - h * (f[0] * C[0] + f[1] * C[1] + f[2] * C[2]) : v;
  const double wx[2] = {mass * (1.0 - f[0]), mass * f[0]}, wy[2] = {1.0 - f[1], f[1]}, wz[2] = {1.0 - f[2], f[2]};
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      const double    w = wx[a] * wy[b], q = is_affine ? q0 + h * (a * C[0] + b * C[1]) : q0, q1 = is_affine ? q + h * C[2] : q;
      const quad      row = (quad){wz[0], wz[0], wz[1], wz[1]} * (quad){w, w * q, w, w * q1};
      quad_unaligned *to  = (quad_unaligned *)(t + 2 * (a * STEP_X + b * STEP_Y));
      *to += row;
    }
}

static inline __attribute__((always_inline)) void add_centre(const place *l, double mass, double *restrict tile)
{
  double      *t     = tile + (l->off[0] + 1) * STEP_X + (l->off[1] + 1) * STEP_Y + l->off[2] + 1;
  const double wx[2] = {mass * (1.0 - l->f_off[0]), mass * l->f_off[0]}, wy[2] = {1.0 - l->f_off[1], l->f_off[1]};
  const pair   wz = {1.0 - l->f_off[2], l->f_off[2]};
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      pair_unaligned *to = (pair_unaligned *)(t + a * STEP_X + b * STEP_Y);
      const double    w  = wx[a] * wy[b];
      *to += wz * (pair){w, w};
    }
}

static inline __attribute__((always_inline)) void fill_tile(const bool is_affine, const mac_grid *g, const int32_t block[3],
                                                            const particles *p, int64_t first, int64_t end, double *restrict tile)
{
  const double h = g->h;
  for (int q = 0; q < MAC_TILE_DOUBLES; ++q) tile[q] = 0.0;
  for (int64_t i = first; i < end; ++i) {
    const place  l    = place_of(g, block, p, i);
    const double mass = p->mass[i];
    for (int a = 0; a < 3; ++a) {
      const double C[3] = {is_affine ? p->C[3 * a][i] : 0.0, is_affine ? p->C[3 * a + 1][i] : 0.0,
                           is_affine ? p->C[3 * a + 2][i] : 0.0};
      add_axis(a, is_affine, h, &l, mass, p->v[a][i], C, tile + 2 * a * MAC_TILE);
    }
    add_centre(&l, mass, tile + 6 * MAC_TILE);
  }
}

/* Layer `from` of a tile across `axis` onto layer `to`, both counted in cells of the block; or nowhere. `width` numbers per node.
 * */
static void fold_layer(double *tile, int width, int axis, int from, int to, bool is_kept)
{
  const int step[3] = {STEP_X, STEP_Y, 1}, u = step[(axis + 1) % 3], v = step[(axis + 2) % 3];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < width; ++k) {
        double *const layer = tile + (int64_t)width * (i * u + j * v) + k, *const gone = layer + width * (from + 1) * step[axis];
        if (is_kept) layer[width * (to + 1) * step[axis]] += *gone;
        *gone = 0.0;
      }
}

/* What was spread beyond the walls of the box. */
static void fold_tile(const mac_grid *g, const int32_t block[3], bool is_mirror, double *tile)
{
  for (int a = 0; a < 3; ++a) {
    if (mac_grid_is_periodic(g, a)) continue;
    const int last = g->n[a] - 1 - MAC_SIDE * block[a];
    for (int side = 0; side < 2; ++side) {
      if (side == 0 ? block[a] > 0 : last >= MAC_SIDE) continue;
      const int from = side ? last + 1 : -1, to = side ? last : 0;
      for (int axis = 0; axis < 3; ++axis)
        if (axis != a) fold_layer(tile + 2 * axis * MAC_TILE, 2, a, from, to, is_mirror);
      fold_layer(tile + 6 * MAC_TILE, 1, a, from, to, is_mirror);
    }
  }
}

/* Sums over the cells of one block. */
typedef struct {
  double face[3][MAC_BLOCK][2], mass[MAC_BLOCK], rest[MAC_BLOCK], friction[MAC_BLOCK], cohesion[MAC_BLOCK],
      mu_i[MAC_MU_I_CONSTANTS][MAC_BLOCK];
} block_sums;

/* The part of a neighbour's tile (at offset o) that overlaps this block. */
static void add_tile(const double *tile, const int o[3], const material *m, bool has_mu_i, bool is_mixed, block_sums *s)
{
  int lo[3], hi[3];
  for (int a = 0; a < 3; ++a) lo[a] = o[a] > 0 ? MAC_SIDE - 1 : 0, hi[a] = o[a] < 0 ? 1 : MAC_SIDE;
  for (int i = lo[0]; i < hi[0]; ++i)
    for (int j = lo[1]; j < hi[1]; ++j)
      for (int k = lo[2]; k < hi[2]; ++k) {
        const int c = (i * MAC_SIDE + j) * MAC_SIDE + k;
        const int t = (i - MAC_SIDE * o[0] + 1) * STEP_X + (j - MAC_SIDE * o[1] + 1) * STEP_Y + k - MAC_SIDE * o[2] + 1;
        for (int a = 0; a < 3; ++a)
          for (int q = 0; q < 2; ++q) s->face[a][c][q] += tile[2 * (a * MAC_TILE + t) + q];
        const double mass = tile[6 * MAC_TILE + t];
        s->mass[c] += mass;
        if (!is_mixed) continue;
        s->rest[c] += mass * m->density;
        s->friction[c] += mass * m->flow->friction;
        s->cohesion[c] += mass * m->flow->tension;
        for (int q = 0; q < MAC_MU_I_CONSTANTS && has_mu_i; ++q) s->mu_i[q][c] += mass * m->flow->inertial[q];
      }
}

static void store_block(mac_domain *d, int64_t block, bool is_mixed, const block_sums *s)
{
  mac_state      *state  = &d->state;
  const material *first  = d->bodies.materials[0];
  const double    volume = pow(state->grid.h, 3);
  for (int c = 0; c < MAC_BLOCK; ++c) {
    const int64_t slot = MAC_BLOCK * block + c;
    const double  mass = s->mass[c], inverse = mass > 0.0 ? 1.0 / mass : 0.0;
    for (int a = 0; a < 3; ++a) {
      const double m       = s->face[a][c][0];
      state->mass[a][slot] = m;
      state->u[a][slot]    = m > 0.0 ? s->face[a][c][1] / m : 0.0;
      if (state->old_u[a]) state->old_u[a][slot] = state->u[a][slot];
    }
    state->rho[slot]          = mass / volume;
    state->pressure[slot]     = 0.0;
    state->rest_density[slot] = is_mixed ? inverse * s->rest[c] : mass > 0.0 ? first->density : 0.0;
    state->friction[slot]     = is_mixed ? inverse * s->friction[c] : mass > 0.0 ? first->flow->friction : 0.0;
    state->cohesion[slot]     = is_mixed ? inverse * s->cohesion[c] : mass > 0.0 ? first->flow->tension : 0.0;
    for (int q = 0; q < MAC_MU_I_CONSTANTS && state->mu_i[q]; ++q)
      state->mu_i[q][slot] = is_mixed ? inverse * s->mu_i[q][c] : mass > 0.0 ? first->flow->inertial[q] : 0.0;
  }
}

static void sum_block(mac_domain *d, int64_t block, bool is_mixed)
{
  const mac_grid *g = &d->state.grid;
  block_sums      s = {0};
  for (int q = 0; q < 27; ++q) {
    const int     o[3]   = {q / 9 - 1, q / 3 % 3 - 1, q % 3 - 1};
    const int32_t beside = mac_block_beside(g, g->block[block], o);
    for (int b = 0; b < d->bodies.n && beside >= 0; ++b) {
      const int32_t tile = d->tile_of[b][beside];
      if (tile >= 0) add_tile(d->tiles + (int64_t)tile * MAC_TILE_DOUBLES, o, d->bodies.materials[b], d->state.mu_i[0], is_mixed, &s);
    }
  }
  store_block(d, block, is_mixed, &s);
}

PetscErrorCode mac_to_grid(mac_domain *d)
{
  const mac_grid *g         = &d->state.grid;
  const bool      is_mirror = d->options->wall_mass == MAC_MIRROR, is_affine = d->options->transfer == MAC_APIC;
  bool            is_mixed = false;
  double          n        = 0.0;

  PetscFunctionBeginUser;
  timer_begin(TIMER_P2G);
  for (int b = 0; b < d->bodies.n; ++b) {
    const particles *p     = d->bodies.particles[b];
    const int32_t   *start = d->start[b];
    is_mixed               = is_mixed || d->bodies.materials[b] != d->bodies.materials[0];
    n += (double)p->n;
#pragma omp parallel for schedule(dynamic, 4)
    for (int64_t k = 0; k < g->n_blocks; ++k) {
      if (d->tile_of[b][k] < 0) continue;
      double *tile = d->tiles + (int64_t)d->tile_of[b][k] * MAC_TILE_DOUBLES;
      if (is_affine)
        fill_tile(true, g, g->block[k], p, start[k], start[k + 1], tile);
      else
        fill_tile(false, g, g->block[k], p, start[k], start[k + 1], tile);
      fold_tile(g, g->block[k], is_mirror, tile);
    }
  }
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t k = 0; k < g->n_blocks; ++k) sum_block(d, k, is_mixed);
  timer_work(TIMER_P2G, n * (is_affine ? 190.0 : 110.0), n * 8.0 * (is_affine ? 16 : 7));
  timer_end(TIMER_P2G);
  PetscFunctionReturn(PETSC_SUCCESS);
}
