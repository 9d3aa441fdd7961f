#include "discretize/mpm/mpm_light.h"
#include "core/memory.h"

/* Lighter than its share of its heaviest neighbour's mass. */
static bool is_light(const mpm_grid *g, double share, int64_t dof)
{
  int64_t at[3], near[3];
  double  heaviest = 0.0;
  mpm_grid_node(g, dof, at);
  for (near[0] = at[0] - 1; near[0] <= at[0] + 1; ++near[0])
    for (near[1] = at[1] - 1; near[1] <= at[1] + 1; ++near[1])
      for (near[2] = at[2] - 1; near[2] <= at[2] + 1; ++near[2]) {
        const int32_t other = mpm_grid_find(g, near);
        if (other >= 0) heaviest = fmax(heaviest, g->mass[other]);
      }
  return g->mass[dof] < share * heaviest;
}

/* Two nodes that lead, in line with a light one, `steps` and steps + 1 away along an axis or a diagonal. */
typedef struct {
  int32_t near, far; /* near -1: nobody; far -1: the near one alone */
  int     steps;
} line;

static line best_line(const mpm_grid *g, const uint8_t *light, int64_t dof)
{
  int64_t at[3], a[3], b[3];
  mpm_grid_node(g, dof, at);
  for (int n_leaders = 2; n_leaders >= 1; --n_leaders)
    for (int steps = 1; steps <= 2; ++steps) {
      line   best = {-1, -1, steps};
      double most = 0.0;
      for (int d = 0; d < 27; ++d) {
        const int dir[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1}, length2 = dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2];
        if (length2 == 0) continue;
        for (int k = 0; k < 3; ++k) a[k] = at[k] + steps * dir[k], b[k] = a[k] + dir[k];
        const int32_t near = mpm_grid_find(g, a), far = n_leaders == 2 ? mpm_grid_find(g, b) : -1;
        if (near < 0 || light[near] || (n_leaders == 2 && (far < 0 || light[far]))) continue;
        const double worth = (g->mass[near] + (far >= 0 ? g->mass[far] : 0.0)) / length2;
        if (worth > most) most = worth, best.near = near, best.far = far;
      }
      if (best.near >= 0) return best;
    }
  return (line){-1, -1, 0};
}

PetscErrorCode mpm_light_find(const mpm_grid *g, double share, int64_t *n, int64_t *capacity, body_follower **follower)
{
  const int64_t n_dofs = g->n_dofs;
  uint8_t      *light;
  line         *found;

  PetscFunctionBeginUser;
  *n = 0;
  PetscCall(memory_alloc("mpm light nodes", n_dofs, sizeof *light, &light));
  PetscCall(memory_alloc("mpm leaders", n_dofs, sizeof *found, &found));
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < n_dofs; ++i) light[i] = is_light(g, share, i);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < n_dofs; ++i) found[i] = light[i] ? best_line(g, light, i) : (line){-1, -1, 0};
  for (int64_t i = 0; i < n_dofs; ++i) {
    const line *l = &found[i];
    if (l->near < 0) continue;
    PetscCall(memory_reserve("mpm followers", *n + 2, sizeof **follower, capacity, follower));
    (*follower)[(*n)++] = (body_follower){(int32_t)i, l->near, l->far < 0 ? 1.0 : 1.0 + l->steps};
    if (l->far >= 0) (*follower)[(*n)++] = (body_follower){(int32_t)i, l->far, -l->steps};
  }
  memory_free(&light);
  memory_free(&found);
  PetscFunctionReturn(PETSC_SUCCESS);
}
