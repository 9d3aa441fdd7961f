#include "discretize/mac/mac_velocity.h"
#include "core/memory.h"

/* What a layer adds to one block; is_known is as before it, next marks what is new. */
static void extrapolate_block(const mac_grid *g, int64_t b, int axis, double *u, const uint8_t *is_known, uint8_t *next)
{
  static const int step[6] = {-36, 36, -6, 6, -1, 1};
  int64_t          tile[MAC_TILE];
  bool             has_tile = false;
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot = b * MAC_BLOCK + l;
    next[slot]         = is_known[slot];
    if (is_known[slot]) continue;
    int32_t ijk[3];
    mac_grid_cell(g, slot, ijk);
    bool is_there = true; /* a face of the box, not one beyond it */
    for (int a = 0; a < 3; ++a) is_there = is_there && ijk[a] < g->n[a] + (a == axis && !mac_grid_is_periodic(g, a));
    if (!is_there) continue;
    if (!has_tile) mac_grid_tile(g, b, tile), has_tile = true;
    double sum = 0.0;
    int    n   = 0;
    for (int q = 0; q < 6; ++q) {
      const int64_t other = tile[mac_grid_tile_place(l) + step[q]];
      if (other >= 0 && is_known[other]) sum += u[other], ++n;
    }
    if (n) u[slot] = sum / n, next[slot] = 1;
  }
}

PetscErrorCode mac_velocity_extrapolate(const mac_grid *g, int n_layers, double *const u[3], uint8_t *const is_known[3])
{
  uint8_t *next = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("known faces", g->n_slots, sizeof *next, &next));
  for (int a = 0; a < 3; ++a) {
    for (int layer = 0; layer < n_layers; ++layer) {
      #pragma omp parallel for schedule(static)
      for (int64_t b = 0; b < g->n_blocks; ++b) extrapolate_block(g, b, a, u[a], is_known[a], next);
      #pragma omp parallel for schedule(static)
      for (int64_t s = 0; s < g->n_slots; ++s) is_known[a][s] = next[s];
    }
    #pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < g->n_slots; ++s)
      if (!is_known[a][s]) u[a][s] = 0.0;
  }
  memory_free(&next);
  PetscFunctionReturn(PETSC_SUCCESS);
}
