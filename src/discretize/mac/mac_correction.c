/* Implementation. Density at particle p with volume V_p, relative to its lattice at rest, with the kernel W(r) = (1 - r^2/R^2)^3:
 *    rho_p = (sum_q V_q W(|x_p - x_q|)) / (V_p reference) + 1 - product over walls and solids (1 - F(distance))
 * where F is the fraction of the kernel beyond a plane, and reference is the sum of the kernel over a cubic lattice.
 *    C_p          = max(rho_p - 1 - slack, 0)
 *    multiplier_p = -C_p / (sum_q |grad_q C_p|^2 + epsilon)
 *    move_p       = sum_q (multiplier_p + multiplier_q) grad W, plus the same terms for walls and solids
 * slack is the excess density of a lattice next to walls, because F differs from the contribution of the mirror image (3.5 % at R
 * = 2 spacings). grad W is the gradient of (1 - r/R)^3, because that of W vanishes at zero distance. */
#include "discretize/mac/mac_correction.h"
#include <math.h>
#include "core/math3.h"
#include <omp.h>
#include "core/memory.h"
#include "core/team.h"

/* Excess density below which particles are not moved, so that settled material costs no further iterations. */
static const double TOLERATED = 1e-3;
/* epsilon, relative to the square sum of gradients in a lattice of six neighbours halfway out. */
static const double SOFTENING = 0.1;

static inline double positive(double x) { return x > 0.0 ? x : 0.0; } /* like fmax, but a single instruction */

/* Share of W beyond a plane at t = distance / R, and its derivative: from the integral of (1 - u^2)^4. */
static double beyond(double t, double *slope)
{
  if (t >= 1.0) return *slope = 0.0;
  if (t <= -1.0) return *slope = 0.0, 1.0;
  const double t2 = t * t, to_t = t * (1.0 + t2 * (-4.0 / 3.0 + t2 * (6.0 / 5.0 + t2 * (-4.0 / 7.0 + t2 / 9.0)))), one = 128.0 / 315.0;
  const double a = 1.0 - t2;
  *slope         = -0.5 * a * a * a * a / one;
  return 0.5 * (one - to_t) / one;
}

/* The kernel summed over a cubic lattice of spacing `ratio` R around a point in layer[axis] = 1, 2, ... behind a wall; 0: far from any wall. */
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
    double    free     = 1.0, slope;
    if (layer[0] < layer[1] || layer[1] < layer[2]) continue;
    for (int a = 0; a < 3; ++a) free *= layer[a] > 0 ? 1.0 - beyond((layer[a] - 0.5) * ratio, &slope) : 1.0;
    slack = fmax(slack, lattice_sum(ratio, layer) / full - free);
  }
  return (mac_packing){volume, full, slack + TOLERATED};
}

/* Positions relative to the centre of a block, in units of R. Single precision: displacements are small and need few digits, and
 * twice as many values fit into a vector. */
typedef struct {
  int64_t n;
  float  *x[3], *volume, *multiplier;
} neighbours;
enum { WHOLE = 16 }; /* the neighbours of a cell are padded to whole vectors with distant points */

/* All particles within `reach` cells of a block, cell by cell; the cells of a row are contiguous. */
enum { MOST_REACH = 3, MOST_SIDE = MAC_SIDE + 2 * MOST_REACH, MOST_CELLS = MOST_SIDE * MOST_SIDE * MOST_SIDE };
typedef struct {
  int        reach, side;
  double     center[3];
  int64_t    slot[MOST_CELLS]; /* -1: not stored */
  int64_t    start[MOST_CELLS + 1];
  neighbours all;
} surroundings;

static void mac_correction_append(const mac_correction *c, const double from[3], double inverse, int32_t first, int32_t end,
                                  bool has_multipliers, neighbours *out)
{
  const double *restrict X = c->bins.x[0] + first, *restrict Y = c->bins.x[1] + first, *restrict Z = c->bins.x[2] + first,
                         *restrict W = c->volume + first;
  const double *restrict M           = c->multiplier + first;
  float *restrict x = out->x[0] + out->n, *restrict y = out->x[1] + out->n, *restrict z = out->x[2] + out->n,
                  *restrict V = out->volume + out->n;
  float *restrict L           = out->multiplier + out->n;
  const double x0 = from[0], y0 = from[1], z0 = from[2], per_volume = 1.0 / c->largest;
  const int    n = end - first;
#pragma omp simd
  for (int p = 0; p < n; ++p) {
    x[p] = (float)((X[p] - x0) * inverse);
    y[p] = (float)((Y[p] - y0) * inverse);
    z[p] = (float)((Z[p] - z0) * inverse);
    V[p] = (float)(W[p] * per_volume);
  }
  if (has_multipliers)
#pragma omp simd
    for (int p = 0; p < n; ++p) L[p] = (float)M[p];
  out->n += n;
}

/* Cells beyond the box exist only where it is periodic. */
static double image_of(const mac_grid *g, int axis, int32_t cell, double center)
{
  return center + (cell < 0 ? g->h * g->n[axis] : cell >= g->n[axis] ? -g->h * g->n[axis] : 0.0);
}

static void surroundings_place(const mac_grid *g, int64_t block, int reach, surroundings *s)
{
  const int32_t *b = g->block[block];
  s->reach = reach, s->side = MAC_SIDE + 2 * reach;
  for (int a = 0; a < 3; ++a) s->center[a] = g->min[a] + g->h * MAC_SIDE * (b[a] + 0.5);
  for (int i = 0, t = 0; i < s->side; ++i)
    for (int j = 0; j < s->side; ++j)
      for (int k = 0; k < s->side; ++k, ++t)
        s->slot[t] = mac_grid_slot(g, MAC_SIDE * b[0] + i - reach, MAC_SIDE * b[1] + j - reach, MAC_SIDE * b[2] + k - reach);
}

/* Load a row along z; its particles are contiguous in the bins from cell to cell of a block. */
static void load_row(const mac_correction *c, const mac_grid *g, const double from[3], int32_t k, double inverse, bool has_multipliers,
                     int t, surroundings *s)
{
  int32_t run = 0, end = 0;
  double  seen[3] = {from[0], from[1], from[2]};
  for (const int last = t + s->side; t < last; ++t, ++k) {
    const int64_t slot = s->slot[t];
    s->start[t]        = s->all.n + end - run;
    if (slot < 0 || c->bins.start[slot] == c->bins.start[slot + 1]) continue;
    const double here = image_of(g, 2, k, from[2]);
    if (c->bins.start[slot] != end || here != seen[2]) {
      if (end > run) mac_correction_append(c, seen, inverse, run, end, has_multipliers, &s->all);
      run = c->bins.start[slot], seen[2] = here;
    }
    end = c->bins.start[slot + 1];
  }
  if (end > run) mac_correction_append(c, seen, inverse, run, end, has_multipliers, &s->all);
}

static void surroundings_load(const mac_correction *c, const mac_grid *g, int64_t block, double R, bool has_multipliers, surroundings *s)
{
  const int32_t *b = g->block[block];
  int            t = 0;
  s->all.n         = 0;
  for (int i = 0; i < s->side; ++i)
    for (int j = 0; j < s->side; ++j, t += s->side) {
      const double from[3] = {image_of(g, 0, MAC_SIDE * b[0] + i - s->reach, s->center[0]),
                              image_of(g, 1, MAC_SIDE * b[1] + j - s->reach, s->center[1]), s->center[2]};
      load_row(c, g, from, MAC_SIDE * b[2] - s->reach, 1.0 / R, has_multipliers, t, s);
    }
  s->start[t] = s->all.n;
}

/* Cell l of the block: its first neighbour among the surroundings. */
static int corner_of(const surroundings *s, int l) { return ((l >> 4) * s->side + ((l >> 2) & 3)) * s->side + (l & 3); }

static bool is_any_dense(const mac_correction *c, const surroundings *s, int l)
{
  const int width = 2 * s->reach + 1;
  for (int i = 0; i < width; ++i)
    for (int j = 0; j < width; ++j) {
      const int64_t *slot = s->slot + corner_of(s, l) + (i * s->side + j) * s->side;
      for (int k = 0; k < width; ++k)
        if (slot[k] >= 0 && c->is_pushing[slot[k]]) return true;
    }
  return false;
}

static inline void copy_floats(const float *restrict from, int64_t n, float *restrict to)
{
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

static void gather_neighbours(const surroundings *s, int l, bool has_multipliers, neighbours *out)
{
  const int width = 2 * s->reach + 1;
  out->n          = 0;
  for (int i = 0; i < width; ++i)
    for (int j = 0; j < width; ++j) {
      const int     row   = corner_of(s, l) + (i * s->side + j) * s->side;
      const int64_t first = s->start[row], n = s->start[row + width] - first;
      for (int a = 0; a < 3; ++a) copy_floats(s->all.x[a] + first, n, out->x[a] + out->n);
      copy_floats(s->all.volume + first, n, out->volume + out->n);
      if (has_multipliers) copy_floats(s->all.multiplier + first, n, out->multiplier + out->n);
      out->n += n;
    }
  for (; out->n % WHOLE != 0; ++out->n) {
    for (int a = 0; a < 3; ++a) out->x[a][out->n] = 1e3f;
    out->volume[out->n] = out->multiplier[out->n] = 0.0f;
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

/* Contribution of walls of the box and solids to the density at x, and its gradient. */
static double wall_density(const mac_grid *g, const double x[3], double R, int n_near, const mac_placed *const *near, double gradient[3])
{
  double free = 1.0;
  v3_set(gradient, 0.0, 0.0, 0.0);
  for (int a = 0; a < 3; ++a)
    for (int side = 0; side < 2; ++side) {
      const double distance  = side ? g->min[a] + g->h * g->n[a] - x[a] : x[a] - g->min[a];
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

static inline float positive_f(float x) { return x > 0.0f ? x : 0.0f; }
static const float  TINY = 1e-6f; /* [R] avoids a division by zero for coincident particles */

static double density_at(const neighbours *near, const float at[3])
{
  const float *restrict X = near->x[0], *restrict Y = near->x[1], *restrict Z = near->x[2], *restrict V = near->volume;
  float rho = 0.0f;
#pragma omp simd reduction(+ : rho)
  for (int64_t j = 0; j < near->n; ++j) {
    const float dx = at[0] - X[j], dy = at[1] - Y[j], dz = at[2] - Z[j], w = positive_f(1.0f - (dx * dx + dy * dy + dz * dz));
    rho += V[j] * w * w * w;
  }
  return rho;
}

/* sum_q |grad_q C|^2 + epsilon; lengths in R, volumes relative to the largest; unit: converts kernel sums to densities; wall [1/R]. */
static double stiffness(const neighbours *near, const float at[3], double unit, double volume, const double wall[3])
{
  const float *restrict X = near->x[0], *restrict Y = near->x[1], *restrict Z = near->x[2], *restrict V = near->volume;
  const double usual = 0.75 * volume * unit;
  float        gx = 0.0f, gy = 0.0f, gz = 0.0f, g2 = 0.0f;
#pragma omp simd reduction(+ : gx, gy, gz, g2)
  for (int64_t j = 0; j < near->n; ++j) {
    const float dx = at[0] - X[j], dy = at[1] - Y[j], dz = at[2] - Z[j], r2 = dx * dx + dy * dy + dz * dz, r = sqrtf(r2) + TINY;
    const float s = positive_f(1.0f - r), k = -3.0f * V[j] * s * s / r;
    gx += k * dx, gy += k * dy, gz += k * dz;
    g2 += k * k * r2;
  }
  const double total[3] = {gx * unit + wall[0], gy * unit + wall[1], gz * unit + wall[2]};
  return g2 * unit * unit + v3_dot(total, total) + SOFTENING * 6.0 * usual * usual;
}

/* sum_q (own + multiplier_q) grad W */
static void displacement_at(const neighbours *near, const float at[3], float own, double unit, double move[3])
{
  const float *restrict X = near->x[0], *restrict Y = near->x[1], *restrict Z = near->x[2], *restrict V = near->volume,
                        *restrict L = near->multiplier;
  float mx = 0.0f, my = 0.0f, mz = 0.0f;
#pragma omp simd reduction(+ : mx, my, mz)
  for (int64_t j = 0; j < near->n; ++j) {
    const float dx = at[0] - X[j], dy = at[1] - Y[j], dz = at[2] - Z[j], r = sqrtf(dx * dx + dy * dy + dz * dz) + TINY;
    const float s = positive_f(1.0f - r), k = -3.0f * V[j] * s * s / r * (own + L[j]);
    mx += k * dx, my += k * dy, mz += k * dz;
  }
  v3_set(move, mx * unit, my * unit, mz * unit);
}

static double cell_center(const mac_grid *g, const int32_t ijk[3], int axis) { return g->min[axis] + g->h * (ijk[axis] + 0.5); }

static void place_in_block(const mac_correction *c, const surroundings *s, int64_t p, double R, float at[3])
{
  for (int a = 0; a < 3; ++a) at[a] = (float)((c->bins.x[a][p] - s->center[a]) * (1.0 / R));
}

/* Multipliers of the particles of one cell. */
static void cell_multipliers(mac_correction *c, const mac_grid *g, int64_t slot, double R, const surroundings *around, int n_placed,
                             const mac_placed *placed, const mac_placed **solids, neighbours *near)
{
  double  center[3];
  int32_t ijk[3];
  int     n_solids    = 0;
  c->is_pushing[slot] = 0;
  if (c->bins.start[slot] == c->bins.start[slot + 1]) return;
  mac_grid_cell(g, slot, ijk);
  for (int a = 0; a < 3; ++a) center[a] = cell_center(g, ijk, a);
  for (int s = 0; s < n_placed; ++s)
    if (!mac_placed_is_outside(&placed[s], center, 0.5 * g->h + R) && mac_placed_distance(&placed[s], center) < 0.9 * g->h + R)
      solids[n_solids++] = &placed[s];
  gather_neighbours(around, (int)(slot % MAC_BLOCK), false, near);
  for (int64_t p = c->bins.start[slot]; p < c->bins.start[slot + 1]; ++p) {
    const double x[3] = {c->bins.x[0][p], c->bins.x[1][p], c->bins.x[2][p]}, unit = c->largest / c->reference[p];
    double       wall[3];
    float        at[3];
    place_in_block(c, around, p, R, at);
    const double C = density_at(near, at) * unit + wall_density(g, x, R, n_solids, solids, wall) - 1.0 - c->slack[p];
    v3_scale(wall, R, wall);
    for (int a = 0; a < 3; ++a) c->wall[a][p] = wall[a];
    c->multiplier[p] = C > 0.0 ? -C / stiffness(near, at, unit, c->volume[p] / c->largest, wall) : 0.0;
    if (C > 0.0) c->is_pushing[slot] = 1;
  }
}

static void cell_moves(mac_correction *c, int64_t slot, double R, const surroundings *around, double longest, neighbours *near)
{
  gather_neighbours(around, (int)(slot % MAC_BLOCK), true, near);
  for (int64_t p = c->bins.start[slot]; p < c->bins.start[slot + 1]; ++p) {
    const double own = c->multiplier[p];
    double       move[3];
    float        at[3];
    place_in_block(c, around, p, R, at);
    displacement_at(near, at, (float)own, c->largest / c->reference[p], move);
    for (int a = 0; a < 3; ++a) move[a] = R * (move[a] + own * c->wall[a][p]);
    const double length = v3_norm(move);
    if (length > longest) v3_scale(move, longest / length, move);
    for (int a = 0; a < 3; ++a) c->move[a][p] = move[a];
  }
}

static void block_multipliers(mac_correction *c, const mac_grid *g, int64_t block, double R, int n_placed, const mac_placed *placed,
                              const mac_placed **solids, surroundings *around, neighbours *near)
{
  bool is_loaded = false;
  for (int64_t slot = block * MAC_BLOCK; slot < (block + 1) * MAC_BLOCK; ++slot) {
    if (!is_loaded && c->bins.start[slot] < c->bins.start[slot + 1])
      surroundings_place(g, block, around->reach, around), surroundings_load(c, g, block, R, false, around), is_loaded = true;
    cell_multipliers(c, g, slot, R, around, n_placed, placed, solids, near);
  }
}

static void block_moves(mac_correction *c, const mac_grid *g, int64_t block, double R, double longest, surroundings *around,
                        neighbours *near)
{
  bool is_placed = false, is_loaded = false;
  for (int64_t slot = block * MAC_BLOCK; slot < (block + 1) * MAC_BLOCK; ++slot) {
    if (c->bins.start[slot] == c->bins.start[slot + 1]) continue;
    if (!is_placed) surroundings_place(g, block, around->reach, around), is_placed = true;
    if (!is_any_dense(c, around, (int)(slot % MAC_BLOCK))) {
      for (int64_t p = c->bins.start[slot]; p < c->bins.start[slot + 1]; ++p)
        for (int a = 0; a < 3; ++a) c->move[a][p] = 0.0;
      continue;
    }
    if (!is_loaded) surroundings_load(c, g, block, R, true, around), is_loaded = true;
    cell_moves(c, slot, R, around, longest, near);
  }
}

/* Allocate, for each thread, the surroundings of the fullest blocks and cells. */
static PetscErrorCode allocate_surroundings(const mac_correction *c, const mac_grid *g, int reach, int64_t room[2], float **out)
{
  int64_t most = 0;
  PetscFunctionBegin;
  for (int64_t slot = 0; slot < g->n_slots; ++slot)
    most = c->bins.start[slot + 1] - c->bins.start[slot] > most ? c->bins.start[slot + 1] - c->bins.start[slot] : most;
  for (int k = 0; k < 2; ++k) {
    const int64_t side = 2 * reach + (k ? 1 : MAC_SIDE), all = most * side * side * side, images = 27 * c->bins.n;
    room[k] = ((all < images ? all : images) + WHOLE) / WHOLE * WHOLE + WHOLE;
  }
  PetscCall(memory_alloc("neighbours", 5 * (room[0] + room[1]) * team_threads(), sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static neighbours room_of(float *mine, int64_t room)
{
  return (neighbours){.x = {mine, mine + room, mine + 2 * room}, .volume = mine + 3 * room, .multiplier = mine + 4 * room};
}

static PetscErrorCode mac_correction_reserve(mac_correction *c, int64_t n, int64_t n_slots)
{

  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("position correction", n, &c->capacity, ARRAY(c->slack, 1), ARRAY(c->volume, 1), ARRAY(c->reference, 1),
                           ARRAY(c->multiplier, 1), ARRAY(c->wall[0], 1), ARRAY(c->wall[1], 1), ARRAY(c->wall[2], 1), ARRAY(c->move[0], 1),
                           ARRAY(c->move[1], 1), ARRAY(c->move[2], 1)));
  PetscCall(memory_reserve("position correction", n_slots, 1, &c->slots_capacity, &c->is_pushing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_correction_free(mac_correction *c)
{
  mac_bins_destroy(&c->bins);
  MEMORY_FREE(&c->volume, &c->slack, &c->reference, &c->multiplier, &c->is_pushing);
  for (int a = 0; a < 3; ++a) memory_free(&c->wall[a]), memory_free(&c->move[a]);
}

PetscErrorCode mac_correction_round(mac_correction *c, const mac_grid *g, int n_sets, const int64_t *n, double *const (*x)[3],
                                    const mac_packing *packing, double radius, double longest, int n_placed, const mac_placed *placed,
                                    bool *is_done)
{
  const int reach = (int)ceil(radius / g->h * (1.0 - 1e-12));

  PetscFunctionBegin;
  c->largest = 0.0;
  for (int s = 0; s < n_sets; ++s) c->largest = fmax(c->largest, packing[s].volume);
  PetscCall(mac_bins_fill(&c->bins, g, n_sets, n, (const double *const(*)[3])x));
  PetscCall(mac_correction_reserve(c, c->bins.n, g->n_slots));
#pragma omp          parallel for schedule(static)
  for (int64_t i = 0; i < c->bins.n; ++i) {
             int32_t p = c->bins.order[i];
             int     s = 0;
             while (p >= n[s]) p -= (int32_t)n[s++];
    c->volume[i]    = packing[s].volume;
             c->reference[i] = packing[s].volume * packing[s].reference;
             c->slack[i]     = packing[s].slack;
  }
  const mac_placed **solids;
  float             *floats;
  int64_t            room[2], n_pushing = 0;
  SS_ASSERT(reach <= MOST_REACH);
  PetscCall(allocate_surroundings(c, g, reach, room, &floats));
  PetscCall(memory_alloc("solids nearby", (int64_t)team_threads() * n_placed + 1, sizeof *solids, &solids));
         #pragma omp parallel reduction(+ : n_pushing)
  {
             float             *mine   = floats + 5 * (room[0] + room[1]) * omp_get_thread_num();
             surroundings       around = {.reach = reach, .all = room_of(mine, room[0])};
             neighbours         near   = room_of(mine + 5 * room[0], room[1]);
             const mac_placed **own    = solids + (int64_t)omp_get_thread_num() * n_placed;
#pragma omp for schedule(dynamic, 1)
    for (int64_t b = 0; b < g->n_blocks; ++b) {
               block_multipliers(c, g, b, radius, n_placed, placed, own, &around, &near);
               for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) n_pushing += c->is_pushing[slot];
    }
  }
  if (n_pushing > 0)
#pragma omp parallel
  {
    float       *mine   = floats + 5 * (room[0] + room[1]) * omp_get_thread_num();
    surroundings around = {.reach = reach, .all = room_of(mine, room[0])};
    neighbours   near   = room_of(mine + 5 * room[0], room[1]);
#pragma omp for schedule(dynamic, 1)
    for (int64_t b = 0; b < g->n_blocks; ++b) block_moves(c, g, b, radius, longest, &around, &near);
  }
  MEMORY_FREE(&solids, &floats);
  *is_done = n_pushing == 0;
  if (*is_done) PetscFunctionReturn(PETSC_SUCCESS);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->bins.n; ++i) {
    int32_t p = c->bins.order[i];
    int     s = 0;
    while (p >= n[s]) p -= (int32_t)n[s++];
    for (int a = 0; a < 3; ++a) x[s][a][p] += c->move[a][i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
