/* Implementation of mac_velocity.h: extrapolation of face velocities and its transpose. */
#include "discretize/mac/mac_velocity.h"
#include "core/memory.h"

static const int step[6] = {-36, 36, -6, 6, -1, 1};

/* Mark the faces of a block that are next to those of layer `here`; the result is written to `next`. */
static void layer_of_block(const mac_grid *g, int64_t b, int axis, uint8_t here, const uint8_t *layer, uint8_t *next)
{
  int64_t tile[MAC_TILE];
  bool    has_tile = false;
  for (int l = 0; l < MAC_BLOCK; ++l) {
    const int64_t slot     = b * MAC_BLOCK + l;
    const bool    is_found = layer[slot] == 0 || (here > 0 && layer[slot] != MAC_NO_LAYER);
    next[slot]             = is_found ? layer[slot] : MAC_NO_LAYER; /* an input other than 0 only means that the face is not
                                                                       known */
    if (is_found || !mac_grid_has_face(g, axis, slot)) continue;
    if (!has_tile) mac_grid_tile(g, b, tile), has_tile = true;
    for (int q = 0; q < 6; ++q) {
      const int64_t other = tile[mac_grid_tile_place(l) + step[q]];
      if (other >= 0 && layer[other] == here) next[slot] = (uint8_t)(here + 1);
    }
  }
}

_Static_assert(MAC_LAYERS == 2, "mac_velocity_layers goes there and back once");
PetscErrorCode mac_velocity_layers(const mac_grid *g, uint8_t *const layer[3])
{
  uint8_t *next = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("layers of faces", 3 * g->n_slots, sizeof *next, &next));
#pragma omp parallel
  for (int here = 0; here < MAC_LAYERS; ++here) {
#pragma omp for schedule(static)
    for (int64_t b = 0; b < g->n_blocks; ++b)
      for (int a = 0; a < 3; ++a) {
        uint8_t *const other = next + a * g->n_slots;
        layer_of_block(g, b, a, (uint8_t)here, here ? other : layer[a], here ? layer[a] : other);
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

static void extrapolate_block(const mac_grid *g, int64_t b, int which, const uint8_t *layer, double *u)
{
  int64_t tile[MAC_TILE];
  if (!has_layer(layer, b, which)) return;
  mac_grid_tile(g, b, tile);
  for (int l = 0; l < MAC_BLOCK; ++l) {
    double sum = 0.0;
    int    n   = 0;
    if (layer[b * MAC_BLOCK + l] != which) continue;
    for (int q = 0; q < 6; ++q) {
      const int64_t other = tile[mac_grid_tile_place(l) + step[q]];
      if (other >= 0 && layer[other] == which - 1) sum += u[other], ++n;
    }
    u[b * MAC_BLOCK + l] = sum / n;
  }
}

void mac_velocity_extrapolate(const mac_grid *g, uint8_t *const layer[3], double *const u[3])
{
#pragma omp parallel
  for (int which = 1; which <= MAC_LAYERS; ++which) {
#pragma omp for schedule(static)
    for (int64_t b = 0; b < g->n_blocks; ++b)
      for (int a = 0; a < 3; ++a) extrapolate_block(g, b, which, layer[a], u[a]);
  }
}

/* Contributions of each face of a layer in a block to each of its sources. Returns false if there are none. */
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

static void average_block(const mac_grid *g, int64_t b, uint8_t which, const uint8_t *layer, const double *share, double *mass, double *u)
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

/* Whether this block or a block next to it has faces that give. */
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

PetscErrorCode mac_velocity_transfer_mass(const mac_grid *g, uint8_t *const layer[3], double *const mass[3], double *const u[3])
{
  double  *share = NULL;
  uint8_t *gives = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("shares of mass", 3 * g->n_slots, sizeof *share, &share));
  const PetscErrorCode code = memory_alloc("blocks that give mass", 3 * g->n_blocks, sizeof *gives, &gives);
#pragma omp parallel
  for (uint8_t which = code ? 0 : MAC_LAYERS; which > 0; --which) {
#pragma omp for schedule(static)
    for (int64_t b = 0; b < g->n_blocks; ++b)
      for (int a = 0; a < 3; ++a) gives[a * g->n_blocks + b] = share_block(g, b, which, layer[a], mass[a], share + a * g->n_slots);
#pragma omp for schedule(static)
    for (int64_t b = 0; b < g->n_blocks; ++b)
      for (int a = 0; a < 3; ++a)
        if (is_given(g, b, gives + a * g->n_blocks)) average_block(g, b, which, layer[a], share + a * g->n_slots, mass[a], u[a]);
  }
  MEMORY_FREE(&gives, &share);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
