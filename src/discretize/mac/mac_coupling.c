/* Forces of pressure and stress on solids. */
#include "core/memory.h"
#include "core/math3.h"
#include "discretize/mac/mac_system_internal.h"

/* -h^3 J^T W_S of one solid applied to a row; false where nothing reaches it. */
static bool wrench_of_row(const mac_assembly *c, const mac_row *row, int32_t solid, double wrench[6])
{
  const mac_grid    *g = c->g;
  const mac_weights *w = &c->y->weights;
  const double       h3 = g->h * g->h * g->h;
  bool               is_reached = false;
  for (int d = 0; d < 6; ++d) wrench[d] = 0.0;
  for (int q = 0; q < row->n; ++q) {
    const int64_t    slot  = row->entry[q].slot;
    const int        axis  = row->entry[q].axis;
    const mac_share *share = mac_weights_share(w, slot / MAC_BLOCK, solid);
    const double     part  = share ? share->face[axis][slot % MAC_BLOCK] : 0.0;
    int32_t          ijk[3];
    double           x[3], arm[3], force[3] = {0.0, 0.0, 0.0}, moment[3];
    if (part == 0.0) continue;
    mac_grid_cell(g, slot, ijk);
    for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * (ijk[a] + (a == axis ? 0.0 : 0.5));
    mac_placed_arm(w->placed + solid, x, arm);
    force[axis] = -h3 * part * row->entry[q].value;
    v3_cross(moment, arm, force);
    for (int a = 0; a < 3; ++a) wrench[a] += force[a], wrench[3 + a] += moment[a];
    is_reached = true;
  }
  return is_reached;
}

/* Cells of a tile with solid in a lower face. */
static void find_solid_faces(const mac_assembly *c, const int64_t *tile, bool *has)
{
  const mac_weights *w = &c->y->weights;
  int64_t            block = -1;
  for (int t = 0; t < MAC_TILE; ++t) {
    if (tile[t] >= 0) block = tile[t] / MAC_BLOCK;
    has[t] = false;
    for (int32_t s = w->share_start[block < 0 ? 0 : block]; tile[t] >= 0 && s < w->share_start[block + 1]; ++s)
      for (int a = 0; a < 3; ++a) has[t] = has[t] || w->share[s].face[a][tile[t] % MAC_BLOCK] > 0.0;
  }
}
static bool is_near_solid(const bool *has, int place)
{
  for (int q = 0; q < 27; ++q)
    if (has[place + (q / 9 - 1) * 36 + (q / 3 % 3 - 1) * 6 + q % 3 - 1]) return true;
  return false;
}

/* One block's share of the list: counts where `out` is NULL. */
static int64_t couple_samples(const mac_assembly *c, int64_t first, int64_t last, const int64_t *slots, const uint8_t *component,
                              mac_coupling *out, int64_t at)
{
  const mac_weights *w = &c->y->weights;
  int64_t            tile[MAC_TILE], block = -1, n = 0, cell = -1;
  bool               has_solid[MAC_TILE], is_near = false;
  for (int64_t i = first; i < last; ++i) {
    const int64_t here = slots[i] / MAC_BLOCK;
    if (w->share_start[here] == w->share_start[here + 1]) continue;
    if (here != block) block = here, mac_grid_tile(c->g, block, tile), find_solid_faces(c, tile, has_solid);
    const mac_place place = {slots[i], tile, mac_grid_tile_place((int)(slots[i] % MAC_BLOCK))};
    mac_row         row;
    if (slots[i] != cell) cell = slots[i], is_near = is_near_solid(has_solid, place.place);
    if (!is_near) continue;
    if (component) mac_row_of_stress(c, &place, component[i], &row);
    else mac_row_of_pressure(c, &place, &row);
    for (int32_t s = w->share_start[here]; s < w->share_start[here + 1]; ++s) {
      double wrench[6];
      if (!wrench_of_row(c, &row, w->share[s].solid, wrench)) continue;
      if (out) {
        out->sample[at + n] = (int32_t)i, out->solid[at + n] = w->share[s].solid;
        for (int d = 0; d < 6; ++d) out->wrench[at + n][d] = wrench[d];
      }
      ++n;
    }
  }
  return n;
}

enum { SAMPLES = 512 }; /* to a chunk: borders depend on the number of samples alone */
static PetscErrorCode couple(const mac_assembly *c, int64_t n, const int64_t *slots, const uint8_t *component, mac_coupling *out)
{
  const int64_t n_chunks = (n + SAMPLES - 1) / SAMPLES;
  int64_t      *count = NULL;
  PetscFunctionBegin;
  out->n = 0;
  if (c->y->weights.n_shares == 0 || n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("counts of couplings", n_chunks, sizeof *count, &count));
  #pragma omp parallel for schedule(dynamic)
  for (int64_t q = 0; q < n_chunks; ++q)
    count[q] = couple_samples(c, q * SAMPLES, (q + 1) * SAMPLES < n ? (q + 1) * SAMPLES : n, slots, component, NULL, 0);
  for (int64_t q = 0; q < n_chunks; ++q) {
    const int64_t here = count[q];
    count[q] = out->n, out->n += here;
  }
  PetscErrorCode code = memory_reserve("couplings", out->n, sizeof *out->sample, &out->capacity[0], &out->sample);
  if (!code) code = memory_reserve("couplings", out->n, sizeof *out->solid, &out->capacity[1], &out->solid);
  if (!code) code = memory_reserve("couplings", out->n, sizeof *out->wrench, &out->capacity[2], &out->wrench);
  if (!code) {
    #pragma omp parallel for schedule(dynamic)
    for (int64_t q = 0; q < n_chunks; ++q)
      couple_samples(c, q * SAMPLES, (q + 1) * SAMPLES < n ? (q + 1) * SAMPLES : n, slots, component, out, count[q]);
  }
  memory_free(&count);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_couplings_assemble(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
  PetscCall(couple(c, y->n_cells, y->cell_slot, NULL, &y->F_p));
  PetscCall(couple(c, y->n_stress, y->stress_slot, y->component, &y->F_s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
