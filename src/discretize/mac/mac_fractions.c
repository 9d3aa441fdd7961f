/* Implementation, in this order: mirror images of cells at the sides of the box; fractions of cubes and squares; half-cells of
 * solids and of the continuum; ghosts; averages over half-cells. */
#include "discretize/mac/mac_fractions.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"

/* --- cells of a block and one layer around it, mirrored at the sides of the box ---------------------------------------------- */

#define MAC_MIRRORED 1.75 /* [h] depth in a solid down to which points have a mirror image */

/* Source of the values of each cell of a block and one layer around it, mirrored at the sides of the box. */
typedef struct {
  int64_t slot[MAC_TILE];   /* -1: not stored */
  uint8_t flip[MAC_TILE];   /* to be combined by exclusive-or with the half-cell's number */
  bool    is_air[MAC_TILE]; /* beyond an open side */
} mac_mirror_tile;

static void load_mirror_tile(const mac_grid *g, int64_t block, mac_mirror_tile *t)
{
  bool is_inside = true;
  for (int a = 0; a < 3; ++a) is_inside = is_inside && g->block[block][a] > 0 && MAC_SIDE * (g->block[block][a] + 1) < g->n[a];
  if (is_inside) {
    mac_grid_tile(g, block, t->slot);
    memset(t->flip, 0, sizeof t->flip), memset(t->is_air, 0, sizeof t->is_air);
    return;
  }
  int32_t cell[3][MAC_TILE_SIDE];
  bool    is_flipped[3][MAC_TILE_SIDE], is_air[3][MAC_TILE_SIDE];
  for (int a = 0; a < 3; ++a)
    for (int q = 0; q < MAC_TILE_SIDE; ++q) {
      const int32_t at = MAC_SIDE * g->block[block][a] + q - 1, n = g->n[a];
      const bool    is_beyond = !mac_grid_is_periodic(g, a) && (at < 0 || at >= n);
      is_flipped[a][q]        = is_beyond;
      is_air[a][q]            = is_beyond && g->wall[a][at >= n] == MAC_WALL_OPEN;
      cell[a][q]              = !is_beyond ? at : at < 0 ? -1 - at : 2 * n - 1 - at;
      if (mac_grid_is_periodic(g, a)) cell[a][q] = (at + n) % n; /* also for cells of the block beyond the box */
      if (cell[a][q] < 0) cell[a][q] = 0;                        /* a box thinner than a block */
    }
  for (int i = 0, q = 0; i < MAC_TILE_SIDE; ++i)
    for (int j = 0; j < MAC_TILE_SIDE; ++j)
      for (int k = 0; k < MAC_TILE_SIDE; ++k, ++q) {
        t->slot[q]   = mac_grid_slot(g, cell[0][i], cell[1][j], cell[2][k]);
        t->flip[q]   = (uint8_t)(4 * is_flipped[0][i] + 2 * is_flipped[1][j] + is_flipped[2][k]);
        t->is_air[q] = is_air[0][i] || is_air[1][j] || is_air[2][k];
      }
}

static inline void cell_center(const mac_grid *g, const int32_t ijk[3], double x[3])
{
  for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * (ijk[a] + 0.5);
}

/* One corner of a simplex on its side of the plane: the product of the cut shares of its edges. */
static double corner3(double a, double b, double c) { return a / (a - b) * (a / (a - c)); }
static double corner4(double a, double b, double c, double d) { return corner3(a, b, c) * (a / (a - d)); }

/* a, b below the plane, c and d not: a wedge, cut into three tetrahedra. */
static double wedge(double a, double b, double c, double d)
{
  const double ac = a / (a - c), ad = a / (a - d), bc = b / (b - c), bd = b / (b - d);
  return ac * ad + bc * bd * (1.0 - ac) + bd * ac * (1.0 - ad);
}

/* A simplex with all corners in the surface (phi = 0) is on the side of the rest of the cell. For example, a cube along the edges
 * of a box that ends at the cube's sides is in the box. */
static double share_of_ties(const double *phi, int n)
{
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += phi[i];
  return sum < 0.0 ? 1.0 : sum > 0.0 ? 0.0 : 0.5;
}

static double tetrahedron(const double *phi, double tie, int i0, int i1, int i2, int i3)
{
  const double p[4] = {phi[i0], phi[i1], phi[i2], phi[i3]};
  double       v[4]; /* corners below the plane first */
  int          below = 0, above = 4;
  for (int i = 0; i < 4; ++i)
    if (p[i] < 0.0) v[below++] = p[i];
    else v[--above] = p[i];
  switch (below) {
  case 0: return p[0] + p[1] + p[2] + p[3] > 0.0 ? 0.0 : tie;
  case 1: return corner4(v[0], v[1], v[2], v[3]);
  case 2: return wedge(v[0], v[1], v[2], v[3]);
  case 3: return 1.0 - (v[3] > 0.0 ? corner4(v[3], v[0], v[1], v[2]) : 0.0);
  default: return 1.0;
  }
}

double mac_cube_fraction(const double phi[8])
{
  const double tie   = share_of_ties(phi, 8);
  int          below = 0;
  for (int i = 0; i < 8; ++i) below += phi[i] < 0.0;
  if (below == 0) return tie;
  if (below == 8) return 1.0;
  /* a tetrahedron at each corner, 1/6 of the cube, and between four of them one of 1/3 */
  double corners = 0.0;
  for (int i = 0; i < 8; ++i) corners += tetrahedron(phi, tie, i, i ^ 1, i ^ 2, i ^ 4);
  const double middle = tetrahedron(phi, tie, 0, 3, 5, 6) + tetrahedron(phi, tie, 1, 2, 4, 7);
  return corners / 12.0 + middle / 6.0;
}

static double triangle(double tie, double a, double b, double c)
{
  const int below = (a < 0.0) + (b < 0.0) + (c < 0.0);
  if (below == 0) return a + b + c > 0.0 ? 0.0 : tie;
  if (below == 3) return 1.0;
  const int    lone_sign = below == 1;
  const double alone     = (a < 0.0) == lone_sign   ? a
                           : (b < 0.0) == lone_sign ? b
                                                    : c,
               one = alone == a ? b : a, other = alone == a || alone == b ? c : b;
  const double cut = alone != 0.0 ? corner3(alone, one, other) : 0.0;
  return below == 1 ? cut : 1.0 - cut;
}

double mac_square_fraction(const double phi[4])
{
  const double tie = share_of_ties(phi, 4);
  return 0.25 * (triangle(tie, phi[0], phi[1], phi[2]) + triangle(tie, phi[3], phi[1], phi[2]) + triangle(tie, phi[1], phi[0], phi[3]) +
                 triangle(tie, phi[2], phi[0], phi[3]));
}

/* Computed distances may be bounds with this relative error: cells farther from the surface than this times their radius count as whole. */
static const double SLACK = 1.5, HALF_DIAGONAL = 0.86602540378443865, ROUNDING = 1e-9; /* [h] */
static const double EDGE = 0.125; /* see has_edge: spheres of three cells in radius or more have no edge */
enum { DEPTH = 2 };

static void block_center(const mac_grid *g, int64_t b, double x[3])
{
  for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * MAC_SIDE * (g->block[b][a] + 0.5);
}

/* Whether a solid may extend into a block or the layer around it. */
static bool is_near(const mac_grid *g, int64_t b, const mac_placed *p)
{
  const double half = 0.5 * MAC_TILE_SIDE * g->h;
  double       x[3];
  block_center(g, b, x);
  return !mac_placed_is_outside(p, x, half) && mac_placed_distance(p, x) < 2.0 * SLACK * HALF_DIAGONAL * 2.0 * half;
}

static void fill_solid_cell(mac_share *s, int l, double value)
{
  for (int q = 0; q < MAC_HALVES; ++q) s->half[l][q] = value;
  for (int a = 0; a < 3; ++a) s->area[a][l] = value;
}

/* Round shares that differ from 0 or 1 by round-off, so that they create no couplings. */
static double round_share(double share) { return share < 1e-9 ? 0.0 : share > 1.0 - 1e-9 ? 1.0 : share; }

/* A face that lies in the surface is half solid, as its control volume is. Then the cell on the solid's side has a pressure as
 * well, and the mean of both, which is the pressure at the surface, acts on the face. */
static void cut_faces(mac_share *s, int l, const double phi[27])
{
  static const int step[3] = {9, 3, 1};
  for (int a = 0; a < 3; ++a) {
    const int u = step[(a + 1) % 3], v = step[(a + 2) % 3];
    double    sum = 0.0;
    for (int q = 0; q < 4; ++q) {
      const int    at      = (q >> 1) * u + (q & 1) * v;
      const double four[4] = {phi[at], phi[at + v], phi[at + u], phi[at + u + v]};
      sum += mac_square_fraction(four);
    }
    s->area[a][l] = round_share(0.25 * sum);
  }
}

/* Distances at the corners of a block's half-cells, each computed once, on first use. */
enum { CORNERS = 2 * MAC_SIDE + 1 };
typedef struct {
  const mac_grid   *g;
  const mac_placed *solid;
  int32_t           first[3];                         /* half-cells from the corner of the box */
  double            phi[CORNERS * CORNERS * CORNERS]; /* NaN: not computed yet */
} corner_lattice;

/* Round-off must not decide the side of a point: sides of boxes often coincide with those of cells. */
static double round_distance(const mac_grid *g, double phi) { return fabs(phi) < ROUNDING * g->h ? 0.0 : phi; }

static double corner_distance(corner_lattice *t, int i, int j, int k)
{
  double *phi = t->phi + (i * CORNERS + j) * CORNERS + k;
  if (isnan(*phi)) {
    const double half = 0.5 * t->g->h, *min = t->g->min;
    *phi =
        round_distance(t->g, mac_placed_distance(t->solid, (double[3]){min[0] + half * (t->first[0] + i), min[1] + half * (t->first[1] + j),
                                                                       min[2] + half * (t->first[2] + k)}));
  }
  return *phi;
}

/* Whether the solid has an edge in a cube that it cuts. Affine functions have the same sum over all four diagonals. */
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
  for (int c = 0; c < 8; ++c) corner[c] = phi[((q >> 2) + (c >> 2)) * 9 + (((q >> 1) & 1) + ((c >> 1) & 1)) * 3 + (q & 1) + (c & 1)];
}

/* Share of a cube, from the distances at its corners; near edges of the solid, from those at the corners of its parts. The rule on corners only
 * cuts off edges: a box of 3 x 4 x 2 cells lacks 6 % with it, 1.8 % with one subdivision of the cubes, 0.7 % with two. */
static double share_of_cube(const corner_lattice *t, const double low[3], double side, const double phi[8], int depth)
{
  double fine[27], sum = 0.0;
  if (depth == 0 || !has_edge(phi, side)) return mac_cube_fraction(phi);
  for (int c = 0; c < 27; ++c) {
    const int i = c / 9, j = c / 3 % 3, k = c % 3;
    fine[c] = i != 1 && j != 1 && k != 1
                  ? phi[2 * i + j + k / 2]
                  : round_distance(t->g, mac_placed_distance(t->solid, (double[3]){low[0] + 0.5 * side * i, low[1] + 0.5 * side * j,
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
    s->half[l][q] = round_share(share_of_cube(t, low, half, corner, DEPTH));
  }
}

/* A block far from the surface: all of its cells are whole, and the exact distances are not needed. */
static bool fill_whole(const mac_grid *g, int64_t b, const mac_placed *p, mac_share *s)
{
  const double to_centers = HALF_DIAGONAL * (MAC_SIDE - 1) * g->h;
  double       x[3];
  block_center(g, b, x);
  const double phi = mac_placed_distance(p, x), least = fabs(phi) - to_centers;
  if (!(least > 2.0 * (MAC_MIRRORED + 1.0) * g->h)) return false; /* twice: distances may be bounds */
  for (int l = 0; l < MAC_BLOCK; ++l) {
    s->center[l] = phi < 0.0 ? -least : least;
    fill_solid_cell(s, l, phi < 0.0 ? 1.0 : 0.0);
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
    const int32_t ijk[3] = {MAC_SIDE * g->block[b][0] + at[0], MAC_SIDE * g->block[b][1] + at[1], MAC_SIDE * g->block[b][2] + at[2]};
    double        x[3], phi[27];
    cell_center(g, ijk, x);
    s->center[l] = mac_placed_is_outside(p, x, (0.5 + ROUNDING) * g->h) ? INFINITY : mac_placed_distance(p, x);
    if (fabs(s->center[l]) > SLACK * HALF_DIAGONAL * g->h) {
      fill_solid_cell(s, l, s->center[l] < 0.0 ? 1.0 : 0.0);
      continue;
    }
    for (int c = 0; c < 27; ++c)
      phi[c] = c == 13 ? round_distance(g, s->center[l]) : corner_distance(&t, 2 * at[0] + c / 9, 2 * at[1] + c / 3 % 3, 2 * at[2] + c % 3);
    cut_cell(&t, s, l, x, phi);
    if (is_area) cut_faces(s, l, phi);
  }
}

/* Scale the shares of overlapping solids to a sum of one; close_faces does the same for areas. */
static void scale_overlaps(mac_share *s, int n)
{
  if (n < 2) return;
  for (int l = 0; l < MAC_BLOCK; ++l)
    for (int q = 0; q < MAC_HALVES; ++q) {
      double sum = 0.0;
      for (int r = 0; r < n; ++r) sum += s[r].half[l][q];
      for (int r = 0; sum > 1.0 && r < n; ++r) s[r].half[l][q] /= sum;
    }
}

static PetscErrorCode compute_solid_fractions(mac_weights *w, const mac_grid *g, int n_solids, const mac_solid *solids, bool is_area)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("solids on the grid", n_solids, sizeof *w->placed, &w->placed_capacity, &w->placed));
  PetscCall(memory_reserve("solids of blocks", g->n_blocks + 1, sizeof *w->share_start, &w->starts_capacity, &w->share_start));
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
  PetscCall(memory_reserve("shares of solids", w->n_shares, sizeof *w->share, &w->shares_capacity, &w->share));
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

/* --- continuum: distance to the union of spheres around particles, near the surface, and mirrored into solids ----------------- */

enum { GATHERED = 256 };

typedef struct {
  const mac_grid             *g;
  const mac_bins             *bins;
  const mac_fraction_options *o;
  mac_weights                *w;
  double                      full2; /* squared distance to a particle below which a half-cell is full */
} continuum;

/* Offset of the particles of a periodic image of a cell, as seen from cell `seen`. */
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
    const double d[3] = {c->bins->x[0][p] + offset[0] - x[0], c->bins->x[1][p] + offset[1] - x[1], c->bins->x[2][p] + offset[2] - x[2]};
    if (v3_dot(d, d) < *least2) *least2 = v3_dot(d, d);
  }
}

/* Squared distance from a point to the nearest particle in cells low ... high; DBL_MAX: none within reach. Searches the cell of
 * the point first, then the cells that may contain a nearer particle. */
static double nearest_of_cells(const continuum *c, const double x[3], const int32_t low[3], const int32_t high[3], double reach)
{
  const mac_grid *g      = c->g;
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
  cell_center(c->g, ijk, x);
  for (int t = 0; t < 27; ++t) {
    const int32_t at[3] = {ijk[0] + t / 9 - 1, ijk[1] + t / 3 % 3 - 1, ijk[2] + t % 3 - 1};
    const int64_t slot  = mac_grid_slot(c->g, at[0], at[1], at[2]); /* mirrored cells have no particles of their own */
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

static bool find_image(const mac_weights *w, const mac_grid *g, int64_t block, int l, bool is_center, const double x[3], double image[3])
{
  const int32_t     first = w->share_start[block], last = w->share_start[block + 1];
  double            least = INFINITY, slope[3] = {0.0};
  const mac_placed *inside = NULL;
  for (int32_t q = first; q < last; ++q) {
    const mac_placed *one = w->placed + w->share[q].solid;
    const double      phi = is_center           ? w->share[q].center[l]
                            : last == first + 1 ? mac_placed_gradient(one, x, slope)
                                                : mac_placed_distance(one, x);
    if (phi < least) least = phi, inside = one;
  }
  v3_copy(image, x);
  if (!(least < 0.0)) return true; /* a cut cell with its centre outside the solid */
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

/* Whether a cell is so deep in solids that none of its half-cells has a mirror image. */
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

/* Points in solids get the value at their mirror image. */
static void extend_cell(const continuum *c, int64_t block, int l, const int32_t ijk[3], double least2[MAC_HALVES])
{
  const mac_grid *g         = c->g;
  const bool      is_hidden = is_deep(c, block, l);
  double          x[3], image[3];
  cell_center(g, ijk, x);
  for (int q = 0; q < MAC_HALVES; ++q) {
    if (solid_half(c->w, block, l, q) < 0.5) continue;
    const double step  = 0.25 * g->h;
    const double at[3] = {x[0] + (q >> 2 & 1 ? step : -step), x[1] + (q >> 1 & 1 ? step : -step), x[2] + (q & 1 ? step : -step)};
    least2[q] =
        !is_hidden && find_image(c->w, g, block, l, false, at, image) ? nearest_of_point(c, image, (c->o->radius + 0.25) * g->h) : DBL_MAX;
  }
}

static void fill_continuum_cell(const continuum *c, int64_t slot, double share)
{
  for (int q = 0; q < MAC_HALVES; ++q) c->w->half[MAC_HALVES * slot + q] = share;
}

/* Number of the 27 cells around a cell, summed axis by axis, that contain particles. */
static void count_occupied(const mac_weights *w, const mac_mirror_tile *tile, uint8_t count[MAC_BLOCK])
{
  uint8_t is_full[MAC_TILE], row[6][6][4], plane[6][4][4];
  for (int t = 0; t < MAC_TILE; ++t)
    is_full[t] = tile->slot[t] >= 0 && (w->occupied[tile->slot[t] / MAC_BLOCK] >> (tile->slot[t] % MAC_BLOCK) & 1);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 4; ++k) {
        const uint8_t *at = is_full + (i * 6 + j) * 6 + k;
        row[i][j][k]      = (uint8_t)(at[0] + at[1] + at[2]);
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
  const bool    has_solid = c->w->share_start[block + 1] > c->w->share_start[block];
  const int64_t own       = block * MAC_BLOCK + l;
  int32_t       ijk[3];
  bool          is_solid = false;
  for (int q = 0; has_solid && q < MAC_HALVES; ++q) is_solid = is_solid || solid_half(c->w, block, l, q) >= 0.5;
  if ((n_occupied == 27 || n_occupied == 0) && !is_solid) {
    fill_continuum_cell(c, own, n_occupied ? 1.0 : 0.0);
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
  return most == 0.0 ? 0 : least == 1.0 ? 1 : -1; /* 0 if no cell is in the box */
}

static void compute_continuum_fractions(mac_weights *w, const mac_grid *g, const mac_bins *particles, const mac_fraction_options *o)
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
    load_mirror_tile(g, b, &tile);
    count_occupied(w, &tile, count);
    for (int l = 0; l < MAC_BLOCK; ++l) {
      int32_t ijk[3];
      mac_grid_cell(g, b * MAC_BLOCK + l, ijk);
      if (mac_grid_is_inside(g, ijk)) compute_cell(&c, b, l, count[l]);
      else fill_continuum_cell(&c, b * MAC_BLOCK + l, 0.0);
    }
    w->block_fill[b] = fill_of_block(w, g, b);
  }
}

/* --- ghosts: the surface of a liquid from the density, and the ghost fluid method on it -------------------------------------- */

static const double LEAST_OPEN = 0.05; /* share of a kernel outside solids; with less the density is not evaluated */

static PetscErrorCode reserve_ghosts(mac_weights *w, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("distances", n, &w->ghosts_capacity, ARRAY(w->center, 1), ARRAY(w->center_open, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Distance from a level surface, over h, at which the hat kernel has this fill: the inverse of (1 - d)^2 / 2 above the surface. */
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

/* Whether a cell and all cells around it contain particles, are solid or beyond a wall. A cell with few particles by chance amid
 * full ones is not a bubble; without pressure it would attract liquid. */
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
  const bool has_solid = w->share_start[b + 1] > w->share_start[b];
  for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) {
    int32_t ijk[3];
    w->center[slot] = g->h * distance_of_fill(fill_of_cell(w, o, slot));
    mac_grid_cell(g, slot, ijk);
    if (w->center[slot] >= 0.0 && w->center[slot] < g->h && is_enclosed(w, g, ijk)) w->center[slot] = -0.5 * g->h;
    if (!has_solid || w->center_open[slot] == 1.0) continue;
    if (is_in_solid(w, b, (int)(slot % MAC_BLOCK))) w->center_open[slot] = -1.0;
  }
}

/* Interpolate between the surrounding centres outside solids. Centres beyond a wall have the mirrored values. */
static bool mac_fractions_interpolate(const mac_weights *w, const mac_grid *g, const double x[3], double *value)
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

/* Mean of the surrounding centres outside solids, as near as there are any. For centres whose mirror image is also in the solid,
 * because the nearest surface is not that of the cut face. */
static void set_to_mean(mac_weights *w, const mac_grid *g, int64_t slot)
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

/* Centres in solids get the value at their mirror image. */
static void extend_block(mac_weights *w, const mac_grid *g, int64_t b)
{
  for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) {
    int32_t ijk[3];
    double  x[3], image[3];
    if (!(w->center_open[slot] < 0.0)) continue;
    mac_grid_cell(g, slot, ijk), cell_center(g, ijk, x);
    if (!find_image(w, g, b, (int)(slot % MAC_BLOCK), true, x, image) || !mac_fractions_interpolate(w, g, image, &w->center[slot]))
      set_to_mean(w, g, slot);
  }
}

/* theta of a face from the distances at the centres on both sides. */
static void compute_theta(mac_weights *w, const mac_grid *g, int64_t b, double least)
{
  static const int step[3] = {36, 6, 1};
  mac_mirror_tile  t;
  load_mirror_tile(g, b, &t);
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int     place  = mac_grid_tile_place(l);
    const int64_t slot   = b * MAC_BLOCK + l;
    const double  here   = t.slot[place] < 0 || t.is_air[place] ? g->h : w->center[t.slot[place]];
    w->cell_liquid[slot] = w->center[slot] < 0.0 ? 1.0 : 0.0;
    for (int a = 0; a < 3; ++a) {
      const int    at    = place - step[a];
      const double there = t.slot[at] < 0 || t.is_air[at] ? g->h : w->center[t.slot[at]];
      const double inner = here < there ? here : there, outer = here < there ? there : here;
      const double theta      = inner >= 0.0 ? 0.0 : outer < 0.0 ? 1.0 : inner / (inner - outer);
      w->face_liquid[a][slot] = inner < 0.0 && theta < least ? least : theta;
    }
  }
}

static void compute_ghosts(mac_weights *w, const mac_grid *g, const mac_fraction_options *o)
{
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b) from_density(w, g, o, b);
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b)
    if (w->share_start[b + 1] > w->share_start[b]) extend_block(w, g, b);
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b) compute_theta(w, g, b, o->least_theta);
}

enum { HALF_SIDE = 2 * MAC_TILE_SIDE, HALF_TILE = HALF_SIDE * HALF_SIDE * HALF_SIDE };
static const double LEAST_FLUID = 0.01; /* of a face: with a smaller share it counts as solid */

void mac_weights_destroy(mac_weights *w)
{
  MEMORY_FREE(&w->half, &w->center, &w->center_open, &w->cell_liquid, &w->cell_fluid);
  for (int a = 0; a < 3; ++a) memory_free(&w->face_liquid[a]), memory_free(&w->edge_liquid[a]), memory_free(&w->face_fluid[a]);
  MEMORY_FREE(&w->share_start, &w->block_fill, &w->share, &w->placed, &w->occupied);
  *w = (mac_weights){0};
}

static PetscErrorCode mac_fractions_reserve(mac_weights *w, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("fill of blocks", n / MAC_BLOCK, &w->blocks_capacity, ARRAY(w->block_fill, 1), ARRAY(w->occupied, 1)));
  PetscCall(MEMORY_RESERVE("fractions", n, &w->slots_capacity, ARRAY(w->half, MAC_HALVES), ARRAY(w->cell_liquid, 1),
                           ARRAY(w->face_liquid[0], 1), ARRAY(w->face_liquid[1], 1), ARRAY(w->face_liquid[2], 1),
                           ARRAY(w->edge_liquid[0], 1), ARRAY(w->edge_liquid[1], 1), ARRAY(w->edge_liquid[2], 1), ARRAY(w->cell_fluid, 1),
                           ARRAY(w->face_fluid[0], 1), ARRAY(w->face_fluid[1], 1), ARRAY(w->face_fluid[2], 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy the half-cells of a cell to a tile: those of the continuum, or of one solid. */
static void copy_halves(const double *value, int t, uint8_t flip, double *tile)
{
  const int i = 2 * (t / 36), j = 2 * (t / 6 % 6), k = 2 * (t % 6);
  for (int q = 0; q < MAC_HALVES; ++q) tile[((i + (q >> 2)) * HALF_SIDE + j + ((q >> 1) & 1)) * HALF_SIDE + k + (q & 1)] = value[q ^ flip];
}
static void load_continuum(const mac_weights *w, const mac_mirror_tile *t, double *tile)
{
  static const double none[MAC_HALVES] = {0};
  for (int q = 0; q < MAC_TILE; ++q)
    copy_halves(t->slot[q] < 0 || t->is_air[q] ? none : w->half + MAC_HALVES * t->slot[q], q, t->flip[q], tile);
}
static void load_solid(const mac_weights *w, const mac_mirror_tile *t, int32_t solid, double *tile)
{
  static const double none[MAC_HALVES] = {0};
  int64_t             block            = -1;
  const mac_share    *share            = NULL;
  for (int q = 0; q < MAC_TILE; ++q) {
    if (t->slot[q] >= 0 && t->slot[q] / MAC_BLOCK != block) block = t->slot[q] / MAC_BLOCK, share = mac_weights_share(w, block, solid);
    copy_halves(t->slot[q] < 0 || !share ? none : share->half[t->slot[q] % MAC_BLOCK], q, t->flip[q], tile);
  }
}

/* Sums of 2x2x2 entries starting at each entry: three sweeps over the whole tile. The results in its last layers are not used. */
static void sum_eight(const double *restrict tile, double *restrict sum)
{
  double line[HALF_TILE], plane[HALF_TILE];
  for (int q = 0; q < HALF_TILE - 1; ++q) line[q] = tile[q] + tile[q + 1];
  line[HALF_TILE - 1] = 0.0;
  for (int q = 0; q < HALF_TILE - HALF_SIDE; ++q) plane[q] = line[q] + line[q + HALF_SIDE];
  for (int q = HALF_TILE - HALF_SIDE; q < HALF_TILE; ++q) plane[q] = 0.0;
  for (int q = 0; q < HALF_TILE - HALF_SIDE * HALF_SIDE; ++q) sum[q] = plane[q] + plane[q + HALF_SIDE * HALF_SIDE];
  for (int q = HALF_TILE - HALF_SIDE * HALF_SIDE; q < HALF_TILE; ++q) sum[q] = 0.0;
}

/* Mean of the eight half-cells of a control volume: shift 0 or -1 along each axis from the cell's own. */
static inline double mean_of_eight(const double *sum, int l, int si, int sj, int sk)
{
  return 0.125 * sum[((2 + 2 * (l >> 4) + si) * HALF_SIDE + 2 + 2 * ((l >> 2) & 3) + sj) * HALF_SIDE + 2 + 2 * (l & 3) + sk];
}

static void fill_continuum(mac_weights *w, int64_t b, double value)
{
  for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) {
    w->cell_liquid[slot] = value;
    for (int a = 0; a < 3; ++a) w->face_liquid[a][slot] = w->edge_liquid[a][slot] = value;
  }
}

static void average_continuum(mac_weights *w, int64_t b, const double *sum)
{
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot   = b * MAC_BLOCK + l;
    w->cell_liquid[slot] = mean_of_eight(sum, l, 0, 0, 0);
    for (int a = 0; a < 3; ++a) {
      w->face_liquid[a][slot] = mean_of_eight(sum, l, -(a == 0), -(a == 1), -(a == 2));
      w->edge_liquid[a][slot] = mean_of_eight(sum, l, -(a != 0), -(a != 1), -(a != 2));
    }
  }
}

/* Whether all cells that a tile reads are full (1) or empty (0) of continuum; -1: neither. */
static int fill_of_tile(const mac_weights *w, const mac_mirror_tile *t)
{
  static const int first_of[3] = {0, 1, 5}; /* a cell in each of 27 blocks, or of the block that mirrors it */
  int              fill        = -2;
  for (int q = 0; q < 27; ++q) {
    const int place = first_of[q / 9] * 36 + first_of[q / 3 % 3] * 6 + first_of[q % 3];
    const int here  = t->slot[place] < 0 || t->is_air[place] ? 0 : w->block_fill[t->slot[place] / MAC_BLOCK];
    if (here < 0 || (fill != -2 && fill != here)) return -1;
    fill = here;
  }
  return fill;
}

static double voxel(const double *sum, int l, const int back[3])
{
  return mean_of_eight(sum, l, -2 * back[0], -2 * back[1], -2 * back[2]) >= 0.5 ? 1.0 : 0.0;
}

/* Round to full or empty cells, as in most liquid grids; faces and edges get the largest value of the cells around. */
static void round_to_voxels(mac_weights *w, int64_t b, const double *sum)
{
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot = b * MAC_BLOCK + l;
    double        around[8];
    for (int q = 0; q < 8; ++q) around[q] = voxel(sum, l, (const int[3]){q >> 2, (q >> 1) & 1, q & 1});
    w->cell_liquid[slot] = around[0];
    for (int a = 0; a < 3; ++a) {
      const int one = 4 >> a, next = 4 >> (a + 1) % 3, last = 4 >> (a + 2) % 3;
      w->face_liquid[a][slot] = fmax(around[0], around[one]);
      w->edge_liquid[a][slot] = fmax(fmax(around[0], around[next]), fmax(around[last], around[next + last]));
    }
  }
}

static void average_solid(mac_share *s, const double *sum)
{
  for (int l = 0; l < MAC_BLOCK; ++l) {
    s->cell[l] = mean_of_eight(sum, l, 0, 0, 0);
    for (int a = 0; a < 3; ++a) s->face[a][l] = mean_of_eight(sum, l, -(a == 0), -(a == 1), -(a == 2));
  }
}

/* Share of the hat kernel about a centre outside solids. Along each axis four half-cells have weights 1/8, 3/8, 3/8, 1/8, which
 * result from three successive means of two. */
static void find_open_shares(mac_weights *w, int64_t b, const double *solid)
{
  double once[HALF_TILE], twice[HALF_TILE], thrice[HALF_TILE];
  sum_eight(solid, once), sum_eight(once, twice), sum_eight(twice, thrice);
  for (int l = 0; l < MAC_BLOCK; ++l) w->center_open[b * MAC_BLOCK + l] = 1.0 - mean_of_eight(thrice, l, -1, -1, -1) / 64.0;
}

/* W_F of faces; faces with almost no fluid count as solid. */
static void close_faces(mac_weights *w, const mac_grid *g, int64_t b)
{
  const int32_t first = w->share_start[b], last = w->share_start[b + 1];
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot = b * MAC_BLOCK + l;
    double        cell = 0.0;
    for (int32_t s = first; s < last; ++s) cell += w->share[s].cell[l];
    w->cell_fluid[slot] = cell < 1.0 ? 1.0 - cell : 0.0;
    for (int a = 0; a < 3; ++a) {
      double sum = 0.0;
      for (int32_t s = first; s < last; ++s) sum += w->share[s].face[a][l];
      if (sum > 1.0 - LEAST_FLUID) {
        for (int32_t s = first; s < last; ++s) w->share[s].face[a][l] /= sum;
        sum = 1.0;
      }
      w->face_fluid[a][slot] = mac_grid_is_closed(g, a, slot) ? 0.0 : 1.0 - sum;
    }
  }
}

static void average_solids(mac_weights *w, const mac_grid *g, int64_t b, const mac_mirror_tile *t, const mac_fraction_options *o)
{
  const int32_t first = w->share_start[b], last = w->share_start[b + 1];
  double        tile[HALF_TILE], sum[HALF_TILE], all[HALF_TILE];
  for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK && o->has_ghosts; ++slot) w->center_open[slot] = 1.0;
  if (first == last) {
    close_faces(w, g, b);
    return;
  }
  memset(all, 0, sizeof all);
  for (int32_t s = first; s < last; ++s) {
    load_solid(w, t, w->share[s].solid, tile);
    sum_eight(tile, sum);
    average_solid(w->share + s, sum);
    if (o->is_area) memcpy(w->share[s].face, w->share[s].area, sizeof w->share[s].face);
    for (int q = 0; q < HALF_TILE; ++q) all[q] += tile[q];
  }
  close_faces(w, g, b);
  if (o->has_ghosts) find_open_shares(w, b, all);
}

PetscErrorCode mac_weights_compute(mac_weights *w, const mac_grid *g, const mac_bins *particles, int n_solids, const mac_solid *solids,
                                   const mac_fraction_options *o)
{
  PetscFunctionBegin;
  PetscCall(mac_fractions_reserve(w, g->n_slots));
  if (o->has_ghosts) PetscCall(reserve_ghosts(w, g->n_slots));
  PetscCall(compute_solid_fractions(w, g, n_solids, solids, o->is_area));
  compute_continuum_fractions(w, g, particles, o);
#pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    mac_mirror_tile t;
    load_mirror_tile(g, b, &t);
    const int fill = o->is_bare ? 0 : fill_of_tile(w, &t);
    if (fill >= 0 && !o->is_bare) fill_continuum(w, b, fill);
    if (fill < 0) {
      double tile[HALF_TILE], sum[HALF_TILE];
      load_continuum(w, &t, tile);
      sum_eight(tile, sum);
      average_continuum(w, b, sum);
      if (o->is_voxel) round_to_voxels(w, b, sum);
    }
    average_solids(w, g, b, &t, o);
  }
  if (o->has_ghosts) compute_ghosts(w, g, o);
  PetscFunctionReturn(PETSC_SUCCESS);
}
