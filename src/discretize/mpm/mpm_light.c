/* Implementation of mpm_light.h: light grid nodes that depend on heavier ones. */
#include "discretize/mpm/mpm_light.h"
#include "core/math3.h"
#include "core/memory.h"

/* Relations of nodes in this step. */
typedef struct {
  const mpm_grid  *grid;
  const mpm_walls *walls;
  double          *weight; /* [n_dofs] mass of a node as if a wall's plane through it did not exist [kg]; 0: mirrored, or fully
                            * constrained */
  uint8_t         *light;
} light_nodes;

static uint8_t held_of(const mpm_walls *w, int64_t dof) { return w->n_walls > 0 ? w->held[dof] : 0; }

/* A node on the plane of a mirror has half of its grains before the plane, one on two planes a quarter. */
static double weight_of(const light_nodes *l, int64_t dof)
{
  const uint8_t held = held_of(l->walls, dof);
  return held == 7 ? 0.0 : l->grid->mass[dof] * (double)(1 << ((held & 1) + (held >> 1 & 1) + (held >> 2)));
}

/* Lighter than its share of its heaviest neighbour's mass. */
static bool is_light(const light_nodes *l, double share, int64_t dof)
{
  int64_t at[3], near[3];
  double  heaviest = 0.0;
  if (l->weight[dof] <= 0.0) return false;
  mpm_grid_node(l->grid, dof, at);
  for (near[0] = at[0] - 1; near[0] <= at[0] + 1; ++near[0])
    for (near[1] = at[1] - 1; near[1] <= at[1] + 1; ++near[1])
      for (near[2] = at[2] - 1; near[2] <= at[2] + 1; ++near[2]) {
        const int32_t other = mpm_grid_find(l->grid, near);
        if (other >= 0) heaviest = fmax(heaviest, l->weight[other]);
      }
  return l->weight[dof] < share * heaviest;
}

/* The node at this place if it may be a leader: heavy, independent, and with the same mirrors. -1: none. */
static int32_t leader_at(const light_nodes *l, int64_t follower, const int64_t node[3])
{
  const int32_t dof = mpm_grid_find(l->grid, node);
  return dof < 0 || l->light[dof] || !(l->weight[dof] > 0.0) || held_of(l->walls, dof) != held_of(l->walls, follower) ? -1 : dof;
}

/* Two leaders in line with a light node, `steps` and steps + 1 away along an axis or a diagonal. */
typedef struct {
  int32_t near, far; /* near -1: none; far -1: only the near one */
  int     steps;
} line;

static line best_line(const light_nodes *l, int64_t dof)
{
  int64_t at[3], a[3], b[3];
  mpm_grid_node(l->grid, dof, at);
  for (int n_leaders = 2; n_leaders >= 1; --n_leaders)
    for (int steps = 1; steps <= 2; ++steps) {
      line   best = {-1, -1, steps};
      double most = 0.0;
      for (int d = 0; d < 27; ++d) {
        const int dir[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1}, length2 = dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2];
        if (length2 == 0) continue;
        for (int k = 0; k < 3; ++k) a[k] = at[k] + steps * dir[k], b[k] = a[k] + dir[k];
        const int32_t near = leader_at(l, dof, a), far = n_leaders == 2 && near >= 0 ? leader_at(l, dof, b) : -1;
        if (near < 0 || (n_leaders == 2 && far < 0)) continue;
        const double worth = (l->weight[near] + (far >= 0 ? l->weight[far] : 0.0)) / length2;
        if (worth > most) most = worth, best.near = near, best.far = far;
      }
      if (best.near >= 0) return best;
    }
  return (line){-1, -1, 0};
}

static bool is_slow(const mpm_grid *g, int64_t dof, double speed) { return v3_norm(g->velocity + 3 * dof) < speed; }

/* No leaders (near -1) if one of the best line is not slow. */
static line slow_line(const light_nodes *l, int64_t dof, double speed)
{
  const line f       = best_line(l, dof);
  const bool is_rest = f.near >= 0 && is_slow(l->grid, f.near, speed) && (f.far < 0 || is_slow(l->grid, f.far, speed));
  return is_rest ? f : (line){-1, -1, 0};
}

PetscErrorCode mpm_light_find(const mpm_grid *g, const mpm_walls *walls, const mpm_light_rule *rule, int64_t *n, int64_t *capacity,
                              body_dependent_block **follower)
{
  const int64_t n_dofs = g->n_dofs;
  light_nodes   l      = {g, walls, NULL, NULL};
  line         *found;

  PetscFunctionBeginUser;
  *n = 0;
  PetscCall(MEMORY_ALLOC("mpm light", ARRAY(l.weight, n_dofs), ARRAY(l.light, n_dofs), ARRAY(found, n_dofs)));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n_dofs; ++i) l.weight[i] = weight_of(&l, i);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < n_dofs; ++i) l.light[i] = is_light(&l, rule->share, i);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < n_dofs; ++i)
    found[i] = l.light[i] && is_slow(g, i, rule->speed) ? slow_line(&l, i, rule->lead_speed) : (line){-1, -1, 0};
  for (int64_t i = 0; i < n_dofs; ++i) {
    const line *f = &found[i];
    if (f->near < 0) continue;
    PetscCall(memory_reserve("mpm dependent nodes", *n + 2, sizeof **follower, capacity, follower));
    (*follower)[(*n)++] = (body_dependent_block){(int32_t)i, f->near, f->far < 0 ? 1.0 : 1.0 + f->steps};
    if (f->far >= 0) (*follower)[(*n)++] = (body_dependent_block){(int32_t)i, f->far, -f->steps};
  }
  MEMORY_FREE(&l.weight, &l.light, &found);
  PetscFunctionReturn(PETSC_SUCCESS);
}
