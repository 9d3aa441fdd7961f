#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "discretize/mac/mac_system_internal.h"
#include "discretize/mac/mac_velocity.h"
#include <math.h>

static void destroy_coupling(mac_coupling *f)
{
  memory_free(&f->sample), memory_free(&f->solid), memory_free(&f->wrench);
}

void mac_system_destroy(mac_system *y)
{
  memory_free(&y->face_slot), memory_free(&y->face_axis), memory_free(&y->cell_slot), memory_free(&y->ijk);
  memory_free(&y->u), memory_free(&y->mobility), memory_free(&y->weight);
  sparse_rows_destroy(&y->G), sparse_rows_destroy(&y->GT), sparse_rows_destroy(&y->D), sparse_rows_destroy(&y->DT);
  destroy_coupling(&y->F_p), destroy_coupling(&y->F_s);
  memory_free(&y->friction), memory_free(&y->cohesion), memory_free(&y->rest_density);
  memory_free(&y->component), memory_free(&y->sample_cells), memory_free(&y->stress_slot);
  memory_free(&y->loan);
  memory_free(&y->row_col), memory_free(&y->row_value);
  memory_free(&y->cell_of), memory_free(&y->normal_weight);
  for (int a = 0; a < 3; ++a) {
    memory_free(&y->face_of[a]), memory_free(&y->edge_weight[a]), memory_free(&y->block_count[a]);
    memory_free(&y->layer[a]), memory_free(&y->mass[a]), memory_free(&y->left[a]);
    memory_free(&y->hourglass[0][a]), memory_free(&y->hourglass[1][a]);
  }
  mac_weights_destroy(&y->weights);
  mac_bins_destroy(&y->bins);
  *y = (mac_system){0};
}

static bool is_granular(const mac_state *s)
{
  for (int64_t slot = 0; slot < s->grid.n_slots; ++slot)
    if (s->friction[slot] > 0.0) return true;
  return false;
}

PetscErrorCode mac_system_assemble(mac_state *s, const mac_options *o, int n_solids, const mac_solid *solids, double dt,
                                   mac_system *out)
{
  const bool           has_stress = is_granular(s), is_area = o->fractions == MAC_FRACTIONS_AREA,
             has_ghosts = o->fractions == MAC_FRACTIONS_AUTO ? !has_stress : is_area || o->fractions == MAC_FRACTIONS_GHOST;
  mac_assembly         c = {&s->grid, s, o, solids, n_solids, has_ghosts, out};
  mac_fraction_options f = {.radius              = o->particle_radius,
                            .extends_into_solids = o->extends_into_solids,
                            .is_area             = is_area,
                            .has_ghosts          = has_ghosts,
                            .is_bare             = has_ghosts && !has_stress,
                            .rho                 = s->rho,
                            .rest                = s->rest_density,
                            .is_voxel            = o->fractions == MAC_FRACTIONS_VOXEL,
                            .least_theta         = o->ghost_fraction};
  PetscFunctionBegin;
  out->h = s->grid.h, out->dt = dt, out->arrangement = o->arrangement, out->basis = o->basis;
  out->has_ghosts = has_ghosts;
  timer_begin(TIMER_GRID);
  PetscCall(mac_bins_fill(&out->bins, c.g, s->n_sets, s->n, s->x));
  PetscCall(mac_weights_compute(&out->weights, c.g, &out->bins, n_solids, solids, &f));
  PetscCall(mac_active_reserve(&c));
  PetscCall(mac_velocity_of_empty_faces(&c));
  PetscCall(mac_active_find(&c));
  PetscCall(mac_masses_find(&c));
  if (o->edge_weights == MAC_EDGES_NORMALIZED) PetscCall(mac_walls_hold(&c));
  PetscCall(mac_operators_assemble(&c));
  PetscCall(mac_couplings_assemble(&c));
  timer_end(TIMER_GRID);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_state_accelerate(mac_state *s, const double dt_g[3])
{
  #pragma omp parallel
  for (int a = 0; a < 3; ++a) {
    #pragma omp for schedule(static) nowait
    for (int64_t slot = 0; slot < s->grid.n_slots; ++slot)
      if (s->mass[a][slot] > 0.0) s->u[a][slot] += dt_g[a];
  }
}

/* The face's own cells are that of its slot and the one before it along its axis. */
bool mac_face_is_carried(const mac_system *y, const mac_state *s, int axis, int64_t slot, const double *u, double *push)
{
  const mac_grid *g = &s->grid;
  int32_t         at[3];
  double          near = y->weights.center[slot], sum = 0.0, before = 0.0;
  int             n = 0;
  if (y->face_of[axis][slot] >= 0 || mac_grid_is_closed(g, axis, slot)) return false;
  if (!(s->mass[axis][slot] > 0.0 && y->weights.face_fluid[axis][slot] > 0.0)) return false;
  mac_grid_cell(g, slot, at);
  for (int q = 0; q < 6; ++q) {
    int32_t beside[3] = {at[0], at[1], at[2]};
    beside[q / 2] += q % 2 ? 1 : -1;
    const int64_t other = mac_grid_slot(g, beside[0], beside[1], beside[2]);
    const int32_t face  = other < 0 ? -1 : y->face_of[axis][other];
    if (q == 2 * axis && other >= 0) near = fmin(near, y->weights.center[other]);
    if (face >= 0) sum += u ? u[face] - y->u[face] : 0.0, before += u ? y->u[face] : 0.0, ++n;
  }
  /* what is ahead of those that push leaves them: pushed all the same, few grains at the tip of a sheet become ever faster */
  if (push) *push = n && !((s->u[axis][slot] - before / n) * sum > 0.0) ? sum / n : 0.0;
  return n > 0 && near < 0.5 * g->h;
}

void mac_system_store_velocity(const mac_system *y, const double *u, mac_state *s)
{
  const mac_grid *g = &s->grid;
  #pragma omp parallel
  for (int a = 0; a < 3; ++a) {
    #pragma omp for schedule(static) nowait
    for (int64_t slot = 0; slot < g->n_slots; ++slot) {
      const int32_t face = y->face_of[a][slot];
      double        push;
      if (face >= 0) s->u[a][slot] = u[face];
      else if (y->has_ghosts && mac_face_is_carried(y, s, a, slot, u, &push)) s->u[a][slot] += push;
      else if (mac_grid_is_closed(g, a, slot) || !(s->mass[a][slot] > 0.0)) s->u[a][slot] = 0.0;
    }
  }
  mac_masses_repay(y, s->u);
  mac_velocity_extrapolate(g, y->layer, s->u);
}
