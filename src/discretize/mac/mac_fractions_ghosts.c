/* The surface of a liquid where the density says it is, and the ghost fluid method on it. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mac/mac_fractions_internal.h"
#include <math.h>

static const double LEAST_OPEN = 0.05; /* of a kernel: from less nothing is judged */

PetscErrorCode mac_fractions_ghosts_reserve(mac_weights *w, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("distances", n, sizeof *w->center, &w->capacity[21], &w->center));
  PetscCall(memory_reserve("open shares of centres", n, sizeof *w->center_open, &w->capacity[22], &w->center_open));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Distance from a level surface, over h, at which the hat kernel is filled by so much: the inverse of (1 - d)^2 / 2 above it. */
static double distance_of_fill(double fill)
{
  if (fill >= 0.5) return fill < 1.0 ? sqrt(2.0 * (1.0 - fill)) - 1.0 : -1.0;
  return fill > 0.0 ? 1.0 - sqrt(2.0 * fill) : 1.0;
}

static double fill_of_cell(const mac_weights *w, const mac_fraction_options *o, int64_t slot)
{
  const double full = o->rest[slot] * w->center_open[slot];
  return full > LEAST_OPEN * o->rest[slot] ? o->rho[slot] / full : 0.0;
}

static bool is_in_solid(const mac_weights *w, int64_t block, int l)
{
  for (int32_t q = w->share_start[block]; q < w->share_start[block + 1]; ++q)
    if (w->share[q].center[l] < 0.0) return true;
  return false;
}

/* Whether it and all around it hold grains, are solid or beyond a wall: few grains by chance, in the midst of many, are no bubble.
 * One without pressure would suck. */
static bool is_enclosed(const mac_weights *w, const mac_grid *g, const int32_t ijk[3])
{
  for (int q = 0; q < 27; ++q) {
    int32_t at[3];
    bool    is_wall = false;
    for (int a = 0, d = 9; a < 3; ++a, d /= 3) {
      at[a] = ijk[a] + q / d % 3 - 1;
      if (mac_grid_is_periodic(g, a) || (at[a] >= 0 && at[a] < g->n[a])) continue;
      if (g->wall[a][at[a] > 0] == MAC_WALL_OPEN) return false;
      is_wall = true;
    }
    const int64_t slot = is_wall ? -1 : mac_grid_slot(g, at[0], at[1], at[2]);
    if (is_wall || (slot >= 0 && (w->occupied[slot / MAC_BLOCK] >> (slot % MAC_BLOCK) & 1 || w->cell_fluid[slot] < 0.5))) continue;
    return false;
  }
  return true;
}

static void from_density(mac_weights *w, const mac_grid *g, const mac_fraction_options *o, int64_t b)
{
  const bool has_solid = o->extends_into_solids && w->share_start[b + 1] > w->share_start[b];
  for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) {
    int32_t ijk[3];
    w->center[slot] = g->h * distance_of_fill(fill_of_cell(w, o, slot));
    mac_grid_cell(g, slot, ijk);
    if (w->center[slot] >= 0.0 && w->center[slot] < g->h && is_enclosed(w, g, ijk)) w->center[slot] = -0.5 * g->h;
    if (!has_solid || w->center_open[slot] == 1.0) continue;
    if (is_in_solid(w, b, (int)(slot % MAC_BLOCK))) w->center_open[slot] = -1.0;
  }
}

/* Between the centres around that are in no solid; those beyond a wall mirror what is before it. */
static bool interpolate(const mac_weights *w, const mac_grid *g, const double x[3], double *value)
{
  int32_t low[3];
  double  part[3], sum = 0.0, weight = 0.0;
  for (int a = 0; a < 3; ++a) {
    const double at = (x[a] - g->min[a]) / g->h - 0.5;
    low[a] = (int32_t)floor(at), part[a] = at - low[a];
  }
  for (int q = 0; q < 8; ++q) {
    const int d[3] = {q >> 2, (q >> 1) & 1, q & 1};
    double    here = 1.0, phi = g->h;
    int32_t   at[3];
    bool      is_air = false;
    for (int a = 0; a < 3; ++a) {
      at[a] = low[a] + d[a], here *= d[a] ? part[a] : 1.0 - part[a];
      if (mac_grid_is_periodic(g, a) || (at[a] >= 0 && at[a] < g->n[a])) continue;
      is_air = is_air || g->wall[a][at[a] > 0] == MAC_WALL_OPEN;
      at[a]  = at[a] > 0 ? g->n[a] - 1 : 0;
    }
    const int64_t slot = mac_grid_slot(g, at[0], at[1], at[2]);
    if (slot >= 0 && w->center_open[slot] < 0.0) continue;
    if (slot >= 0 && !is_air) phi = w->center[slot];
    sum += here * phi, weight += here;
  }
  if (weight > 0.01) *value = sum / weight;
  return weight > 0.01;
}

/* Mean of what is around and in no solid, as near as there is any: where the nearest surface is not that of the cut face, and the
 * image is in the solid, too. */
static void take_mean(mac_weights *w, const mac_grid *g, int64_t slot)
{
  int32_t at[3];
  mac_grid_cell(g, slot, at);
  w->center[slot] = g->h;
  for (int32_t r = 1; r < 3; ++r) {
    double sum = 0.0;
    int    n   = 0;
    for (int32_t i = -r; i <= r; ++i)
      for (int32_t j = -r; j <= r; ++j)
        for (int32_t k = -r; k <= r; ++k) {
          const int64_t other = mac_grid_slot(g, at[0] + i, at[1] + j, at[2] + k);
          int32_t       there[3];
          if (other < 0) continue;
          mac_grid_cell(g, other, there);
          if (mac_grid_is_inside(g, there) && w->center_open[other] > 0.0) sum += w->center[other], ++n;
        }
    if (!n) continue;
    w->center[slot] = sum / n;
    return;
  }
}

/* Centres in solids take the value of their image. */
static void extend_block(mac_weights *w, const mac_grid *g, int64_t b)
{
  for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) {
    int32_t ijk[3];
    double  x[3], image[3];
    if (!(w->center_open[slot] < 0.0)) continue;
    mac_grid_cell(g, slot, ijk), mac_fractions_center(g, ijk, x);
    if (!mac_fractions_image(w, g, b, (int)(slot % MAC_BLOCK), true, x, image) || !interpolate(w, g, image, &w->center[slot]))
      take_mean(w, g, slot);
  }
}

/* theta of a face from the distances at the centres on both sides. */
static void weigh_block(mac_weights *w, const mac_grid *g, int64_t b, double least)
{
  static const int step[3] = {36, 6, 1};
  mac_mirror_tile  t;
  mac_mirror_tile_load(g, b, &t);
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int     place = mac_grid_tile_place(l);
    const int64_t slot  = b * MAC_BLOCK + l;
    const double  here = t.slot[place] < 0 || t.is_air[place] ? g->h : w->center[t.slot[place]];
    w->cell_liquid[slot] = w->center[slot] < 0.0 ? 1.0 : 0.0;
    for (int a = 0; a < 3; ++a) {
      const int    at    = place - step[a];
      const double there = t.slot[at] < 0 || t.is_air[at] ? g->h : w->center[t.slot[at]];
      const double inner = here < there ? here : there, outer = here < there ? there : here;
      const double theta = inner >= 0.0 ? 0.0 : outer < 0.0 ? 1.0 : inner / (inner - outer);
      w->face_liquid[a][slot] = inner < 0.0 && theta < least ? least : theta;
    }
  }
}

void mac_fractions_ghosts(mac_weights *w, const mac_grid *g, const mac_fraction_options *o)
{
  #pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b) from_density(w, g, o, b);
  #pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b)
    if (w->share_start[b + 1] > w->share_start[b]) extend_block(w, g, b);
  #pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b) weigh_block(w, g, b, o->least_theta);
}
