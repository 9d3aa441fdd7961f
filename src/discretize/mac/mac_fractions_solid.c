#include "core/memory.h"
#include "discretize/mac/mac_cube.h"
#include "discretize/mac/mac_fractions_internal.h"
#include <math.h>

/* Distances may be bounds that are wrong by some: cells farther from the surface than this times their radius are taken for
 * whole. */
static const double SLACK = 1.5, HALF_DIAGONAL = 0.86602540378443865, ROUNDING = 1e-9; /* [h] */
static const double EDGE = 0.125; /* see has_edge: spheres have none from three cells in radius on */
enum { DEPTH = 2 };

static void block_center(const mac_grid *g, int64_t b, double x[3])
{
  for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * MAC_SIDE * (g->block[b][a] + 0.5);
}

/* Whether a solid may reach into a block or the layer around it. */
static bool is_near(const mac_grid *g, int64_t b, const mac_placed *p)
{
  const double half = 0.5 * MAC_TILE_SIDE * g->h;
  double       x[3];
  block_center(g, b, x);
  return !mac_placed_misses(p, x, half) && mac_placed_distance(p, x) < 2.0 * SLACK * HALF_DIAGONAL * 2.0 * half;
}

static void fill_cell(mac_share *s, int l, double value)
{
  for (int q = 0; q < MAC_HALVES; ++q) s->half[l][q] = value;
  for (int a = 0; a < 3; ++a) s->area[a][l] = value;
}

/* Rounding leaves no crumbs, of which there would be couplings. */
static double without_crumbs(double share) { return share < 1e-9 ? 0.0 : share > 1.0 - 1e-9 ? 1.0 : share; }

/* A face that lies in the surface is half solid, as its control volume is: then the cell on the solid's side has a pressure, too,
 * and the mean of both, which is that at the surface, pushes. */
static void cut_faces(mac_share *s, int l, const double phi[27])
{
  static const int step[3] = {9, 3, 1};
  for (int a = 0; a < 3; ++a) {
    const int u = step[(a + 1) % 3], v = step[(a + 2) % 3];
    double    sum = 0.0;
    for (int q = 0; q < 4; ++q) {
      const int    at     = (q >> 1) * u + (q & 1) * v;
      const double four[4] = {phi[at], phi[at + v], phi[at + u], phi[at + u + v]};
      sum += mac_square_fraction(four);
    }
    s->area[a][l] = without_crumbs(0.25 * sum);
  }
}

/* Distances at the corners of a block's half-cells, each found once, when it is first asked for. */
enum { CORNERS = 2 * MAC_SIDE + 1 };
typedef struct {
  const mac_grid   *g;
  const mac_placed *solid;
  int32_t           first[3]; /* half-cells from the corner of the box */
  double            phi[CORNERS * CORNERS * CORNERS]; /* NaN: not yet */
} corner_lattice;

/* Rounding decides on no side: sides of boxes often lie on those of cells. */
static double without_rounding(const mac_grid *g, double phi) { return fabs(phi) < ROUNDING * g->h ? 0.0 : phi; }

static double corner_distance(corner_lattice *t, int i, int j, int k)
{
  double *phi = t->phi + (i * CORNERS + j) * CORNERS + k;
  if (isnan(*phi)) {
    const double half = 0.5 * t->g->h, *min = t->g->min;
    *phi = without_rounding(t->g, mac_placed_distance(t->solid, (double[3]){min[0] + half * (t->first[0] + i),
                                                                            min[1] + half * (t->first[1] + j),
                                                                            min[2] + half * (t->first[2] + k)}));
  }
  return *phi;
}

/* Whether the solid has an edge in a cube that it cuts: affine functions have the same sum over all four diagonals. */
static bool has_edge(const double phi[8], double side)
{
  double least = INFINITY, most = -INFINITY, low = INFINITY, high = -INFINITY;
  for (int c = 0; c < 8; ++c) {
    const double sum = phi[c] + phi[7 - c];
    least = sum < least ? sum : least, most = sum > most ? sum : most; /* fmin and fmax are calls: 3 % of a step of liquid */
    low = phi[c] < low ? phi[c] : low, high = phi[c] > high ? phi[c] : high;
  }
  return low < 0.0 && high > 0.0 && most - least > EDGE * side;
}

/* Corners of an eighth of a cube, from the 27 of all. */
static void corners_of_eighth(const double phi[27], int q, double corner[8])
{
  for (int c = 0; c < 8; ++c)
    corner[c] = phi[((q >> 2) + (c >> 2)) * 9 + (((q >> 1) & 1) + ((c >> 1) & 1)) * 3 + (q & 1) + (c & 1)];
}

/* Share of a cube, from the distances at its corners and, about edges, at those of its parts: the rule on corners alone cuts edges
 * off. A box of 3 x 4 x 2 cells lacks 6 % by it, 1.8 % where cubes are halved once, 0.7 % twice. */
static double share_of_cube(const corner_lattice *t, const double low[3], double side, const double phi[8], int depth)
{
  double fine[27], sum = 0.0;
  if (depth == 0 || !has_edge(phi, side)) return mac_cube_fraction(phi);
  for (int c = 0; c < 27; ++c) {
    const int i = c / 9, j = c / 3 % 3, k = c % 3;
    fine[c] = i != 1 && j != 1 && k != 1
                ? phi[2 * i + j + k / 2]
                : without_rounding(t->g, mac_placed_distance(t->solid, (double[3]){low[0] + 0.5 * side * i, low[1] + 0.5 * side * j,
                                                                                   low[2] + 0.5 * side * k}));
  }
  for (int q = 0; q < 8; ++q) {
    const double at[3] = {low[0] + 0.5 * side * (q >> 2), low[1] + 0.5 * side * ((q >> 1) & 1), low[2] + 0.5 * side * (q & 1)};
    double       corner[8];
    corners_of_eighth(fine, q, corner);
    sum += share_of_cube(t, at, 0.5 * side, corner, depth - 1);
  }
  return 0.125 * sum;
}

/* phi at the 27 corners of the half-cells, index (3 i + j) 3 + k */
static void cut_cell(const corner_lattice *t, mac_share *s, int l, const double center[3], const double phi[27])
{
  const double half = 0.5 * t->g->h;
  for (int q = 0; q < MAC_HALVES; ++q) {
    const double low[3] = {center[0] - half * !(q >> 2), center[1] - half * !((q >> 1) & 1), center[2] - half * !(q & 1)};
    double       corner[8];
    corners_of_eighth(phi, q, corner);
    s->half[l][q] = without_crumbs(share_of_cube(t, low, half, corner, DEPTH));
  }
}

/* A block far from the surface: all of its cells are whole, and farther than anything that asks for distances cares about. */
static bool fill_whole(const mac_grid *g, int64_t b, const mac_placed *p, mac_share *s)
{
  const double to_centers = HALF_DIAGONAL * (MAC_SIDE - 1) * g->h;
  double       x[3];
  block_center(g, b, x);
  const double phi = mac_placed_distance(p, x), least = fabs(phi) - to_centers;
  if (!(least > 2.0 * (MAC_MIRRORED + 1.0) * g->h)) return false; /* twice: distances may be bounds */
  for (int l = 0; l < MAC_BLOCK; ++l) {
    s->center[l] = phi < 0.0 ? -least : least;
    fill_cell(s, l, phi < 0.0 ? 1.0 : 0.0);
  }
  return true;
}

static void fill_share(const mac_grid *g, int64_t b, const mac_placed *p, bool is_area, mac_share *s)
{
  corner_lattice t = {.g = g, .solid = p};
  if (fill_whole(g, b, p, s)) return;
  for (int a = 0; a < 3; ++a) t.first[a] = 2 * MAC_SIDE * g->block[b][a];
  for (int c = 0; c < CORNERS * CORNERS * CORNERS; ++c) t.phi[c] = NAN;
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int     at[3]  = {l >> 4, (l >> 2) & 3, l & 3};
    const int32_t ijk[3] = {MAC_SIDE * g->block[b][0] + at[0], MAC_SIDE * g->block[b][1] + at[1],
                            MAC_SIDE * g->block[b][2] + at[2]};
    double        x[3], phi[27];
    mac_fractions_center(g, ijk, x);
    s->center[l] = mac_placed_misses(p, x, (0.5 + ROUNDING) * g->h) ? INFINITY : mac_placed_distance(p, x);
    if (fabs(s->center[l]) > SLACK * HALF_DIAGONAL * g->h) {
      fill_cell(s, l, s->center[l] < 0.0 ? 1.0 : 0.0);
      continue;
    }
    for (int c = 0; c < 27; ++c)
      phi[c] = c == 13 ? without_rounding(g, s->center[l])
                       : corner_distance(&t, 2 * at[0] + c / 9, 2 * at[1] + c / 3 % 3, 2 * at[2] + c % 3);
    cut_cell(&t, s, l, x, phi);
    if (is_area) cut_faces(s, l, phi);
  }
}

/* Solids that overlap share what there is; so do their areas. */
static void scale_overlaps(mac_share *s, int n)
{
  if (n < 2) return;
  for (int l = 0; l < MAC_BLOCK; ++l) {
    for (int q = 0; q < MAC_HALVES; ++q) {
      double sum = 0.0;
      for (int r = 0; r < n; ++r) sum += s[r].half[l][q];
      for (int r = 0; sum > 1.0 && r < n; ++r) s[r].half[l][q] /= sum;
    }
    for (int a = 0; a < 3; ++a) {
      double sum = 0.0;
      for (int r = 0; r < n; ++r) sum += s[r].area[a][l];
      for (int r = 0; sum > 1.0 && r < n; ++r) s[r].area[a][l] /= sum;
    }
  }
}

PetscErrorCode mac_fractions_of_solids(mac_weights *w, const mac_grid *g, int n_solids, const mac_solid *solids, bool is_area)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("solids on the grid", n_solids, sizeof *w->placed, &w->capacity[16], &w->placed));
  PetscCall(memory_reserve("solids of blocks", g->n_blocks + 1, sizeof *w->share_start, &w->capacity[17], &w->share_start));
  w->n_solids = n_solids;
  for (int r = 0; r < n_solids; ++r) w->placed[r] = mac_solid_placed(solids + r, g);
  w->share_start[0] = 0;
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    int32_t n = 0;
    for (int r = 0; r < n_solids; ++r) n += is_near(g, b, w->placed + r);
    w->share_start[b + 1] = n;
  }
  for (int64_t b = 0; b < g->n_blocks; ++b) w->share_start[b + 1] += w->share_start[b];
  w->n_shares = w->share_start[g->n_blocks];
  PetscCall(memory_reserve("shares of solids", w->n_shares, sizeof *w->share, &w->capacity[18], &w->share));
  #pragma omp parallel for schedule(dynamic, 4)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    mac_share *s = w->share + w->share_start[b];
    for (int r = 0; s < w->share + w->share_start[b + 1]; ++r) {
      if (!is_near(g, b, w->placed + r)) continue;
      s->solid = r;
      fill_share(g, b, w->placed + r, is_area, s++);
    }
    scale_overlaps(w->share + w->share_start[b], w->share_start[b + 1] - w->share_start[b]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
