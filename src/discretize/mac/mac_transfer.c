/* --- layout: the grid around the particles, and sorting of the particles by grid block --------------------------------------- */
#include "discretize/mac/mac_transfer.h"
#include <math.h>
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/body/body_stages.h"

/* Allocate n entries; old contents are lost. */
static PetscErrorCode reallocate(const char *tag, int64_t n, size_t size, void *out)
{
  PetscFunctionBeginUser;
  memory_free(out);
  PetscCall(memory_alloc(tag, n, size, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mac_sort_reserve(mac_domain *d, int64_t n)
{
  PetscFunctionBeginUser;
  if (n <= d->keys_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n + n / 8;
  d->keys_capacity       = 0;
  PetscCall(reallocate("mac sort", capacity, sizeof *d->key, &d->key));
  PetscCall(reallocate("mac sort", capacity, sizeof *d->key, &d->key_scratch));
  PetscCall(reallocate("mac sort", capacity, sizeof *d->order, &d->order));
  PetscCall(reallocate("mac sort", capacity, sizeof *d->order, &d->order_scratch));
  d->keys_capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_inertial(const mac_domain *d)
{
  for (int b = 0; b < d->bodies.n; ++b)
    if (d->bodies.materials[b]->flow->is_inertial) return true;
  return false;
}

static PetscErrorCode reserve_slots(mac_domain *d)
{
  mac_state    *s = &d->state;
  const int64_t n = s->grid.n_slots;

  PetscFunctionBeginUser;
  if (n <= d->slots_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n + n / 4;
  double      **arrays[] = {&s->mass[0], &s->mass[1], &s->mass[2], &s->u[0], &s->u[1], &s->u[2], &s->rho, &s->rest_density, &s->friction,
                            &s->cohesion, &s->pressure,
                            /* only for mu(I) */
                            &s->mu_i[0], &s->mu_i[1], &s->mu_i[2], &s->mu_i[3]};
  const int     n_arrays = is_inertial(d) ? 15 : 11;
  d->slots_capacity      = 0;
  for (int a = 0; a < n_arrays; ++a) PetscCall(reallocate("mac grid", capacity, sizeof(double), arrays[a]));
  d->slots_capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sort the particles of one body by slot, and find the first particle of each block. */
static PetscErrorCode sort_body(mac_domain *d, int b)
{
  const mac_grid *g = &d->state.grid;
  particles      *p = d->bodies.particles[b];
  const int64_t   n = p->n;

  PetscFunctionBeginUser;
  PetscCall(memory_reserve("mac blocks", g->n_blocks + 1, sizeof(int32_t), &d->start_capacity[b], &d->start[b]));
  PetscCall(memory_reserve("mac blocks", g->n_blocks, sizeof(int32_t), &d->tile_of_capacity[b], &d->tile_of[b]));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; ++i)
    d->key[i] =
        (uint64_t)mac_grid_slot(g, mac_grid_index(g, 0, p->x[0][i]), mac_grid_index(g, 1, p->x[1][i]), mac_grid_index(g, 2, p->x[2][i]));
  sort_keys_with(n, 40, d->key, d->order, d->key_scratch, d->order_scratch);
  (void)particles_permute(p, d->order);
  int32_t *start = d->start[b];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i <= n; ++i) {
    const int64_t from = i > 0 ? (int64_t)(d->key[i - 1] / MAC_BLOCK) + 1 : 0, to = i < n ? (int64_t)(d->key[i] / MAC_BLOCK) : g->n_blocks;
    for (int64_t k = from; k <= to; ++k) start[k] = (int32_t)i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refer to the current particle arrays, which may have been permuted. */
static void refer_to_particles(mac_domain *d)
{
  for (int b = 0; b < d->bodies.n; ++b) {
    d->n[b] = d->bodies.particles[b]->n;
    memcpy(d->x[b], d->bodies.particles[b]->x, sizeof d->x[b]);
  }
  d->state.n_sets = d->bodies.n;
  d->state.n      = d->n;
  d->state.x      = (const double *const(*)[3])d->x;
}

static PetscErrorCode reserve_tiles(mac_domain *d)
{
  int64_t n = 0;

  PetscFunctionBeginUser;
  for (int b = 0; b < d->bodies.n; ++b)
    for (int64_t k = 0; k < d->state.grid.n_blocks; ++k) d->tile_of[b][k] = d->start[b][k] < d->start[b][k + 1] ? (int32_t)n++ : -1;
  if (n * MAC_TILE_DOUBLES > d->tiles_capacity) {
    d->tiles_capacity = 0;
    PetscCall(reallocate("mac tiles", (n + n / 4) * MAC_TILE_DOUBLES, sizeof(double), &d->tiles));
    d->tiles_capacity = (n + n / 4) * MAC_TILE_DOUBLES;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_layout(mac_domain *d)
{
  mac_state *s    = &d->state;
  int64_t    most = 0;

  PetscFunctionBeginUser;
  timer_begin(TIMER_SORT);
  refer_to_particles(d);
  for (int b = 0; b < d->bodies.n; ++b) most = d->n[b] > most ? d->n[b] : most;
  /* The midpoint rule evaluates velocities up to half a step, cfl / 2 cells, away. */
  const int reach = (int)ceil(0.5 * d->options->cfl) + 2;
  PetscCall(mac_grid_build(&s->grid, s->n_sets, s->n, s->x, reach > MAC_REACH ? reach : MAC_REACH));
  PetscCall(mac_sort_reserve(d, most));
  PetscCall(reserve_slots(d));
  for (int b = 0; b < d->bodies.n; ++b) PetscCall(sort_body(d, b));
  PetscCall(reserve_tiles(d));
  refer_to_particles(d);
  timer_end(TIMER_SORT);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Block at offset o in -1 ... 1 per axis from block b, -1: none; wraps where periodic. */
static inline int32_t mac_block_beside(const mac_grid *g, const int32_t b[3], const int o[3])
{
  int64_t at = 0;
  for (int a = 0; a < 3; ++a) {
    int32_t c = b[a] + o[a];
    if (mac_grid_is_periodic(g, a)) c += c < 0 ? g->n_table[a] : c >= g->n_table[a] ? -g->n_table[a] : 0;
    if (c < 0 || c >= g->n_table[a]) return -1;
    at = at * g->n_table[a] + c;
  }
  return g->block_of[at];
}

/* --- particles to grid: faces and cell centres, by the staggered affine particle-in-cell method [Jiang2015] with trilinear
 * weights.
 *
 * Each block with particles of a body fills a private tile, which includes one layer of cells around the block. Then each block
 * sums the tiles that overlap it, in fixed order. The part of a kernel beyond a wall of the box is folded back into the tile, as
 * if a mirror image of the particle were behind the wall. Faces along the wall's axis lose nothing. */

typedef double quad __attribute__((vector_size(32)));
typedef double quad_unaligned __attribute__((vector_size(32), aligned(8), may_alias));
typedef double pair __attribute__((vector_size(16)));
typedef double pair_unaligned __attribute__((vector_size(16), aligned(8), may_alias));
enum { STEP_X = 36, STEP_Y = 6 }; /* strides of a tile; 1 along z */

/* Lower node and weight of the upper one along each axis, for faces and for the lattice shifted by half a cell. Coordinates are
 * relative to the corner of the block, in cells. Positions outside the block by round-off are moved to its boundary. */
typedef struct {
  int    on[3], off[3];
  double f_on[3], f_off[3];
} place;

static inline __attribute__((always_inline)) place place_of(const mac_grid *g, const int32_t block[3], const particles *p, int64_t i)
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

static inline __attribute__((always_inline)) void add_axis(int axis, double h, const place *l, double mass, double v, const double C[3],
                                                           double *restrict tile)
{
  int    n[3];
  double f[3];
  for (int a = 0; a < 3; ++a) n[a] = a == axis ? l->on[a] : l->off[a], f[a] = a == axis ? l->f_on[a] : l->f_off[a];
  double      *t     = tile + 2 * ((n[0] + 1) * STEP_X + (n[1] + 1) * STEP_Y + n[2] + 1);
  const double q0    = v - h * (f[0] * C[0] + f[1] * C[1] + f[2] * C[2]);
  const double wx[2] = {mass * (1.0 - f[0]), mass * f[0]}, wy[2] = {1.0 - f[1], f[1]}, wz[2] = {1.0 - f[2], f[2]};
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      const double    w = wx[a] * wy[b], q = q0 + h * (a * C[0] + b * C[1]), q1 = q + h * C[2];
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

static inline __attribute__((always_inline)) void fill_tile(const mac_grid *g, const int32_t block[3], const particles *p, int64_t first,
                                                            int64_t end, double *restrict tile)
{
  const double h = g->h;
  for (int q = 0; q < MAC_TILE_DOUBLES; ++q) tile[q] = 0.0;
  for (int64_t i = first; i < end; ++i) {
    const place  l    = place_of(g, block, p, i);
    const double mass = p->mass[i];
    for (int a = 0; a < 3; ++a) {
      const double C[3] = {p->C[3 * a][i], p->C[3 * a + 1][i], p->C[3 * a + 2][i]};
      add_axis(a, h, &l, mass, p->v[a][i], C, tile + 2 * a * MAC_TILE);
    }
    add_centre(&l, mass, tile + 6 * MAC_TILE);
  }
}

/* Add layer `from` of a tile across `axis` to layer `to`, both counted in cells of the block. `width` numbers per node. */
static void fold_layer(double *tile, int width, int axis, int from, int to)
{
  const int step[3] = {STEP_X, STEP_Y, 1}, u = step[(axis + 1) % 3], v = step[(axis + 2) % 3];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < width; ++k) {
        double *const layer = tile + (int64_t)width * (i * u + j * v) + k, *const gone = layer + width * (from + 1) * step[axis];
        layer[width * (to + 1) * step[axis]] += *gone;
        *gone = 0.0;
      }
}

/* Fold the contributions beyond the walls of the box. */
static void fold_tile(const mac_grid *g, const int32_t block[3], double *tile)
{
  for (int a = 0; a < 3; ++a) {
    if (mac_grid_is_periodic(g, a)) continue;
    const int last = g->n[a] - 1 - MAC_SIDE * block[a];
    for (int side = 0; side < 2; ++side) {
      if (side == 0 ? block[a] > 0 : last >= MAC_SIDE) continue;
      const int from = side ? last + 1 : -1, to = side ? last : 0;
      for (int axis = 0; axis < 3; ++axis)
        if (axis != a) fold_layer(tile + 2 * axis * MAC_TILE, 2, a, from, to);
      fold_layer(tile + 6 * MAC_TILE, 1, a, from, to);
    }
  }
}

/* Sums over the cells of one block. */
typedef struct {
  double face[3][MAC_BLOCK][2], mass[MAC_BLOCK], rest[MAC_BLOCK], friction[MAC_BLOCK], cohesion[MAC_BLOCK],
      mu_i[MAC_MU_I_CONSTANTS][MAC_BLOCK];
} block_sums;

/* Add the part of a neighbour's tile (at offset o) that overlaps this block. */
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
  const mac_grid *g        = &d->state.grid;
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
      fill_tile(g, g->block[k], p, start[k], start[k + 1], tile);
      fold_tile(g, g->block[k], tile);
    }
  }
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t k = 0; k < g->n_blocks; ++k) sum_block(d, k, is_mixed);
  timer_work(TIMER_P2G, n * 190.0, n * 8.0 * 16);
  timer_end(TIMER_P2G);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- grid to particles [Jiang2015]: velocities, then displacement through the face velocities by the midpoint rule.
 *
 * Each block reads the velocities of its faces and two layers around it into a tile once. Beyond walls of the box, the velocity
 * along the wall is continued constantly, consistent with the mirror images of the transfer to the grid. Half a step may lead
 * outside the tile; then nodes are read one by one. */

enum { AROUND = 2, WIDE = MAC_SIDE + 2 * AROUND, WIDE_X = WIDE * WIDE, WIDE_Y = WIDE, WIDE_TILE = WIDE * WIDE * WIDE };
typedef struct {
  double u[3][WIDE_TILE];
} wide_tile;

/* Slot of the node of an axis nearest to cell c; beyond walls, that of its mirror image. */
static int64_t node_slot(const mac_grid *g, int axis, const int32_t c[3])
{
  int32_t at[3];
  for (int a = 0; a < 3; ++a) {
    const int32_t n = g->n[a];
    at[a]           = c[a];
    if (mac_grid_is_periodic(g, a)) at[a] = ((c[a] % n) + n) % n;
    else if (a == axis) at[a] = c[a] < 0 ? 0 : c[a] > n ? n : c[a];
    else {
      if (at[a] < 0) at[a] = -1 - at[a];
      if (at[a] >= n) at[a] = 2 * n - 1 - at[a];
      at[a] = at[a] < 0 ? 0 : at[a] >= n ? n - 1 : at[a];
    }
  }
  return mac_grid_slot(g, at[0], at[1], at[2]);
}

static void load_by_node(const mac_grid *g, const int32_t block[3], double *const u[3], wide_tile *t)
{
  for (int q = 0; q < WIDE_TILE; ++q) {
    const int32_t c[3] = {MAC_SIDE * block[0] + q / WIDE_X - AROUND, MAC_SIDE * block[1] + q / WIDE_Y % WIDE - AROUND,
                          MAC_SIDE * block[2] + q % WIDE - AROUND};
    for (int a = 0; a < 3; ++a) {
      const int64_t slot = node_slot(g, a, c);
      t->u[a][q]         = slot >= 0 ? u[a][slot] : 0.0;
    }
  }
}

static void load_by_block(const mac_grid *g, const int32_t block[3], double *const u[3], wide_tile *t)
{
  for (int q = 0; q < 27; ++q) {
    const int     o[3]   = {q / 9 - 1, q / 3 % 3 - 1, q % 3 - 1};
    const int32_t beside = mac_block_beside(g, block, o);
    int           lo[3], hi[3];
    for (int a = 0; a < 3; ++a) lo[a] = o[a] < 0 ? MAC_SIDE - AROUND : 0, hi[a] = o[a] > 0 ? AROUND : MAC_SIDE;
    for (int a = 0; a < 3; ++a) {
      const double *from = beside >= 0 ? u[a] + (int64_t)MAC_BLOCK * beside : NULL;
      for (int i = lo[0]; i < hi[0]; ++i)
        for (int j = lo[1]; j < hi[1]; ++j) {
          double *to =
              t->u[a] + (i + MAC_SIDE * o[0] + AROUND) * WIDE_X + (j + MAC_SIDE * o[1] + AROUND) * WIDE_Y + MAC_SIDE * o[2] + AROUND;
          for (int k = lo[2]; k < hi[2]; ++k) to[k] = from ? from[(i * MAC_SIDE + j) * MAC_SIDE + k] : 0.0;
        }
    }
  }
}

static void load_tile(const mac_grid *g, const int32_t block[3], double *const u[3], wide_tile *t)
{
  bool is_inside = true;
  for (int a = 0; a < 3; ++a) is_inside = is_inside && MAC_SIDE * block[a] >= AROUND && MAC_SIDE * (block[a] + 1) + AROUND <= g->n[a];
  if (is_inside) load_by_block(g, block, u, t);
  else load_by_node(g, block, u, t);
}

/* Velocity along `axis` at s (in cells from the corner of the block) from eight nodes u[.]; and its gradient times h, unless NULL. */
static inline __attribute__((always_inline)) double interpolate_velocity(const double u[8], const double f[3], double *gradient)
{
  const double z00 = u[0] + f[2] * (u[1] - u[0]), z01 = u[2] + f[2] * (u[3] - u[2]), z10 = u[4] + f[2] * (u[5] - u[4]),
               z11 = u[6] + f[2] * (u[7] - u[6]);
  const double y0 = z00 + f[1] * (z01 - z00), y1 = z10 + f[1] * (z11 - z10);
  if (gradient) {
    const double d0 = (u[1] - u[0]) + f[1] * ((u[3] - u[2]) - (u[1] - u[0])), d1 = (u[5] - u[4]) + f[1] * ((u[7] - u[6]) - (u[5] - u[4]));
    gradient[0] = y1 - y0;
    gradient[1] = (z01 - z00) + f[0] * ((z11 - z10) - (z01 - z00));
    gradient[2] = d0 + f[0] * (d1 - d0);
  }
  return y0 + f[0] * (y1 - y0);
}

static inline __attribute__((always_inline)) double tile_velocity(const double *tile, int axis, const double s[3], double *gradient)
{
  int    n[3];
  double f[3], u[8];
  for (int a = 0; a < 3; ++a) {
    const double at = a == axis ? s[a] : s[a] - 0.5;
    n[a]            = (int)(at + AROUND) - AROUND;
    f[a]            = at - n[a];
  }
  const double *t = tile + (n[0] + AROUND) * WIDE_X + (n[1] + AROUND) * WIDE_Y + n[2] + AROUND;
  for (int q = 0; q < 8; ++q) u[q] = t[(q >> 2) * WIDE_X + (q >> 1 & 1) * WIDE_Y + (q & 1)];
  return interpolate_velocity(u, f, gradient);
}

static double grid_velocity(const mac_grid *g, const double *u_axis, int axis, const int32_t block[3], const double s[3])
{
  int32_t n[3];
  double  f[3], u[8];
  for (int a = 0; a < 3; ++a) {
    const double at = a == axis ? s[a] : s[a] - 0.5, low = floor(at);
    n[a] = MAC_SIDE * block[a] + (int32_t)low;
    f[a] = at - low;
  }
  for (int q = 0; q < 8; ++q) {
    const int32_t c[3] = {n[0] + (q >> 2), n[1] + (q >> 1 & 1), n[2] + (q & 1)};
    const int64_t slot = node_slot(g, axis, c);
    u[q]               = slot >= 0 ? u_axis[slot] : 0.0;
  }
  return interpolate_velocity(u, f, NULL);
}

static inline __attribute__((always_inline)) void local_place(const mac_grid *g, const int32_t block[3], const particles *p, int64_t i,
                                                              double s[3])
{
  for (int a = 0; a < 3; ++a) s[a] = fmin(fmax((p->x[a][i] - g->min[a]) / g->h - MAC_SIDE * block[a], 0.0), MAC_SIDE);
}

/* Position half a step ahead, limited by the walls, where the midpoint rule evaluates the velocity. */
static inline void midpoint(const mac_grid *g, const int32_t block[3], const double s[3], const double v[3], double half_over_h,
                            double mid[3])
{
  for (int a = 0; a < 3; ++a) {
    const double low = -MAC_SIDE * (double)block[a];
    mid[a]           = s[a] + half_over_h * v[a];
    if (!mac_grid_is_periodic(g, a)) mid[a] = fmin(fmax(mid[a], low), low + g->n[a]);
  }
}

static inline bool is_in_tile(const double s[3])
{
  bool is_in = true;
  for (int a = 0; a < 3; ++a) is_in = is_in && s[a] >= 0.5 - AROUND && s[a] < MAC_SIDE + AROUND - 1;
  return is_in;
}

/* Friction at walls of the box for particles too sparse for a continuum (their cell has no stress). The wall face stopped them by
 * an impulse per mass `stop`; no stress resists their sliding on a rough wall. Coulomb friction is applied to each particle.
 * Without it, a layer thinner than a cell would slide permanently. The affine velocity along the normal is removed: the next face
 * above is determined by these particles alone and would fall freely. */
typedef struct {
  bool   is_near[3][2]; /* a closed wall of the box is below cells 0, above cells `last` of this block */
  int    last[3];
  double before[3];
} wall_side;

static bool find_walls(const mac_grid *g, const int32_t block[3], wall_side *w)
{
  bool has = false;
  for (int a = 0; a < 3; ++a) {
    w->last[a] = g->n[a] - 1 - MAC_SIDE * block[a];
    for (int side = 0; side < 2; ++side) {
      const bool is_closed = g->wall[a][side] == MAC_WALL_ROUGH || g->wall[a][side] == MAC_WALL_SMOOTH;
      w->is_near[a][side]  = is_closed && (side ? w->last[a] < MAC_SIDE : block[a] == 0);
      has                  = has || w->is_near[a][side];
    }
  }
  return has;
}

static void apply_wall_friction(const mac_domain *d, const wall_side *w, const int cell[3], double friction, double v[3],
                                double gradient[9])
{
  for (int a = 0; a < 3; ++a)
    for (int side = 0; side < 2; ++side) {
      if (!w->is_near[a][side] || cell[a] != (side ? w->last[a] : 0)) continue;
      const int    t = (a + 1) % 3, u = (a + 2) % 3;
      const double stop = (side ? -1.0 : 1.0) * (v[a] - w->before[a] - d->dt * d->gravity[a]), speed = hypot(v[t], v[u]);
      const bool   is_rough = d->state.grid.wall[a][side] == MAC_WALL_ROUGH;
      if (!(stop > 0.0)) continue;
      const double mu   = isfinite(d->options->wall_friction) ? d->options->wall_friction : friction,
                   kept = is_rough && speed > 0.0 ? fmax(0.0, 1.0 - mu * stop / speed) : 1.0;
      v[t] *= kept, v[u] *= kept;
      for (int q = 0; q < 3; ++q) gradient[3 * t + q] *= kept, gradient[3 * u + q] *= kept, gradient[3 * a + q] = 0.0;
    }
}

static inline __attribute__((always_inline)) void move_block(mac_domain *d, int64_t block, particles *p, const mac_samples *seen,
                                                             int64_t first, int64_t end)
{
  const mac_state *state = &d->state;
  const mac_grid  *g     = &state->grid;
  const int32_t   *b     = g->block[block];
  const double     half  = 0.5 * d->dt / g->h;
  wide_tile        now;
  wall_side        side;
  const bool       has_walls = find_walls(g, b, &side);
  load_tile(g, b, state->u, &now);
  for (int64_t i = first; i < end; ++i) {
    double s[3], mid[3], v[3], gradient[9] = {0.0}, half_on[3];
    local_place(g, b, p, i, s);
    for (int a = 0; a < 3; ++a) v[a] = tile_velocity(now.u[a], a, s, gradient + 3 * a);
    const int     at[3] = {s[0] < 3 ? (int)s[0] : 3, s[1] < 3 ? (int)s[1] : 3, s[2] < 3 ? (int)s[2] : 3};
    const int64_t cell  = MAC_BLOCK * block + (at[0] * MAC_SIDE + at[1]) * MAC_SIDE + at[2];
    seen->pressure[i]   = state->pressure[cell];
    seen->density[i]    = state->rho[cell];
    midpoint(g, b, s, v, half, mid);
    const bool is_near = is_in_tile(mid);
    for (int a = 0; a < 3; ++a) half_on[a] = is_near ? tile_velocity(now.u[a], a, mid, NULL) : grid_velocity(g, state->u[a], a, b, mid);
    for (int a = 0; a < 3; ++a) {
      seen->move[a][i] = d->dt * half_on[a];
      p->x[a][i] += seen->move[a][i];
      side.before[a] = p->v[a][i];
    }
    if (has_walls && state->rho[cell] <= MAC_DENSITY_THRESHOLD * state->rest_density[cell])
      apply_wall_friction(d, &side, at, state->friction[cell], v, gradient);
    for (int a = 0; a < 3; ++a) p->v[a][i] = v[a];
    for (int q = 0; q < 9; ++q) p->C[q][i] = gradient[q] / g->h;
  }
}

void mac_to_particles(mac_domain *d)
{
  const mac_grid *g = &d->state.grid;
  double          n = 0.0;
  timer_begin(TIMER_G2P);
  for (int b = 0; b < d->bodies.n; ++b) {
    const int32_t *start = d->start[b];
    n += (double)d->n[b];
#pragma omp parallel for schedule(dynamic, 4)
    for (int64_t k = 0; k < g->n_blocks; ++k) {
      if (start[k] == start[k + 1]) continue;
      move_block(d, k, d->bodies.particles[b], &d->seen[b], start[k], start[k + 1]);
    }
  }
  timer_work(TIMER_G2P, n * 200.0, n * 8.0 * 20);
  timer_end(TIMER_G2P);
}

/* --- CFL condition ------------------------------------------------------------------------------------------------------- */

/* The first particle of body b that exceeds the limit, or the number of its particles. */
static int64_t first_too_fast(const mac_domain *d, int b, bool is_own, double limit2)
{
  const mac_grid  *g     = &d->state.grid;
  const particles *p     = d->bodies.particles[b];
  const int32_t   *start = d->start[b];
  int64_t          bad   = p->n;
  if (is_own) {
#pragma omp parallel for schedule(static) reduction(min : bad)
    for (int64_t i = 0; i < p->n; ++i)
      if (!(particles_speed2(p, i) <= limit2) && i < bad) bad = i;
    return bad;
  }
#pragma omp parallel for schedule(dynamic, 4) reduction(min : bad)
  for (int64_t k = 0; k < g->n_blocks; ++k) {
    if (start[k] == start[k + 1]) continue;
    wide_tile t;
    load_tile(g, g->block[k], d->state.u, &t);
    for (int64_t i = start[k]; i < start[k + 1]; ++i) {
      double s[3], v[3];
      local_place(g, g->block[k], p, i, s);
      for (int a = 0; a < 3; ++a) v[a] = tile_velocity(t.u[a], a, s, NULL);
      if (!(v3_dot(v, v) <= limit2) && i < bad) bad = i;
    }
  }
  return bad;
}

void mac_check_cfl(const mac_domain *d, bool is_own, step_status *status)
{
  const double limit = d->options->cfl * d->state.grid.h / d->dt, limit2 = limit * limit;
  double       fastest2 = 0.0;
  /* Interpolated velocities are averages: if no face exceeds the limit, no particle does. */
  if (!is_own) {
    const double *const *u       = (const double *const *)d->state.u;
    double               most[3] = {0.0, 0.0, 0.0};
#pragma omp parallel for schedule(static) reduction(max : most[:3])
    for (int64_t i = 0; i < d->state.grid.n_slots; ++i)
      for (int a = 0; a < 3; ++a) most[a] = fmax(most[a], isfinite(u[a][i]) ? fabs(u[a][i]) : INFINITY);
    fastest2 = v3_dot(most, most);
  }
  if (!is_own && fastest2 <= limit2) return;
  for (int b = 0; b < d->bodies.n; ++b) {
    const int64_t bad = first_too_fast(d, b, is_own, limit2);
    if (bad == d->bodies.particles[b]->n) continue;
    *status =
        (step_status){isfinite(is_own ? particles_speed2(d->bodies.particles[b], bad) : fastest2) ? STEP_CFL_VIOLATED : STEP_NOT_FINITE,
                      d->bodies.names[b], bad};
    return;
  }
}

/* --- particles outside the box ------------------------------------------------------------------------------------------- */

/* Smallest distance of a particle from a wall [h]. */
static const double NEAREST = 1e-3;

static bool has_left(const mac_grid *g, const double x[3])
{
  bool is_out = false;
  for (int a = 0; a < 3; ++a) {
    const double s = (x[a] - g->min[a]) / g->h;
    is_out         = is_out || (g->wall[a][0] == MAC_WALL_OPEN && s < 0.0) || (g->wall[a][1] == MAC_WALL_OPEN && s > g->n[a]);
  }
  return is_out;
}

/* Remove the particles that left through open sides, from all arrays. */
static PetscErrorCode remove_particles_outside(mac_domain *d, int b)
{
  const mac_grid *g = &d->state.grid;
  particles      *p = d->bodies.particles[b];
  void          **arrays[PARTICLES_MAX_ARRAYS + 5];
  int64_t         n_kept = 0;

  PetscFunctionBeginUser;
  int n_arrays       = particles_arrays(p, arrays);
  arrays[n_arrays++] = (void **)&d->seen[b].pressure;
  arrays[n_arrays++] = (void **)&d->seen[b].density;
  for (int a = 0; a < 3; ++a) arrays[n_arrays++] = (void **)&d->seen[b].move[a];
  for (int64_t i = 0; i < p->n; ++i) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    if (has_left(g, x)) continue;
    for (int k = 0; k < n_arrays && n_kept != i; ++k) ((uint64_t *)*arrays[k])[n_kept] = ((uint64_t *)*arrays[k])[i];
    ++n_kept;
  }
  d->seen[b].n = n_kept;
  PetscCall(particles_resize(p, n_kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offset up to NEAREST from the particle's identity, so that particles moved to the same corner do not coincide. */
static double corner_offset(int64_t id, int axis)
{
  return NEAREST * (double)(((uint64_t)id * 3 + (uint64_t)axis) * 0x9e3779b97f4a7c15ULL >> 32) * 0x1p-32;
}

PetscErrorCode mac_return_to_box(mac_domain *d, int b)
{
  const mac_grid *g        = &d->state.grid;
  particles      *p        = d->bodies.particles[b];
  bool            has_open = false;

  PetscFunctionBeginUser;
  for (int a = 0; a < 3; ++a) {
    const double period = g->h * g->n[a], low = g->min[a] + NEAREST * g->h, high = g->min[a] + period - NEAREST * g->h;
    double      *x = p->x[a];
    has_open       = has_open || g->wall[a][0] == MAC_WALL_OPEN || g->wall[a][1] == MAC_WALL_OPEN;
    if (mac_grid_is_periodic(g, a))
#pragma omp parallel for schedule(static)
      for (int64_t i = 0; i < p->n; ++i) x[i] -= period * floor((x[i] - g->min[a]) / period);
    else {
      const double from = g->wall[a][0] == MAC_WALL_OPEN ? -INFINITY : low, to = g->wall[a][1] == MAC_WALL_OPEN ? INFINITY : high;
#pragma omp parallel for schedule(static)
      for (int64_t i = 0; i < p->n; ++i) {
        if (x[i] < from) x[i] = low + corner_offset(p->id[i], a) * g->h;
        if (x[i] > to) x[i] = high - corner_offset(p->id[i], a) * g->h;
      }
    }
  }
  if (has_open) PetscCall(remove_particles_outside(d, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_reserve_samples(mac_domain *d)
{
  PetscFunctionBeginUser;
  for (int b = 0; b < d->bodies.n; ++b) {
    mac_samples  *s = &d->seen[b];
    const int64_t n = d->bodies.particles[b]->n;
    s->n            = n;
    if (n <= s->capacity) continue;
    s->capacity = n + n / 8;
    MEMORY_FREE(&s->pressure, &s->density);
    for (int a = 0; a < 3; ++a) memory_free(&s->move[a]);
    PetscCall(MEMORY_ALLOC("mac frame fields", ARRAY(s->pressure, s->capacity), ARRAY(s->density, s->capacity)));
    for (int a = 0; a < 3; ++a) PetscCall(memory_alloc("mac moves", s->capacity, sizeof(double), &s->move[a]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
