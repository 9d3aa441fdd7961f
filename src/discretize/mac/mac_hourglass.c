/* Implementation of mac_hourglass.h: hourglass control for shear stress at cell centres. */
#include "discretize/mac/mac_hourglass.h"
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "core/timer.h"
#include <math.h>

/* An edge along axis o, at the lower corner of its cell, between axes a and b. */
typedef struct {
  int64_t        slot;
  const int64_t *tile;
  int            place, o, a, b;
} edge_place;

/* The four faces around an edge, as in row_of_edge of mac_system.c: those of normal a on either side along b, and those of normal
 * b on either side along a, with their signs in the shear rate. Returns whether all are unknown and not cut by solids. */
static bool find_faces(const mac_system *y, const edge_place *e, int32_t face[4])
{
  const double  full    = y->h * y->h * y->h * (1.0 - 1e-12);
  const int64_t below_b = e->tile[e->place - mac_tile_stride[e->b]], below_a = e->tile[e->place - mac_tile_stride[e->a]];
  if (below_a < 0 || below_b < 0) return false;
  face[0] = y->face_of[e->a][e->slot], face[1] = y->face_of[e->a][below_b];
  face[2] = y->face_of[e->b][e->slot], face[3] = y->face_of[e->b][below_a];
  for (int q = 0; q < 4; ++q)
    if (face[q] < 0 || !(y->weight[face[q]] >= full)) return false;
  return true;
}

/* Smallest M p of its four cells; 0 if one of them is not active. */
static double least_bound(const mac_system *y, const edge_place *e, const double *p)
{
  double least = INFINITY;
  for (int q = 0; q < 4; ++q) {
    const int64_t slot = e->tile[e->place - (q & 1) * mac_tile_stride[e->a] - (q >> 1) * mac_tile_stride[e->b]];
    const int32_t cell = slot < 0 ? -1 : y->cell_of[slot];
    if (cell < 0) return 0.0;
    least = fmin(least, y->friction[cell] * fmax(0.0, p[cell]));
  }
  return least;
}

/* x - P x at an edge; NaN marks edges that are not included. The mean of each cell is over its included edges, so that P
 * preserves constants up to the surface. P is symmetric, since all four cells of an included edge are counted. */
static double deviation_from_mean(const edge_place *e, const double *x)
{
  double sum = 0.0;
  for (int q = 0; q < 4; ++q) {
    const int cell = e->place - (q & 1) * mac_tile_stride[e->a] - (q >> 1) * mac_tile_stride[e->b];
    double    mean = 0.0;
    int       n    = 0;
    for (int k = 0; k < 4; ++k) {
      const int64_t slot = e->tile[cell + (k & 1) * mac_tile_stride[e->a] + (k >> 1) * mac_tile_stride[e->b]];
      if (slot >= 0 && !isnan(x[slot])) mean += x[slot], ++n;
    }
    sum += mean / n; /* n > 0: the edge itself */
  }
  return x[e->slot] - 0.25 * sum;
}

typedef enum { RATE, BOUNDED, STRESS, N_PASSES } pass;

/* Each pass reads results of the pass before at the edges around. y->hourglass[0]: rate, later stress; y->hourglass[1]: bounded stress q. */
static void pass_over_edge(pass now, const mac_system *y, const edge_place *e, double share, const double *p)
{
  double *rate = y->hourglass[0][e->o], *bounded = y->hourglass[1][e->o];
  int32_t face[4];
  if (now == RATE) {
    const bool is_in = e->tile[e->place] == e->slot && least_bound(y, e, p) > 0.0 && find_faces(y, e, face);
    rate[e->slot]    = is_in ? (y->u[face[0]] - y->u[face[1]] + y->u[face[2]] - y->u[face[3]]) / y->h : NAN;
  } else if (now == STRESS) {
    rate[e->slot] = isnan(bounded[e->slot]) ? 0.0 : deviation_from_mean(e, bounded);
  } else if (isnan(rate[e->slot]) || !find_faces(y, e, face)) {
    bounded[e->slot] = NAN;
  } else {
    double easiest = 0.0;
    for (int q = 0; q < 4; ++q) easiest = fmax(easiest, y->mobility[face[q]]);
    const double unbounded = y->h * y->h / (16.0 * easiest) * deviation_from_mean(e, rate), bound = share * least_bound(y, e, p);
    bounded[e->slot] = fmax(-bound, fmin(bound, unbounded));
  }
}

static void pass_over_edges(pass now, const mac_grid *g, const mac_system *y, double share, const double *p)
{
#pragma omp parallel for schedule(static)
  for (int64_t block = 0; block < g->n_blocks; ++block) {
    int64_t tile[MAC_TILE];
    mac_grid_tile(g, block, tile);
    for (int l = 0; l < MAC_BLOCK; ++l)
      for (int o = 0; o < 3; ++o) {
        const edge_place e = {block * MAC_BLOCK + l, tile, mac_grid_tile_place(l), o, (o + 1) % 3, (o + 2) % 3};
        pass_over_edge(now, y, &e, share, p);
      }
  }
}

/* Apply the stresses on the four edges of every face to its velocity. */
static void apply_stress(const mac_grid *g, mac_system *y)
{
#pragma omp parallel
  {
    int64_t tile[MAC_TILE], block = -1;
#pragma omp for schedule(static)
    for (int64_t f = 0; f < y->n_faces; ++f) {
      const int a = y->face_axis[f], place = mac_grid_tile_place((int)(y->face_slot[f] % MAC_BLOCK));
      double    sum = 0.0;
      if (y->face_slot[f] / MAC_BLOCK != block) block = y->face_slot[f] / MAC_BLOCK, mac_grid_tile(g, block, tile);
      for (int q = 1; q < 3; ++q) {
        const int     o = (a + q) % 3, b = 3 - a - o;
        const int64_t above = tile[place + mac_tile_stride[b]];
        sum += y->hourglass[0][o][y->face_slot[f]] - (above < 0 ? 0.0 : y->hourglass[0][o][above]);
      }
      y->u[f] -= y->mobility[f] * sum / y->h;
    }
  }
}

PetscErrorCode mac_hourglass_apply(const mac_grid *g, mac_system *y, double share, const double *p)
{
  PetscFunctionBegin;
  if (!(share > 0.0) || y->arrangement != MAC_COLOCATED || !y->n_stress) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_GRID);
  for (int k = 0; k < 2; ++k)
    for (int o = 0; o < 3; ++o)
      PetscCall(
          memory_reserve("alternating shear", g->n_slots, sizeof *y->hourglass[k][o], &y->hourglass_capacity[k][o], &y->hourglass[k][o]));
  for (int now = RATE; now < N_PASSES; ++now) pass_over_edges((pass)now, g, y, share, p);
  apply_stress(g, y);
  timer_end(TIMER_GRID);
  PetscFunctionReturn(PETSC_SUCCESS);
}
