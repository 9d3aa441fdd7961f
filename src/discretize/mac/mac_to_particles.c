/* Faces -> particles [Jiang2015], and particles through the velocity of the faces, by the midpoint rule.
 *
 * Each block reads the velocities of its faces and two layers around it into a tile once. Next to walls of the box the velocity
 * along the
 * wall goes on beyond it, as the mirror images of mac_to_grid.c do. Half a step may lead beyond the tile: then nodes are looked
 * up one by one. */
#include <math.h>
#include <string.h>
#include "core/math3.h"
#include "discretize/body/body_stages.h"
#include "discretize/mac/mac_domain_impl.h"

enum { AROUND = 2, WIDE = MAC_SIDE + 2 * AROUND, WIDE_X = WIDE * WIDE, WIDE_Y = WIDE, WIDE_TILE = WIDE * WIDE * WIDE };
typedef struct {
  double u[3][WIDE_TILE];
} wide_tile;

/* Slot of the node of an axis nearest to cell c: beyond walls, of its mirror image. */
static int64_t node_slot(const mac_grid *g, int axis, const int32_t c[3])
{
  int32_t at[3];
  for (int a = 0; a < 3; ++a) {
    const int32_t n = g->n[a];
    at[a]           = c[a];
    if (mac_grid_is_periodic(g, a))
      at[a] = ((c[a] % n) + n) % n;
    else if (a == axis)
      at[a] = c[a] < 0 ? 0 : c[a] > n ? n : c[a];
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
          double *to = t->u[a] + (i + MAC_SIDE * o[0] + AROUND) * WIDE_X + (j + MAC_SIDE * o[1] + AROUND) * WIDE_Y +
                       MAC_SIDE * o[2] + AROUND;
          for (int k = lo[2]; k < hi[2]; ++k) to[k] = from ? from[(i * MAC_SIDE + j) * MAC_SIDE + k] : 0.0;
        }
    }
  }
}

static void load_tile(const mac_grid *g, const int32_t block[3], double *const u[3], wide_tile *t)
{
  bool is_inside = true;
  for (int a = 0; a < 3; ++a)
    is_inside = is_inside && MAC_SIDE * block[a] >= AROUND && MAC_SIDE * (block[a] + 1) + AROUND <= g->n[a];
  if (is_inside)
    load_by_block(g, block, u, t);
  else
    load_by_node(g, block, u, t);
}

/* Velocity along `axis` at s (in cells from the block's corner), from eight nodes u[.], and, if wanted, its gradient times h. */
static inline __attribute__((always_inline)) double blend(const double u[8], const double f[3], double *gradient)
{
  const double z00 = u[0] + f[2] * (u[1] - u[0]), z01 = u[2] + f[2] * (u[3] - u[2]), z10 = u[4] + f[2] * (u[5] - u[4]),
               z11 = u[6] + f[2] * (u[7] - u[6]);
  const double y0 = z00 + f[1] * (z01 - z00), y1 = z10 + f[1] * (z11 - z10);
  if (gradient) {
    const double d0 = (u[1] - u[0]) + f[1] * ((u[3] - u[2]) - (u[1] - u[0])),
                 d1 = (u[5] - u[4]) + f[1] * ((u[7] - u[6]) - (u[5] - u[4]));
    gradient[0]     = y1 - y0;
    gradient[1]     = (z01 - z00) + f[0] * ((z11 - z10) - (z01 - z00));
    gradient[2]     = d0 + f[0] * (d1 - d0);
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
  return blend(u, f, gradient);
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
  return blend(u, f, NULL);
}

static inline __attribute__((always_inline)) void local_place(const mac_grid *g, const int32_t block[3], const particles *p,
                                                              int64_t i, double s[3])
{
  for (int a = 0; a < 3; ++a) s[a] = fmin(fmax((p->x[a][i] - g->min[a]) / g->h - MAC_SIDE * block[a], 0.0), MAC_SIDE);
}

/* Where the velocity is looked up half a step on: no farther than the walls. */
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

/* A few grains that are no continuum yet (their cell carries no stress) meet a wall of the box: the face on it stopped them, by
 * an impulse per mass
 * `stop`, and nobody else would resist their sliding on a rough one. Coulomb friction does, on each by itself. Without it a layer
 * thinner than
 * a cell glides for ever. What varies along the normal is forgotten: the next face up is theirs alone, and would fall freely. */
typedef struct {
  bool   is_near[3][2]; /* of this block: a closed wall of the box below its cells 0, above its cells `last` */
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

static void meet_walls(const mac_domain *d, const wall_side *w, const int cell[3], double friction, double v[3], double gradient[9])
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

static inline __attribute__((always_inline)) void move_block(const bool is_apic, mac_domain *d, int64_t block, particles *p,
                                                             const mac_seen *seen, int64_t first, int64_t end)
{
  const mac_state *state = &d->state;
  const mac_grid  *g     = &state->grid;
  const int32_t   *b     = g->block[block];
  const double     flip = d->options->flip, half = 0.5 * d->dt / g->h;
  wide_tile        now, before;
  wall_side        side;
  const bool       has_walls = find_walls(g, b, &side);
  load_tile(g, b, state->u, &now);
  if (!is_apic) load_tile(g, b, state->old_u, &before);
  for (int64_t i = first; i < end; ++i) {
    double s[3], mid[3], v[3], gradient[9] = {0.0}, half_on[3];
    local_place(g, b, p, i, s);
    for (int a = 0; a < 3; ++a) v[a] = tile_velocity(now.u[a], a, s, is_apic ? gradient + 3 * a : NULL);
    const int     at[3] = {s[0] < 3 ? (int)s[0] : 3, s[1] < 3 ? (int)s[1] : 3, s[2] < 3 ? (int)s[2] : 3};
    const int64_t cell  = MAC_BLOCK * block + (at[0] * MAC_SIDE + at[1]) * MAC_SIDE + at[2];
    seen->pressure[i]   = state->pressure[cell];
    seen->density[i]    = state->rho[cell];
    midpoint(g, b, s, v, half, mid);
    const bool is_near = is_in_tile(mid);
    for (int a = 0; a < 3; ++a)
      half_on[a] = is_near ? tile_velocity(now.u[a], a, mid, NULL) : grid_velocity(g, state->u[a], a, b, mid);
    for (int a = 0; a < 3; ++a) {
      if (!is_apic) v[a] += flip * (p->v[a][i] - tile_velocity(before.u[a], a, s, NULL));
      seen->move[a][i] = d->dt * half_on[a];
      p->x[a][i] += seen->move[a][i];
      side.before[a] = p->v[a][i];
    }
    if (has_walls && state->rho[cell] <= d->options->density_threshold * state->rest_density[cell])
      meet_walls(d, &side, at, state->friction[cell], v, gradient);
    for (int a = 0; a < 3; ++a) p->v[a][i] = v[a];
    for (int q = 0; q < 9 && is_apic; ++q) p->C[q][i] = gradient[q] / g->h;
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
      if (d->options->transfer == MAC_APIC)
        move_block(true, d, k, d->bodies.particles[b], &d->seen[b], start[k], start[k + 1]);
      else
        move_block(false, d, k, d->bodies.particles[b], &d->seen[b], start[k], start[k + 1]);
    }
  }
  timer_work(TIMER_G2P, n * 200.0, n * 8.0 * (d->options->transfer == MAC_APIC ? 20 : 11));
  timer_end(TIMER_G2P);
}

/* ------------------------------------------------------------- too fast?
 * ------------------------------------------------------------- */

/* The smallest particle of body b that is too fast, or its number of particles. */
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

void mac_check_cfl(const mac_domain *d, bool is_own, step_verdict *verdict)
{
  const double limit = d->options->cfl * d->state.grid.h / d->dt, limit2 = limit * limit;
  double       fastest2 = 0.0;
  /* Interpolation averages: if no face is too fast, no particle is. */
  if (!is_own) {
    const double *const *u = (const double *const *)d->state.u;
    double               most[3] = {0.0, 0.0, 0.0};
#pragma omp parallel for schedule(static) reduction(max : most[ : 3])
    for (int64_t i = 0; i < d->state.grid.n_slots; ++i)
      for (int a = 0; a < 3; ++a) most[a] = fmax(most[a], isfinite(u[a][i]) ? fabs(u[a][i]) : INFINITY);
    fastest2 = v3_dot(most, most);
  }
  if (!is_own && fastest2 <= limit2) return;
  for (int b = 0; b < d->bodies.n; ++b) {
    const int64_t bad = first_too_fast(d, b, is_own, limit2);
    if (bad == d->bodies.particles[b]->n) continue;
    *verdict = (step_verdict){isfinite(is_own ? particles_speed2(d->bodies.particles[b], bad) : fastest2) ? STEP_CFL : STEP_NOT_FINITE,
                              d->bodies.names[b], bad};
    return;
  }
}

/* ------------------------------------------------------------- the box
 * ------------------------------------------------------------- */

/* As near to a wall as a particle may come [h]. */
static const double NEAREST = 1e-3;

static bool is_gone(const mac_grid *g, const double x[3])
{
  bool is_out = false;
  for (int a = 0; a < 3; ++a) {
    const double s = (x[a] - g->min[a]) / g->h;
    is_out         = is_out || (g->wall[a][0] == MAC_WALL_OPEN && s < 0.0) || (g->wall[a][1] == MAC_WALL_OPEN && s > g->n[a]);
  }
  return is_out;
}

/* Those that left through open sides, whatever else there is of them. */
static PetscErrorCode remove_gone(mac_domain *d, int b)
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
    if (is_gone(g, x)) continue;
    for (int k = 0; k < n_arrays && n_kept != i; ++k) ((uint64_t *)*arrays[k])[n_kept] = ((uint64_t *)*arrays[k])[i];
    ++n_kept;
  }
  d->seen[b].n = n_kept;
  PetscCall(particles_resize(p, n_kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So that particles that were sent back to one corner do not end up in one place: up to NEAREST, by identity. */
static double spread(int64_t id, int axis)
{
  return NEAREST * (double)(((uint64_t)id * 3 + (uint64_t)axis) * 0x9e3779b97f4a7c15ULL >> 32) * 0x1p-32;
}

PetscErrorCode mac_contain(mac_domain *d, int b)
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
        if (x[i] < from) x[i] = low + spread(p->id[i], a) * g->h;
        if (x[i] > to) x[i] = high - spread(p->id[i], a) * g->h;
      }
    }
  }
  if (has_open) PetscCall(remove_gone(d, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
