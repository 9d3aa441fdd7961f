#include "discretize/mac/mac_velocity.h"
#include "core/memory.h"

static const int step[6] = {-36, 36, -6, 6, -1, 1};

/* Which faces of a block come next to those of layer `here`; next gets all. */
static void layer_of_block(const mac_grid *g, int64_t b, int axis, uint8_t here, const uint8_t *layer, uint8_t *next)
{
  int64_t tile[MAC_TILE];
  bool    has_tile = false;
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot = b * MAC_BLOCK + l;
    next[slot]         = layer[slot];
    if (layer[slot] != MAC_NO_LAYER || !mac_grid_has_face(g, axis, slot)) continue;
    if (!has_tile) mac_grid_tile(g, b, tile), has_tile = true;
    for (int q = 0; q < 6; ++q) {
      const int64_t other = tile[mac_grid_tile_place(l) + step[q]];
      if (other >= 0 && layer[other] == here) next[slot] = (uint8_t)(here + 1);
    }
  }
}

PetscErrorCode mac_velocity_layers(const mac_grid *g, uint8_t *const layer[3])
{
  uint8_t *next = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("layers of faces", g->n_slots, sizeof *next, &next));
  for (int a = 0; a < 3; ++a) {
    #pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < g->n_slots; ++s)
      if (layer[a][s]) layer[a][s] = MAC_NO_LAYER;
    for (int here = 0; here < MAC_LAYERS; ++here) {
      #pragma omp parallel for schedule(static)
      for (int64_t b = 0; b < g->n_blocks; ++b) layer_of_block(g, b, a, (uint8_t)here, layer[a], next);
      #pragma omp parallel for schedule(static)
      for (int64_t s = 0; s < g->n_slots; ++s) layer[a][s] = next[s];
    }
  }
  memory_free(&next);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a block has faces of a layer. */
static bool has_layer(const uint8_t *layer, int64_t b, int which)
{
  bool has = false;
  for (int64_t s = b * MAC_BLOCK; s < (b + 1) * MAC_BLOCK; ++s) has = has || layer[s] == which;
  return has;
}

void mac_velocity_extrapolate(const mac_grid *g, uint8_t *const layer[3], double *const u[3])
{
  for (int a = 0; a < 3; ++a)
    for (int which = 1; which <= MAC_LAYERS; ++which)
      #pragma omp parallel for schedule(static)
      for (int64_t b = 0; b < g->n_blocks; ++b) {
        int64_t tile[MAC_TILE];
        if (!has_layer(layer[a], b, which)) continue;
        mac_grid_tile(g, b, tile);
        for (int l = 0; l < MAC_BLOCK; ++l) {
          double sum = 0.0;
          int    n   = 0;
          if (layer[a][b * MAC_BLOCK + l] != which) continue;
          for (int q = 0; q < 6; ++q) {
            const int64_t other = tile[mac_grid_tile_place(l) + step[q]];
            if (other >= 0 && layer[a][other] == which - 1) sum += u[a][other], ++n;
          }
          u[a][b * MAC_BLOCK + l] = sum / n;
        }
      }
}

/* What each face of a layer in a block gives to each of its sources; false: nothing. */
static bool share_block(const mac_grid *g, int64_t b, uint8_t which, const uint8_t *layer, const double *mass, double *share)
{
  int64_t tile[MAC_TILE];
  bool    has = false;
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot = b * MAC_BLOCK + l;
    share[slot]        = 0.0;
    if (layer[slot] != which || !(mass[slot] > 0.0)) continue;
    if (!has) mac_grid_tile(g, b, tile), has = true;
    int n = 0;
    for (int q = 0; q < 6; ++q) {
      const int64_t other = tile[mac_grid_tile_place(l) + step[q]];
      n += other >= 0 && layer[other] == which - 1;
    }
    share[slot] = mass[slot] / n;
  }
  return has;
}

static void take_block(const mac_grid *g, int64_t b, uint8_t which, const uint8_t *layer, const double *share, double *mass,
                       double *u)
{
  int64_t tile[MAC_TILE];
  mac_grid_tile(g, b, tile);
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot = b * MAC_BLOCK + l;
    double        more = 0.0, momentum = 0.0;
    if (layer[slot] != which - 1) continue;
    for (int q = 0; q < 6; ++q) {
      const int64_t other = tile[mac_grid_tile_place(l) + step[q]];
      if (other >= 0 && layer[other] == which) more += share[other], momentum += share[other] * u[other];
    }
    if (!(more > 0.0)) continue;
    u[slot] = (mass[slot] * u[slot] + momentum) / (mass[slot] + more);
    mass[slot] += more;
  }
}

/* Whether any block next to this one, or it itself, gives. */
static bool is_given(const mac_grid *g, int64_t b, const uint8_t *gives)
{
  const int32_t *at = g->block[b];
  bool           is = gives[b];
  for (int q = 0; q < 6 && !is; ++q) {
    int32_t beside[3] = {MAC_SIDE * at[0], MAC_SIDE * at[1], MAC_SIDE * at[2]};
    beside[q / 2] += q % 2 ? MAC_SIDE : -1;
    const int64_t slot = mac_grid_slot(g, beside[0], beside[1], beside[2]);
    is                 = slot >= 0 && gives[slot / MAC_BLOCK];
  }
  return is;
}

PetscErrorCode mac_velocity_carry(const mac_grid *g, uint8_t *const layer[3], double *const mass[3], double *const u[3])
{
  double  *share = NULL;
  uint8_t *gives = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("shares of mass", g->n_slots, sizeof *share, &share));
  PetscErrorCode code = memory_alloc("blocks that give mass", g->n_blocks, sizeof *gives, &gives);
  for (int a = 0; a < 3 && !code; ++a)
    for (uint8_t which = MAC_LAYERS; which > 0; --which) {
      #pragma omp parallel for schedule(static)
      for (int64_t b = 0; b < g->n_blocks; ++b) gives[b] = share_block(g, b, which, layer[a], mass[a], share);
      #pragma omp parallel for schedule(static)
      for (int64_t b = 0; b < g->n_blocks; ++b)
        if (is_given(g, b, gives)) take_block(g, b, which, layer[a], share, mass[a], u[a]);
    }
  memory_free(&gives);
  memory_free(&share);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
