/* Density of particle p, volume V, in units of its lattice at rest:
 *   rho_p = (sum_q V_q W(|x_p - x_q|)) / (V_p reference) + 1 - product over walls and solids (1 - F(distance)),   W(r) = (1 - r^2/R^2)^3
 * where F is the share of the kernel beyond a plane, and reference the kernel summed over a cubic lattice. C_p = max(rho_p - 1 - slack, 0),
 * slack being what a lattice next to walls has too much because F is not quite what its mirror image has (3.5 % at R = 2 spacings);
 *   multiplier_p = -C_p / (sum_q |grad_q C_p|^2 + epsilon),   move_p = sum_q (multiplier_p + multiplier_q) grad W, and likewise for walls,
 * with the gradient of (1 - r/R)^3, which does not vanish where particles meet.                                                          */
#include "discretize/mac/mac_correction.h"
#include <math.h>
#include "core/math3.h"
#include <omp.h>
#include "core/memory.h"
#include "core/team.h"

/* epsilon, as a share of the square sum of gradients in a lattice of six neighbours halfway out. */
static const double SOFTENING = 0.1;

static inline double positive(double x) { return x > 0.0 ? x : 0.0; } /* fmax, but as one instruction */

/* Share of W beyond a plane at t = distance / R, and its derivative: of the integral of (1 - u^2)^4. */
static double beyond(double t, double *slope)
{
  if (t >= 1.0) return *slope = 0.0;
  if (t <= -1.0) return *slope = 0.0, 1.0;
  const double t2 = t * t, to_t = t * (1.0 + t2 * (-4.0 / 3.0 + t2 * (6.0 / 5.0 + t2 * (-4.0 / 7.0 + t2 / 9.0)))), one = 128.0 / 315.0;
  const double a = 1.0 - t2;
  *slope = -0.5 * a * a * a * a / one;
  return 0.5 * (one - to_t) / one;
}

/* The kernel summed over a cubic lattice of spacing `ratio` R around a point that is in layer[axis] = 1, 2, ... of it behind a wall, 0: far from any. */
static double lattice_sum(double ratio, const int layer[3])
{
  const int m   = (int)ceil(1.0 / ratio);
  double    sum = 0.0;
  int       low[3];
  for (int a = 0; a < 3; ++a) low[a] = layer[a] > 0 && layer[a] <= m ? 1 - layer[a] : -m;
  for (int i = low[0]; i <= m; ++i)
    for (int j = low[1]; j <= m; ++j)
      for (int k = low[2]; k <= m; ++k) {
        const double w = positive(1.0 - ratio * ratio * (i * i + j * j + k * k));
        sum += w * w * w;
      }
  return sum;
}

mac_packing mac_packing_of(double volume, double radius)
{
  const double ratio = cbrt(volume) / radius, full = lattice_sum(ratio, (const int[3]){0, 0, 0});
  const int    m     = (int)ceil(1.0 / ratio) + 1;
  double       slack = 0.0;
  for (int q = 0; q < m * m * m; ++q) {
    const int layer[3] = {q / (m * m), q / m % m, q % m};
    double    free = 1.0, slope;
    if (layer[0] < layer[1] || layer[1] < layer[2]) continue;
    for (int a = 0; a < 3; ++a) free *= layer[a] > 0 ? 1.0 - beyond((layer[a] - 0.5) * ratio, &slope) : 1.0;
    slack = fmax(slack, lattice_sum(ratio, layer) / full - free);
  }
  return (mac_packing){volume, full, slack + 1e-6};
}

/* Neighbouring cells of a cell as runs of particles that stand together. */
enum { MAX_REACH = 3, MAX_RUNS = (2 * MAX_REACH + 1) * (2 * MAX_REACH + 1) * (2 * MAX_REACH + 1) };
typedef struct {
  int     n;
  int32_t first[MAX_RUNS], end[MAX_RUNS];
  double  shift[MAX_RUNS][3]; /* to add to their positions */
  bool    is_pushing;
} runs;

/* is_pushing NULL: not known yet. */
static void find_runs(const mac_correction *c, const mac_grid *g, const int32_t ijk[3], int reach, const uint8_t *is_pushing, runs *r)
{
  r->n          = 0;
  r->is_pushing = false;
  for (int i = -reach; i <= reach; ++i)
    for (int j = -reach; j <= reach; ++j)
      for (int k = -reach; k <= reach; ++k) {
        const int32_t at[3] = {ijk[0] + i, ijk[1] + j, ijk[2] + k};
        const int64_t slot  = mac_grid_slot(g, at[0], at[1], at[2]);
        if (slot < 0) continue;
        const int32_t first = c->bins.start[slot], end = c->bins.start[slot + 1];
        double        shift[3];
        if (first == end) continue;
        r->is_pushing = r->is_pushing || (is_pushing && is_pushing[slot]);
        for (int a = 0; a < 3; ++a) shift[a] = at[a] < 0 ? -g->h * g->n[a] : at[a] >= g->n[a] ? g->h * g->n[a] : 0.0; /* only where periodic is anything there */
        const int last = r->n - 1;
        if (last >= 0 && r->end[last] == first && v3_dot(shift, shift) == v3_dot(r->shift[last], r->shift[last])) r->end[last] = end;
        else r->first[r->n] = first, r->end[r->n] = end, v3_copy(r->shift[r->n++], shift);
      }
}

/* 1 - product of (1 - F). */
static void add_wall(double distance, double inverse, const double normal[3], double *free, double gradient[3])
{
  double       slope;
  const double share = beyond(distance * inverse, &slope), before = *free;
  v3_scale(gradient, 1.0 - share, gradient);
  v3_axpy(gradient, before * slope * inverse, normal);
  *free = before * (1.0 - share);
}

/* What walls of the box and solids add to the density at x, and the gradient of that. */
static double wall_density(const mac_grid *g, const double x[3], double R, int n_near, const mac_placed *const *near, double gradient[3])
{
  double free = 1.0;
  v3_set(gradient, 0.0, 0.0, 0.0);
  for (int a = 0; a < 3; ++a)
    for (int side = 0; side < 2; ++side) {
      const double distance = side ? g->min[a] + g->h * g->n[a] - x[a] : x[a] - g->min[a];
      double       normal[3] = {0.0, 0.0, 0.0};
      if (g->wall[a][side] == MAC_WALL_PERIODIC || g->wall[a][side] == MAC_WALL_OPEN || distance >= R) continue;
      normal[a] = side ? -1.0 : 1.0;
      add_wall(distance, 1.0 / R, normal, &free, gradient);
    }
  for (int s = 0; s < n_near; ++s) {
    double       normal[3];
    const double distance = mac_placed_gradient(near[s], x, normal);
    if (distance < R) add_wall(distance, 1.0 / R, normal, &free, gradient);
  }
  return 1.0 - free;
}

/* sum_q |grad_q C|^2 + epsilon */
static double stiffness(const mac_correction *c, const runs *r, const double x[3], double unit, double inverse, double volume, const double wall[3])
{
  const double *const X = c->bins.x[0], *const Y = c->bins.x[1], *const Z = c->bins.x[2], *const V = c->volume;
  const double        tiny = 1e-12 / inverse, usual = 0.75 * inverse * volume * unit;
  double              gx = 0.0, gy = 0.0, gz = 0.0, g2 = 0.0;
  for (int q = 0; q < r->n; ++q) {
    const double x0 = x[0] - r->shift[q][0], x1 = x[1] - r->shift[q][1], x2 = x[2] - r->shift[q][2];
#pragma omp simd reduction(+ : gx, gy, gz, g2)
    for (int32_t j = r->first[q]; j < r->end[q]; ++j) {
      const double dx = x0 - X[j], dy = x1 - Y[j], dz = x2 - Z[j], r2 = dx * dx + dy * dy + dz * dz, d = sqrt(r2) + tiny;
      const double s = positive(1.0 - d * inverse), k = -3.0 * inverse * V[j] * s * s / d;
      gx += k * dx, gy += k * dy, gz += k * dz;
      g2 += k * k * r2;
    }
  }
  const double total[3] = {gx * unit + wall[0], gy * unit + wall[1], gz * unit + wall[2]};
  return g2 * unit * unit + v3_dot(total, total) + SOFTENING * 6.0 * usual * usual;
}

/* Multipliers of the particles of one cell. */
static void cell_multipliers(mac_correction *c, const mac_grid *g, int64_t slot, double R, int reach, int n_placed, const mac_placed *placed, const mac_placed **near)
{
  const double *const X = c->bins.x[0], *const Y = c->bins.x[1], *const Z = c->bins.x[2], *const V = c->volume;
  const double        inverse = 1.0 / R;
  double              center[3];
  int32_t             ijk[3];
  int                 n_near = 0;
  runs                r;
  c->is_pushing[slot] = 0;
  if (c->bins.start[slot] == c->bins.start[slot + 1]) return;
  mac_grid_cell(g, slot, ijk);
  find_runs(c, g, ijk, reach, NULL, &r);
  for (int a = 0; a < 3; ++a) center[a] = g->min[a] + g->h * (ijk[a] + 0.5);
  for (int s = 0; s < n_placed; ++s)
    if (!mac_placed_misses(&placed[s], center, 0.5 * g->h + R) && mac_placed_distance(&placed[s], center) < 0.9 * g->h + R) near[n_near++] = &placed[s];
  for (int64_t p = c->bins.start[slot]; p < c->bins.start[slot + 1]; ++p) {
    const double x[3] = {X[p], Y[p], Z[p]}, unit = 1.0 / c->reference[p];
    double       rho = 0.0, wall[3];
    for (int q = 0; q < r.n; ++q) {
      const double x0 = x[0] - r.shift[q][0], x1 = x[1] - r.shift[q][1], x2 = x[2] - r.shift[q][2];
#pragma omp simd reduction(+ : rho)
      for (int32_t j = r.first[q]; j < r.end[q]; ++j) {
        const double dx = x0 - X[j], dy = x1 - Y[j], dz = x2 - Z[j], w = positive(1.0 - (dx * dx + dy * dy + dz * dz) * inverse * inverse);
        rho += V[j] * w * w * w;
      }
    }
    const double in_walls = wall_density(g, x, R, n_near, near, wall);
    const double C        = rho * unit + in_walls - 1.0 - c->slack[p];
    for (int a = 0; a < 3; ++a) c->wall[a][p] = wall[a];
    c->multiplier[p] = C > 0.0 ? -C / stiffness(c, &r, x, unit, inverse, V[p], wall) : 0.0;
    if (C > 0.0) c->is_pushing[slot] = 1;
  }
}

static void cell_moves(mac_correction *c, const mac_grid *g, int64_t slot, double R, int reach, double longest)
{
  const double *const X = c->bins.x[0], *const Y = c->bins.x[1], *const Z = c->bins.x[2], *const V = c->volume, *const L = c->multiplier;
  const double        inverse = 1.0 / R, tiny = 1e-12 * R;
  int32_t             ijk[3];
  runs                r;
  if (c->bins.start[slot] == c->bins.start[slot + 1]) return;
  mac_grid_cell(g, slot, ijk);
  find_runs(c, g, ijk, reach, c->is_pushing, &r);
  for (int64_t p = c->bins.start[slot]; p < c->bins.start[slot + 1]; ++p) {
    const double x[3] = {X[p], Y[p], Z[p]}, unit = 1.0 / c->reference[p], own = L[p];
    double       mx = 0.0, my = 0.0, mz = 0.0;
    for (int q = 0; q < r.n && r.is_pushing; ++q) {
      const double x0 = x[0] - r.shift[q][0], x1 = x[1] - r.shift[q][1], x2 = x[2] - r.shift[q][2];
#pragma omp simd reduction(+ : mx, my, mz)
      for (int32_t j = r.first[q]; j < r.end[q]; ++j) {
        const double dx = x0 - X[j], dy = x1 - Y[j], dz = x2 - Z[j], d = sqrt(dx * dx + dy * dy + dz * dz) + tiny;
        const double s = positive(1.0 - d * inverse), k = -3.0 * inverse * V[j] * unit * s * s / d * (own + L[j]);
        mx += k * dx, my += k * dy, mz += k * dz;
      }
    }
    double       move[3] = {mx + own * c->wall[0][p], my + own * c->wall[1][p], mz + own * c->wall[2][p]};
    const double length  = v3_norm(move);
    if (length > longest) v3_scale(move, longest / length, move);
    for (int a = 0; a < 3; ++a) c->move[a][p] = move[a];
  }
}

static PetscErrorCode reserve(mac_correction *c, int64_t n, int64_t n_slots)
{
  double **arrays[10] = {&c->slack, &c->volume, &c->reference, &c->multiplier, &c->wall[0], &c->wall[1], &c->wall[2], &c->move[0], &c->move[1], &c->move[2]};
  PetscFunctionBegin;
  for (int k = 0; k < 10; ++k) PetscCall(memory_reserve("position correction", n, sizeof(double), &c->capacity[k], arrays[k]));
  PetscCall(memory_reserve("position correction", n_slots, 1, &c->capacity[10], &c->is_pushing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_correction_free(mac_correction *c)
{
  mac_bins_destroy(&c->bins);
  memory_free(&c->volume), memory_free(&c->slack), memory_free(&c->reference), memory_free(&c->multiplier), memory_free(&c->is_pushing);
  for (int a = 0; a < 3; ++a) memory_free(&c->wall[a]), memory_free(&c->move[a]);
}

PetscErrorCode mac_correction_round(mac_correction *c, const mac_grid *g, int n_sets, const int64_t *n, double *const (*x)[3], const mac_packing *packing,
                                    double radius, double longest, int n_placed, const mac_placed *placed)
{
  const int reach = (int)ceil(radius / g->h * (1.0 - 1e-12));

  PetscFunctionBegin;
  SS_ASSERT(reach <= MAX_REACH);
  PetscCall(mac_bins_fill(&c->bins, g, n_sets, n, (const double *const(*)[3])x));
  PetscCall(reserve(c, c->bins.n, g->n_slots));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->bins.n; ++i) {
    int32_t p = c->bins.order[i];
    int     s = 0;
    while (p >= n[s]) p -= (int32_t)n[s++];
    c->volume[i]    = packing[s].volume;
    c->reference[i] = packing[s].volume * packing[s].reference;
    c->slack[i]     = packing[s].slack;
  }
  const mac_placed **near;
  const int          team = team_threads();
  PetscCall(memory_alloc("solids nearby", (int64_t)team * n_placed + 1, sizeof *near, &near));
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t slot = 0; slot < g->n_slots; ++slot) cell_multipliers(c, g, slot, radius, reach, n_placed, placed, near + (int64_t)omp_get_thread_num() * n_placed);
  memory_free(&near);
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t slot = 0; slot < g->n_slots; ++slot) cell_moves(c, g, slot, radius, reach, longest);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->bins.n; ++i) {
    int32_t p = c->bins.order[i];
    int     s = 0;
    while (p >= n[s]) p -= (int32_t)n[s++];
    for (int a = 0; a < 3; ++a) x[s][a][p] += c->move[a][i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
