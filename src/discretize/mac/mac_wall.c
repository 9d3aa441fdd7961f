/* Friction of what lies on a rough wall of the box, below the lowest pressure.
 *
 * The wall bears the pressure of the cell next to it and, besides, what is on the wall's own faces: half of the lowest layer's
 * mass, all of it where the layer is too thin for a pressure. Bounding shear stress by the cell's pressure alone makes a layer of n
 * cells slide by 1/(2 n) too easily, and thin ones without any friction. The force on wall faces is known beforehand, m u* over dt,
 * since they stand still: so is the friction that goes with it. It acts on the tangential velocity next to the wall before the
 * stress does: where both together can hold it, it stops. */
#include "core/memory.h"
#include "discretize/mac/mac_system_internal.h"
#include <math.h>

/* Momentum into the wall of the face of a cell on that wall, >= 0. */
static double push(const mac_assembly *c, const int64_t *tile, int place, int axis, int side)
{
  const int64_t slot = tile[place + side * mac_step[axis]];
  const double  into = slot < 0 ? 0.0 : (side ? 1.0 : -1.0) * c->y->mass[axis][slot] * c->s->u[axis][slot];
  return into > 0.0 ? into : 0.0;
}

/* Speed along the wall at the lower face along a of a cell, from there and the mean of the faces along b around. */
static double speed(const mac_assembly *c, const int64_t *tile, int place, int a, int b)
{
  double sum = 0.0;
  int    n   = 0;
  for (int q = 0; q < 4; ++q) {
    const int64_t slot = tile[place - (q & 1) * mac_step[a] + (q >> 1) * mac_step[b]];
    if (slot >= 0 && c->y->mass[b][slot] > 0.0) sum += c->s->u[b][slot], ++n;
  }
  return hypot(c->s->u[a][tile[place]], n ? sum / n : 0.0);
}

/* What is left of the velocity of a cell's lower face along a next to walls across other axes: a share; 1 where it touches none. */
static double share_left(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int a)
{
  const mac_grid *g = c->g;
  const int64_t   before = tile[place - mac_step[a]];
  double          friction = 0.0, lost = 0.0, fastest = 0.0;
  int32_t         ijk[3];
  int             n = 0;
  if (!(c->y->mass[a][slot] > 0.0)) return 1.0;
  mac_grid_cell(g, slot, ijk);
  for (int q = 0; q < 2; ++q) {
    const int64_t cell = q ? before : slot;
    if (cell >= 0 && c->s->rest_density[cell] > 0.0) friction += c->s->friction[cell], ++n;
  }
  if (!(friction > 0.0)) return 1.0;
  friction /= n;
  if (c->o->wall_friction < friction) friction = c->o->wall_friction; /* NaN: no */
  for (int e = 1; e < 3; ++e) {
    const int axis = (a + e) % 3, b = 3 - a - axis;
    for (int side = 0; side < 2; ++side) {
      if (g->wall[axis][side] != MAC_WALL_ROUGH || ijk[axis] != (side ? g->n[axis] - 1 : 0)) continue;
      lost += 0.5 * friction * (push(c, tile, place, axis, side) + push(c, tile, place - mac_step[a], axis, side)) /
              c->y->mass[a][slot];
      fastest = fmax(fastest, speed(c, tile, place, a, b));
    }
  }
  return lost > 0.0 ? fmax(0.0, 1.0 - lost / fmax(fastest, lost)) : 1.0;
}

static bool touches_rough_wall(const mac_grid *g, const int32_t b[3])
{
  for (int a = 0; a < 3; ++a) {
    if (g->wall[a][0] == MAC_WALL_ROUGH && b[a] == 0) return true;
    if (g->wall[a][1] == MAC_WALL_ROUGH && MAC_SIDE * (b[a] + 1) >= g->n[a]) return true;
  }
  return false;
}

PetscErrorCode mac_walls_hold(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
  for (int a = 0; a < 3; ++a)
    PetscCall(memory_reserve("friction of walls", c->g->n_slots, sizeof *y->left[a], &y->capacity[31 + a], &y->left[a]));
  double *const *left = y->left;
  #pragma omp parallel
  for (int pass = 0; pass < 2; ++pass) { /* all shares from the velocities as they were */
    #pragma omp for schedule(static)
    for (int64_t block = 0; block < c->g->n_blocks; ++block) {
      int64_t tile[MAC_TILE];
      if (!touches_rough_wall(c->g, c->g->block[block])) continue;
      if (!pass) mac_grid_tile(c->g, block, tile);
      for (int l = 0; l < MAC_BLOCK; ++l) {
        const int64_t slot  = block * MAC_BLOCK + l;
        const int     place = mac_grid_tile_place(l);
        for (int a = 0; a < 3; ++a)
          if (pass) c->s->u[a][slot] *= left[a][slot];
          else left[a][slot] = tile[place] == slot ? share_left(c, slot, tile, place, a) : 1.0;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
