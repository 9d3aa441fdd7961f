/* Implementation of mpm_wall.h: mirrors and periodic planes on the MPM grid. */
#include "discretize/mpm/mpm_wall.h"
#include "core/memory.h"

void mpm_walls_free(mpm_walls *w) { MEMORY_FREE(&w->wall, &w->held, &w->ghost); }

/* How far behind the wall a node is, in half units of h; `on_nodes`: the plane passes through nodes or between them. */
static int64_t depth_of(const mpm_wall *wall, double h, const int64_t node[3], bool *on_nodes)
{
  const double twice = 2.0 * wall->coordinate / h;
  *on_nodes          = fabs(twice - rint(twice)) < 1e-6;
  return (int64_t)(*on_nodes ? rint(twice) - 2.0 * (double)node[wall->axis] : floor(twice) - 2.0 * (double)node[wall->axis]) * -wall->side;
}

/* From a periodic plane to its partner, along the axis [m]; 0 if it has none. */
static double period_of(const mpm_walls *w, const mpm_wall *wall)
{
  for (int q = 0; q < w->n_walls; ++q) {
    const mpm_wall *other = &w->wall[q];
    if (other->kind == MPM_WALL_PERIODIC && other->axis == wall->axis && other->side == -wall->side)
      return other->coordinate - wall->coordinate;
  }
  return 0.0;
}

/* Reflect a node until it is behind no wall. Returns the components constrained by planes through it, 7 if the reflections do not end. */
static uint8_t reflect(const mpm_walls *w, double h, int64_t node[3], double sign[3], bool *is_behind)
{
  uint8_t held = 0;
  *is_behind   = false;
  for (int pass = 0; pass < 4; ++pass) {
    bool moved = false;
    held       = 0;
    for (int q = 0; q < w->n_walls; ++q) {
      const mpm_wall *wall = &w->wall[q];
      bool            on_nodes;
      const int64_t   depth = depth_of(wall, h, node, &on_nodes);
      if (depth < 0) continue;
      if (wall->kind == MPM_WALL_PERIODIC) { /* the upper plane's nodes are the lower one's */
        if (depth == 0 && wall->side < 0) continue;
        node[wall->axis] += llrint(period_of(w, wall) / h);
        moved = *is_behind = true;
        continue;
      }
      if (depth == 0 && on_nodes) {
        held |= (uint8_t)(wall->kind == MPM_WALL_STICK ? 7 : 1 << wall->axis);
        continue;
      }
      if (!on_nodes) return 7;
      node[wall->axis] -= wall->side * depth;
      for (int k = 0; k < 3; ++k)
        if (wall->kind == MPM_WALL_STICK || k == wall->axis) sign[k] = -sign[k];
      moved = *is_behind = true;
    }
    if (!moved) return held;
  }
  return 7;
}

PetscErrorCode mpm_walls_find(mpm_walls *w, const mpm_grid *g)
{
  PetscFunctionBeginUser;
  w->n_ghosts = 0;
  if (w->n_walls == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (g->n_dofs > w->held_capacity) {
    memory_free(&w->held);
    PetscCall(memory_alloc("mpm walls", g->n_dofs, sizeof *w->held, &w->held));
    w->held_capacity = g->n_dofs;
  }
  for (int64_t i = 0; i < g->n_dofs; ++i) {
    int64_t   node[3];
    bool      is_behind;
    mpm_ghost ghost = {.dof = (int32_t)i, .sign = {1.0, 1.0, 1.0}};
    mpm_grid_node(g, i, node);
    w->held[i] = reflect(w, g->h, node, ghost.sign, &is_behind);
    if (!is_behind) continue;
    w->held[i]  = 7;
    ghost.image = mpm_grid_find(g, node);
    if (ghost.image < 0) continue; /* no node in front of the wall there: constrained */
    PetscCall(memory_reserve("mpm mirrors", w->n_ghosts + 1, sizeof *w->ghost, &w->ghosts_capacity, &w->ghost));
    w->ghost[w->n_ghosts++] = ghost;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_walls_wrap(const mpm_walls *w, particles *p)
{
  for (int q = 0; q < w->n_walls; ++q) {
    const mpm_wall *wall = &w->wall[q];
    if (wall->kind != MPM_WALL_PERIODIC) continue;
    const double period = period_of(w, wall), plane = wall->coordinate;
    double      *x = p->x[wall->axis];
    for (int64_t i = 0; i < p->n; ++i)
      if (wall->side < 0 ? x[i] < plane : x[i] >= plane) x[i] += period;
  }
}

void mpm_walls_expand(const mpm_walls *w, const mpm_grid *g, const double *x, double *full)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i)
    for (int k = 0; k < 3; ++k) full[3 * i + k] = w->held[i] >> k & 1 ? 0.0 : x[3 * i + k];
  for (int64_t q = 0; q < w->n_ghosts; ++q)
    for (int k = 0; k < 3; ++k) full[3 * (int64_t)w->ghost[q].dof + k] = w->ghost[q].sign[k] * full[3 * (int64_t)w->ghost[q].image + k];
}

void mpm_walls_fold(const mpm_walls *w, const mpm_grid *g, double *f)
{
  for (int64_t q = 0; q < w->n_ghosts; ++q)
    for (int k = 0; k < 3; ++k) f[3 * (int64_t)w->ghost[q].image + k] += w->ghost[q].sign[k] * f[3 * (int64_t)w->ghost[q].dof + k];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i)
    for (int k = 0; k < 3; ++k)
      if (w->held[i] >> k & 1) f[3 * i + k] = 0.0;
}

void mpm_walls_fold_grid(const mpm_walls *w, mpm_grid *g)
{
  for (int64_t i = 0; i < g->n_dofs; ++i)
    for (int k = 0; k < 3; ++k) g->velocity[3 * i + k] *= g->mass[i];
  mpm_walls_fold(w, g, g->velocity);
  for (int64_t q = 0; q < w->n_ghosts; ++q) g->mass[w->ghost[q].image] += g->mass[w->ghost[q].dof];
  for (int64_t i = 0; i < g->n_dofs; ++i)
    for (int k = 0; k < 3; ++k) g->velocity[3 * i + k] /= g->mass[i];
  for (int64_t q = 0; q < w->n_ghosts; ++q)
    for (int k = 0; k < 3; ++k)
      g->velocity[3 * (int64_t)w->ghost[q].dof + k] = w->ghost[q].sign[k] * g->velocity[3 * (int64_t)w->ghost[q].image + k];
}
