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

/* The four faces around it, as row_of_edge in mac_operators.c has them: those of normal a on either side along b, and the other way
 * round; with the sign of their part in the rate of shear. Whether all are solved for and clear of solids. */
static bool find_faces(const mac_system *y, const edge_place *e, int32_t face[4])
{
  const double  full = y->h * y->h * y->h * (1.0 - 1e-12);
  const int64_t below_b = e->tile[e->place - mac_step[e->b]], below_a = e->tile[e->place - mac_step[e->a]];
  if (below_a < 0 || below_b < 0) return false;
  face[0] = y->face_of[e->a][e->slot], face[1] = y->face_of[e->a][below_b];
  face[2] = y->face_of[e->b][e->slot], face[3] = y->face_of[e->b][below_a];
  for (int q = 0; q < 4; ++q)
    if (face[q] < 0 || !(y->weight[face[q]] >= full)) return false;
  return true;
}

/* Least M p of its four cells, 0 where one of them is not active. */
static double least_bound(const mac_system *y, const edge_place *e, const double *p)
{
  double least = INFINITY;
  for (int q = 0; q < 4; ++q) {
    const int64_t slot = e->tile[e->place - (q & 1) * mac_step[e->a] - (q >> 1) * mac_step[e->b]];
    const int32_t cell = slot < 0 ? -1 : y->cell_of[slot];
    if (cell < 0) return 0.0;
    least = fmin(least, y->friction[cell] * fmax(0.0, p[cell]));
  }
  return least;
}

/* x - P x at an edge; NaN stands for edges that take no part. Of each of its cells the mean is over those of the cell's edges that
 * do, so that P keeps constants up to the surface; and it is symmetric, as all four cells of an edge that does are counted. */
static double rest_of_means(const edge_place *e, const double *x)
{
  double sum = 0.0;
  for (int q = 0; q < 4; ++q) {
    const int cell = e->place - (q & 1) * mac_step[e->a] - (q >> 1) * mac_step[e->b];
    double    mean = 0.0;
    int       n = 0;
    for (int k = 0; k < 4; ++k) {
      const int64_t slot = e->tile[cell + (k & 1) * mac_step[e->a] + (k >> 1) * mac_step[e->b]];
      if (slot >= 0 && !isnan(x[slot])) mean += x[slot], ++n;
    }
    sum += mean / n; /* n > 0: the edge itself */
  }
  return x[e->slot] - 0.25 * sum;
}

typedef enum { RATE, HELD, STRESS, N_PASSES } pass;

/* Each pass reads what the one before has made of the edges around; y->hourglass: rate, later stress; held. */
static void pass_over_edge(pass now, const mac_system *y, const edge_place *e, double share, const double *p)
{
  double *rate = y->hourglass[0][e->o], *held = y->hourglass[1][e->o];
  int32_t face[4];
  if (now == RATE) {
    const bool is_in = e->tile[e->place] == e->slot && least_bound(y, e, p) > 0.0 && find_faces(y, e, face);
    rate[e->slot] = is_in ? (y->u[face[0]] - y->u[face[1]] + y->u[face[2]] - y->u[face[3]]) / y->h : NAN;
  } else if (now == STRESS) {
    rate[e->slot] = isnan(held[e->slot]) ? 0.0 : rest_of_means(e, held);
  } else if (isnan(rate[e->slot]) || !find_faces(y, e, face)) {
    held[e->slot] = NAN;
  } else {
    double easiest = 0.0;
    for (int q = 0; q < 4; ++q) easiest = fmax(easiest, y->mobility[face[q]]);
    const double wanted = y->h * y->h / (16.0 * easiest) * rest_of_means(e, rate), bound = share * least_bound(y, e, p);
    held[e->slot] = fmax(-bound, fmin(bound, wanted));
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

/* The stresses on the four edges of every face, and what they make of its velocity. */
static void push_faces(const mac_grid *g, mac_system *y)
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
        const int64_t above = tile[place + mac_step[b]];
        sum += y->hourglass[0][o][y->face_slot[f]] - (above < 0 ? 0.0 : y->hourglass[0][o][above]);
      }
      y->u[f] -= y->mobility[f] * sum / y->h;
    }
  }
}

PetscErrorCode mac_hourglass_hold(const mac_grid *g, mac_system *y, double share, const double *p)
{
  PetscFunctionBegin;
  if (!(share > 0.0) || y->arrangement != MAC_COLOCATED || !y->n_stress) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_GRID);
  for (int k = 0; k < 2; ++k)
    for (int o = 0; o < 3; ++o)
      PetscCall(memory_reserve("alternating shear", g->n_slots, sizeof *y->hourglass[k][o], &y->hourglass_capacity[k][o],
                               &y->hourglass[k][o]));
  for (int now = RATE; now < N_PASSES; ++now) pass_over_edges((pass)now, g, y, share, p);
  push_faces(g, y);
  timer_end(TIMER_GRID);
  PetscFunctionReturn(PETSC_SUCCESS);
}
