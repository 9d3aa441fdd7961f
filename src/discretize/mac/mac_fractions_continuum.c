/* Distance to the union of spheres around particles, where it is wanted: near the surface, and mirrored into solids. */
#include "discretize/mac/mac_fractions_internal.h"
#include "core/math3.h"
#include <float.h>

enum { GATHERED = 256 };

typedef struct {
  const mac_grid             *g;
  const mac_bins             *bins;
  const mac_fraction_options *o;
  mac_weights                *w;
  double                      full2; /* squared distance to a particle below which a half-cell is full */
} continuum;

/* Particles of a cell wrapped there from elsewhere, as seen from cell `seen`. */
static void image_offset(const mac_grid *g, const int32_t seen[3], double offset[3])
{
  for (int a = 0; a < 3; ++a)
    offset[a] = !mac_grid_is_periodic(g, a) ? 0.0 : seen[a] < 0 ? -g->n[a] * g->h : seen[a] >= g->n[a] ? g->n[a] * g->h : 0.0;
}

/* Squared distance along one axis from a point to cell i. */
static double gap2(const mac_grid *g, int axis, int32_t i, double x)
{
  const double low = g->min[axis] + g->h * i - x, high = -low - g->h, gap = low > high ? low : high;
  return gap > 0.0 ? gap * gap : 0.0;
}

static void lower_by_cell(const continuum *c, const int32_t at[3], const double x[3], double *least2)
{
  const int64_t slot = mac_grid_slot(c->g, at[0], at[1], at[2]);
  double        offset[3];
  if (slot < 0 || !(c->w->occupied[slot / MAC_BLOCK] >> (slot % MAC_BLOCK) & 1)) return;
  image_offset(c->g, at, offset);
  for (int32_t p = c->bins->start[slot]; p < c->bins->start[slot + 1]; ++p) {
    const double d[3] = {c->bins->x[0][p] + offset[0] - x[0], c->bins->x[1][p] + offset[1] - x[1],
                         c->bins->x[2][p] + offset[2] - x[2]};
    if (v3_dot(d, d) < *least2) *least2 = v3_dot(d, d);
  }
}

/* Squared distance from any point to the nearest particle in cells low ... high, DBL_MAX: none within reach. The cell around the
 * point first, then those that may have a nearer one, until the distance makes no difference. */
static double nearest_of_cells(const continuum *c, const double x[3], const int32_t low[3], const int32_t high[3], double reach)
{
  const mac_grid *g = c->g;
  double          least2 = reach * reach;
  int32_t         own[3], at[3];
  for (int a = 0; a < 3; ++a) own[a] = (int32_t)floor((x[a] - g->min[a]) / g->h);
  lower_by_cell(c, own, x, &least2);
  for (at[0] = low[0]; at[0] <= high[0]; ++at[0]) {
    const double gx = gap2(g, 0, at[0], x[0]);
    if (gx >= least2) continue;
    for (at[1] = low[1]; at[1] <= high[1]; ++at[1]) {
      const double gxy = gx + gap2(g, 1, at[1], x[1]);
      if (gxy >= least2) continue;
      for (at[2] = low[2]; at[2] <= high[2]; ++at[2]) {
        if (least2 <= c->full2) return least2;
        if (gxy + gap2(g, 2, at[2], x[2]) < least2 && (at[0] != own[0] || at[1] != own[1] || at[2] != own[2]))
          lower_by_cell(c, at, x, &least2);
      }
    }
  }
  return least2 < reach * reach ? least2 : DBL_MAX;
}

static void lower_minima(int n, const double (*restrict arm)[GATHERED], double quarter, double *least2)
{
  for (int q = 0; q < MAC_HALVES; ++q) {
    const double x = q >> 2 ? quarter : -quarter, y = (q >> 1) & 1 ? quarter : -quarter, z = q & 1 ? quarter : -quarter;
    double       least = least2[q];
    #pragma omp simd reduction(min : least)
    for (int i = 0; i < n; ++i) {
      const double dx = arm[0][i] - x, dy = arm[1][i] - y, dz = arm[2][i] - z, d2 = dx * dx + dy * dy + dz * dz;
      least = d2 < least ? d2 : least;
    }
    least2[q] = least;
  }
}

/* Squared distances from the half-cells' centres to the nearest particle of the 27 cells around. */
static void nearest_of_cell(const continuum *c, const int32_t ijk[3], double least2[MAC_HALVES])
{
  double arm[3][GATHERED], x[3], offset[3];
  int    n = 0;
  for (int q = 0; q < MAC_HALVES; ++q) least2[q] = DBL_MAX;
  mac_fractions_center(c->g, ijk, x);
  for (int t = 0; t < 27; ++t) {
    const int32_t at[3] = {ijk[0] + t / 9 - 1, ijk[1] + t / 3 % 3 - 1, ijk[2] + t % 3 - 1};
    const int64_t slot = mac_grid_slot(c->g, at[0], at[1], at[2]); /* mirrored cells have no particles of their own */
    if (slot < 0) continue;
    image_offset(c->g, at, offset);
    for (int32_t p = c->bins->start[slot]; p < c->bins->start[slot + 1]; ++p) {
      for (int a = 0; a < 3; ++a) arm[a][n] = c->bins->x[a][p] + offset[a] - x[a];
      if (++n < GATHERED) continue;
      lower_minima(n, arm, 0.25 * c->g->h, least2);
      n = 0;
    }
  }
  lower_minima(n, arm, 0.25 * c->g->h, least2);
}

static double nearest_of_point(const continuum *c, const double x[3], double reach)
{
  const mac_grid *g = c->g;
  int32_t         low[3], high[3];
  for (int a = 0; a < 3; ++a) {
    low[a]  = (int32_t)floor((x[a] - reach - g->min[a]) / g->h);
    high[a] = (int32_t)floor((x[a] + reach - g->min[a]) / g->h);
  }
  return nearest_of_cells(c, x, low, high, reach);
}

bool mac_fractions_image(const mac_weights *w, const mac_grid *g, int64_t block, int l, bool is_center, const double x[3],
                         double image[3])
{
  const int32_t      first = w->share_start[block], last = w->share_start[block + 1];
  double             least = INFINITY, slope[3] = {0.0};
  const mac_placed  *inside = NULL;
  for (int32_t q = first; q < last; ++q) {
    const mac_placed *one = w->placed + w->share[q].solid;
    const double      phi = is_center           ? w->share[q].center[l]
                            : last == first + 1 ? mac_placed_gradient(one, x, slope)
                                                : mac_placed_distance(one, x);
    if (phi < least) least = phi, inside = one;
  }
  v3_copy(image, x);
  if (!(least < 0.0)) return true; /* cut, with its centre outside */
  if (least < -MAC_MIRRORED * g->h) return false;
  if (is_center || last > first + 1) mac_placed_gradient(inside, x, slope);
  if (!(v3_dot(slope, slope) > 0.01)) return false;
  v3_axpy(image, -2.0 * least / v3_dot(slope, slope), slope);
  for (int a = 0; a < 3; ++a) {
    const double from = g->min[a], to = from + g->n[a] * g->h;
    if (mac_grid_is_periodic(g, a) || (image[a] >= from && image[a] <= to)) continue;
    if (g->wall[a][image[a] > to] == MAC_WALL_OPEN) return false;
    image[a] = 2.0 * (image[a] > to ? to : from) - image[a];
  }
  return true;
}

/* Whether all of a cell lies so deep in solids that no half-cell of it has an image. */
static bool is_deep(const continuum *c, int64_t block, int l)
{
  double least = INFINITY;
  for (int32_t q = c->w->share_start[block]; q < c->w->share_start[block + 1]; ++q) least = fmin(least, c->w->share[q].center[l]);
  return least < -(MAC_MIRRORED + 1.0) * c->g->h; /* twice the half-cells' distance from the centre: distances may be bounds */
}

static double share_of_half(const continuum *c, double least2)
{
  const double share = 0.5 - (sqrt(least2) / c->g->h - c->o->radius) / 0.5;
  return share > 1.0 ? 1.0 : share > 0.0 ? share : 0.0;
}

static double solid_half(const mac_weights *w, int64_t block, int l, int q)
{
  double sum = 0.0;
  for (int32_t s = w->share_start[block]; s < w->share_start[block + 1]; ++s) sum += w->share[s].half[l][q];
  return sum;
}

/* Points in solids take the value of their image. */
static void extend_cell(const continuum *c, int64_t block, int l, const int32_t ijk[3], double least2[MAC_HALVES])
{
  const mac_grid *g = c->g;
  const bool      is_hidden = is_deep(c, block, l);
  double          x[3], image[3];
  mac_fractions_center(g, ijk, x);
  for (int q = 0; q < MAC_HALVES; ++q) {
    if (solid_half(c->w, block, l, q) < 0.5) continue;
    const double step  = 0.25 * g->h;
    const double at[3] = {x[0] + (q >> 2 & 1 ? step : -step), x[1] + (q >> 1 & 1 ? step : -step), x[2] + (q & 1 ? step : -step)};
    least2[q]          = !is_hidden && mac_fractions_image(c->w, g, block, l, false, at, image)
                             ? nearest_of_point(c, image, (c->o->radius + 0.25) * g->h)
                             : DBL_MAX;
  }
}

static void fill_cell(const continuum *c, int64_t slot, double share)
{
  for (int q = 0; q < MAC_HALVES; ++q) c->w->half[MAC_HALVES * slot + q] = share;
}

/* How many of the three cells along each axis around a cell, and so of the 27, hold particles. */
static void count_occupied(const mac_weights *w, const mac_mirror_tile *tile, uint8_t count[MAC_BLOCK])
{
  uint8_t is_full[MAC_TILE], row[6][6][4], plane[6][4][4];
  for (int t = 0; t < MAC_TILE; ++t)
    is_full[t] = tile->slot[t] >= 0 && (w->occupied[tile->slot[t] / MAC_BLOCK] >> (tile->slot[t] % MAC_BLOCK) & 1);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 4; ++k) {
        const uint8_t *at = is_full + (i * 6 + j) * 6 + k;
        row[i][j][k] = (uint8_t)(at[0] + at[1] + at[2]);
      }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 4; ++k) plane[i][j][k] = (uint8_t)(row[i][j][k] + row[i][j + 1][k] + row[i][j + 2][k]);
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int i = l >> 4, j = (l >> 2) & 3, k = l & 3;
    count[l] = (uint8_t)(plane[i][j][k] + plane[i + 1][j][k] + plane[i + 2][j][k]);
  }
}

static void compute_cell(const continuum *c, int64_t block, int l, int n_occupied)
{
  const bool    has_solid = c->o->extends_into_solids && c->w->share_start[block + 1] > c->w->share_start[block];
  const int64_t own = block * MAC_BLOCK + l;
  int32_t       ijk[3];
  bool          is_solid = false;
  for (int q = 0; has_solid && q < MAC_HALVES; ++q) is_solid = is_solid || solid_half(c->w, block, l, q) >= 0.5;
  if ((n_occupied == 27 || n_occupied == 0) && !is_solid) {
    fill_cell(c, own, n_occupied ? 1.0 : 0.0);
    return;
  }
  double least2[MAC_HALVES];
  for (int q = 0; q < MAC_HALVES; ++q) least2[q] = DBL_MAX;
  mac_grid_cell(c->g, own, ijk);
  if (n_occupied > 0) nearest_of_cell(c, ijk, least2);
  if (is_solid) extend_cell(c, block, l, ijk, least2);
  for (int q = 0; q < MAC_HALVES; ++q) c->w->half[MAC_HALVES * own + q] = share_of_half(c, least2[q]);
}

static int8_t fill_of_block(const mac_weights *w, const mac_grid *g, int64_t b)
{
  double least = 1.0, most = 0.0;
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const double *half = w->half + MAC_HALVES * (b * MAC_BLOCK + l);
    int32_t       ijk[3];
    mac_grid_cell(g, b * MAC_BLOCK + l, ijk);
    for (int q = 0; q < MAC_HALVES && mac_grid_is_inside(g, ijk); ++q) {
      least = half[q] < least ? half[q] : least;
      most  = half[q] > most ? half[q] : most;
    }
  }
  return most == 0.0 ? 0 : least == 1.0 ? 1 : -1; /* without a cell in the box: 0 */
}

void mac_fractions_of_continuum(mac_weights *w, const mac_grid *g, const mac_bins *particles, const mac_fraction_options *o)
{
  const double    full = o->radius - 0.25 > 0.0 ? (o->radius - 0.25) * g->h : 0.0;
  const continuum c    = {g, particles, o, w, full * full};
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    w->occupied[b] = 0;
    for (int l = 0; l < MAC_BLOCK; ++l)
      w->occupied[b] |= (uint64_t)(particles->start[b * MAC_BLOCK + l + 1] > particles->start[b * MAC_BLOCK + l]) << l;
  }
  if (o->is_bare) return;
  #pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    mac_mirror_tile tile;
    uint8_t         count[MAC_BLOCK];
    mac_mirror_tile_load(g, b, &tile);
    count_occupied(w, &tile, count);
    for (int l = 0; l < MAC_BLOCK; ++l) {
      int32_t ijk[3];
      mac_grid_cell(g, b * MAC_BLOCK + l, ijk);
      if (mac_grid_is_inside(g, ijk)) compute_cell(&c, b, l, count[l]);
      else fill_cell(&c, b * MAC_BLOCK + l, 0.0);
    }
    w->block_fill[b] = fill_of_block(w, g, b);
  }
}
