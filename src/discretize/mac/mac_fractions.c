#include "discretize/mac/mac_fractions.h"
#include "core/memory.h"
#include "discretize/mac/mac_fractions_internal.h"
#include <math.h>
#include <string.h>

enum { HALF_SIDE = 2 * MAC_TILE_SIDE, HALF_TILE = HALF_SIDE * HALF_SIDE * HALF_SIDE };
static const double LEAST_FLUID = 0.01; /* of a face: with less it is solid */

void mac_mirror_tile_load(const mac_grid *g, int64_t block, mac_mirror_tile *t)
{
  bool is_inside = true;
  for (int a = 0; a < 3; ++a)
    is_inside = is_inside && g->block[block][a] > 0 && MAC_SIDE * (g->block[block][a] + 1) < g->n[a];
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
      is_flipped[a][q] = is_beyond;
      is_air[a][q]     = is_beyond && g->wall[a][at >= n] == MAC_WALL_OPEN;
      cell[a][q]       = !is_beyond ? at : at < 0 ? -1 - at : 2 * n - 1 - at;
      if (mac_grid_is_periodic(g, a)) cell[a][q] = (at + n) % n; /* also what of the block lies beyond the box */
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

void mac_weights_destroy(mac_weights *w)
{
  memory_free(&w->half), memory_free(&w->center), memory_free(&w->center_open);
  memory_free(&w->cell_liquid), memory_free(&w->cell_fluid);
  for (int a = 0; a < 3; ++a)
    memory_free(&w->face_liquid[a]), memory_free(&w->edge_liquid[a]), memory_free(&w->face_fluid[a]);
  memory_free(&w->share_start), memory_free(&w->block_fill), memory_free(&w->share), memory_free(&w->placed);
  memory_free(&w->occupied);
  *w = (mac_weights){0};
}

static PetscErrorCode reserve(mac_weights *w, int64_t n)
{
  int64_t *capacity = w->capacity;
  PetscFunctionBegin;
  PetscCall(memory_reserve("fractions of half-cells", MAC_HALVES * n, sizeof *w->half, capacity++, &w->half));
  PetscCall(memory_reserve("fill of blocks", n / MAC_BLOCK, sizeof *w->block_fill, &w->capacity[19], &w->block_fill));
  PetscCall(memory_reserve("occupied cells", n / MAC_BLOCK, sizeof *w->occupied, &w->capacity[20], &w->occupied));
  double **const sample[] = {&w->cell_liquid,    &w->face_liquid[0], &w->face_liquid[1], &w->face_liquid[2], &w->edge_liquid[0],
                             &w->edge_liquid[1], &w->edge_liquid[2], &w->cell_fluid,     &w->face_fluid[0],  &w->face_fluid[1],
                             &w->face_fluid[2]};
  for (size_t s = 0; s < sizeof sample / sizeof *sample; ++s)
    PetscCall(memory_reserve("fractions", n, sizeof(double), capacity++, sample[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half-cells of a tile, from the values of each cell: those of the continuum, or of one solid in all blocks. */
static void put_halves(const double *value, int t, uint8_t flip, double *tile)
{
  const int i = 2 * (t / 36), j = 2 * (t / 6 % 6), k = 2 * (t % 6);
  for (int q = 0; q < MAC_HALVES; ++q)
    tile[((i + (q >> 2)) * HALF_SIDE + j + ((q >> 1) & 1)) * HALF_SIDE + k + (q & 1)] = value[q ^ flip];
}
static void load_continuum(const mac_weights *w, const mac_mirror_tile *t, double *tile)
{
  static const double none[MAC_HALVES] = {0};
  for (int q = 0; q < MAC_TILE; ++q)
    put_halves(t->slot[q] < 0 || t->is_air[q] ? none : w->half + MAC_HALVES * t->slot[q], q, t->flip[q], tile);
}
static void load_solid(const mac_weights *w, const mac_mirror_tile *t, int32_t solid, double *tile)
{
  static const double none[MAC_HALVES] = {0};
  int64_t             block = -1;
  const mac_share    *share = NULL;
  for (int q = 0; q < MAC_TILE; ++q) {
    if (t->slot[q] >= 0 && t->slot[q] / MAC_BLOCK != block)
      block = t->slot[q] / MAC_BLOCK, share = mac_weights_share(w, block, solid);
    put_halves(t->slot[q] < 0 || !share ? none : share->half[t->slot[q] % MAC_BLOCK], q, t->flip[q], tile);
  }
}

/* Sums of 2x2x2 entries from each on: three sweeps over lines that are long enough for all of the tile but its last layers,
 * which nobody uses. */
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
    const int64_t slot = b * MAC_BLOCK + l;
    w->cell_liquid[slot] = mean_of_eight(sum, l, 0, 0, 0);
    for (int a = 0; a < 3; ++a) {
      w->face_liquid[a][slot] = mean_of_eight(sum, l, -(a == 0), -(a == 1), -(a == 2));
      w->edge_liquid[a][slot] = mean_of_eight(sum, l, -(a != 0), -(a != 1), -(a != 2));
    }
  }
}

/* Whether all a tile takes from is full (1) or empty (0) of the continuum; -1: neither. */
static int fill_of_tile(const mac_weights *w, const mac_mirror_tile *t)
{
  static const int first_of[3] = {0, 1, 5}; /* a cell in each of 27 blocks, or of the one that mirrors it */
  int              fill = -2;
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

/* Full or empty, as most grids of liquids have it: cells, and the largest of those around faces and edges. */
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

/* Share of the hat kernel about a centre that is in no solid: along each axis four half-cells carry 1/8, 3/8, 3/8, 1/8, which is
 * what three means of two make. */
static void find_open_shares(mac_weights *w, int64_t b, const double *solid)
{
  double once[HALF_TILE], twice[HALF_TILE], thrice[HALF_TILE];
  sum_eight(solid, once), sum_eight(once, twice), sum_eight(twice, thrice);
  for (int l = 0; l < MAC_BLOCK; ++l) w->center_open[b * MAC_BLOCK + l] = 1.0 - mean_of_eight(thrice, l, -1, -1, -1) / 64.0;
}

/* W_F of faces; where next to nothing is left, solids take all. */
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

PetscErrorCode mac_weights_compute(mac_weights *w, const mac_grid *g, const mac_bins *particles, int n_solids,
                                   const mac_solid *solids, const mac_fraction_options *o)
{
  PetscFunctionBegin;
  PetscCall(reserve(w, g->n_slots));
  if (o->has_ghosts) PetscCall(mac_fractions_ghosts_reserve(w, g->n_slots));
  PetscCall(mac_fractions_of_solids(w, g, n_solids, solids, o->is_area));
  mac_fractions_of_continuum(w, g, particles, o);
  #pragma omp parallel for schedule(dynamic, 2)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    mac_mirror_tile t;
    mac_mirror_tile_load(g, b, &t);
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
  if (o->has_ghosts) mac_fractions_ghosts(w, g, o);
  PetscFunctionReturn(PETSC_SUCCESS);
}
