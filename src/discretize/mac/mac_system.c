#include "core/memory.h"
#include "core/timer.h"
#include "discretize/mac/mac_system_internal.h"
#include "discretize/mac/mac_velocity.h"

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
  memory_free(&y->cell_of), memory_free(&y->normal_weight);
  for (int a = 0; a < 3; ++a) {
    memory_free(&y->face_of[a]), memory_free(&y->edge_weight[a]), memory_free(&y->block_count[a]);
    memory_free(&y->is_known[a]);
  }
  mac_weights_destroy(&y->weights);
  mac_bins_destroy(&y->bins);
  *y = (mac_system){0};
}

static const double LIGHT = 0.25; /* of the mass of a full face */

static bool is_granular(const mac_state *s)
{
  for (int64_t slot = 0; slot < s->grid.n_slots; ++slot)
    if (s->friction[slot] > 0.0) return true;
  return false;
}

static PetscErrorCode reserve_known(mac_system *y, int64_t n_slots)
{
  PetscFunctionBegin;
  for (int a = 0; a < 3; ++a)
    PetscCall(memory_reserve("known faces", n_slots, sizeof *y->is_known[a], &y->capacity[24 + a], &y->is_known[a]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode extrapolate_light_faces(mac_state *s, mac_system *y)
{
  PetscFunctionBegin;
  PetscCall(reserve_known(y, s->grid.n_slots));
  for (int a = 0; a < 3; ++a)
    for (int64_t slot = 0; slot < s->grid.n_slots; ++slot) y->is_known[a][slot] = s->mass[a][slot] > 0.0;
  PetscCall(mac_velocity_extrapolate(&s->grid, 2, s->u, y->is_known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_system_assemble(mac_state *s, const mac_options *o, int n_solids, const mac_solid *solids, double dt,
                                   mac_system *out)
{
  const bool           has_stress = is_granular(s),
             is_area = o->fractions == MAC_FRACTIONS_AUTO ? !has_stress : o->fractions == MAC_FRACTIONS_AREA;
  mac_assembly         c = {&s->grid, s, o, solids, n_solids, is_area, out};
  mac_fraction_options f = {.radius              = o->particle_radius,
                            .extends_into_solids = o->extends_into_solids,
                            .is_area             = is_area,
                            .is_bare             = is_area && !has_stress,
                            .is_voxel            = o->fractions == MAC_FRACTIONS_VOXEL,
                            .least_theta         = o->ghost_fraction};
  PetscFunctionBegin;
  out->h = s->grid.h, out->dt = dt, out->arrangement = o->arrangement, out->basis = o->basis;
  timer_begin(TIMER_GRID);
  PetscCall(mac_bins_fill(&out->bins, c.g, s->n_sets, s->n, s->x));
  PetscCall(mac_weights_compute(&out->weights, c.g, &out->bins, n_solids, solids, &f));
  PetscCall(mac_active_reserve(&c));
  if (o->edge_weights == MAC_EDGES_NORMALIZED) mac_walls_hold(&c);
  PetscCall(extrapolate_light_faces(s, out));
  PetscCall(mac_active_find(&c));
  PetscCall(mac_operators_assemble(&c));
  PetscCall(mac_couplings_assemble(&c));
  timer_end(TIMER_GRID);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_state_accelerate(mac_state *s, const double dt_g[3])
{
  for (int a = 0; a < 3; ++a)
    #pragma omp parallel for schedule(static)
    for (int64_t slot = 0; slot < s->grid.n_slots; ++slot)
      if (s->mass[a][slot] > 0.0) s->u[a][slot] += dt_g[a];
}

/* Little mass beside a face that was solved for, across its own direction: the outermost grains of a surface, which go along with
 * it. Left to themselves they would fall freely along a slope and drag what is under them. */
static bool goes_along(const mac_system *y, const mac_state *s, int axis, int64_t slot)
{
  const mac_grid *g = &s->grid;
  int32_t         at[3];
  if (s->mass[axis][slot] > LIGHT * s->rest_density[slot] * g->h * g->h * g->h) return false;
  mac_grid_cell(g, slot, at);
  for (int q = 0; q < 6; ++q) {
    int32_t beside[3] = {at[0], at[1], at[2]};
    if (q / 2 == axis) continue;
    beside[q / 2] += q % 2 ? 1 : -1;
    const int64_t other = mac_grid_slot(g, beside[0], beside[1], beside[2]);
    if (other >= 0 && y->face_of[axis][other] >= 0) return true;
  }
  return false;
}

PetscErrorCode mac_system_store_velocity(const mac_system *y, const double *u, mac_state *s)
{
  const mac_grid *g = &s->grid;
  PetscFunctionBegin;
  for (int a = 0; a < 3; ++a)
    #pragma omp parallel for schedule(static)
    for (int64_t slot = 0; slot < g->n_slots; ++slot) {
      const int32_t face = y->face_of[a][slot];
      const bool    is_wall = mac_grid_is_closed(g, a, slot);
      if (face >= 0) s->u[a][slot] = u[face];
      else if (is_wall) s->u[a][slot] = 0.0;
      y->is_known[a][slot] =
          face >= 0 || is_wall || (s->mass[a][slot] > 0.0 && y->weights.face_fluid[a][slot] > 0.0 && !goes_along(y, s, a, slot));
    }
  PetscCall(mac_velocity_extrapolate(g, 2, s->u, y->is_known));
  PetscFunctionReturn(PETSC_SUCCESS);
}
