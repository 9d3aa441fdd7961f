#include "optim/bounds/grid_aggregate.h"
#include "core/memory.h"
#include <string.h>

void grid_cells_free(grid_cells *c) { memory_free(&c->ijk), memory_free(&c->neighbor); }

static inline uint64_t mix(const int32_t *ijk)
{
  uint64_t h = (uint64_t)(uint32_t)ijk[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)(uint32_t)ijk[1] * 0xc2b2ae3d27d4eb4fu ^
               (uint64_t)(uint32_t)ijk[2] * 0x165667b19e3779f9u;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  return h ^ h >> 32;
}

/* A lower neighbour in the same aggregate, which has its number already: most cells have one, and need not look into the table. */
static inline int32_t kin(const grid_cells *c, int32_t i)
{
  for (int a = 0; a < 3; ++a) {
    const int32_t j = c->neighbor[i][2 * a];
    if (c->ijk[i][a] & 1 && j >= 0 && j < i) return j;
  }
  return -1;
}

PetscErrorCode grid_aggregate(const grid_cells *fine, int32_t *of, grid_cells *coarse)
{
  int32_t *table = NULL;
  int64_t  size  = 64;
  PetscFunctionBegin;
  while (2 * size < 3 * (int64_t)fine->n) size *= 2;
  PetscCall(memory_alloc("coarse cells", fine->n, sizeof *coarse->ijk, &coarse->ijk));
  PetscCall(memory_alloc("table of coarse cells", size, sizeof *table, &table)); /* number + 1; 0: empty */
  for (int32_t i = 0; i < fine->n; ++i) {
    const int32_t j = kin(fine, i);
    if (j >= 0) {
      of[i] = of[j];
      continue;
    }
    const int32_t at[3] = {fine->ijk[i][0] >> 1, fine->ijk[i][1] >> 1, fine->ijk[i][2] >> 1};
    int64_t       slot  = (int64_t)(mix(at) & (uint64_t)(size - 1));
    while (table[slot] > 0 && memcmp(coarse->ijk[table[slot] - 1], at, sizeof at) != 0) slot = (slot + 1) & (size - 1);
    if (table[slot] == 0) {
      memcpy(coarse->ijk[coarse->n], at, sizeof at);
      table[slot] = ++coarse->n;
    }
    of[i] = table[slot] - 1;
  }
  memory_free(&table);
  PetscErrorCode code = memory_alloc("neighbours of coarse cells", coarse->n, sizeof *coarse->neighbor, &coarse->neighbor);
  PetscCall(code);
  memset(coarse->neighbor, 0xff, (size_t)coarse->n * sizeof *coarse->neighbor);
  for (int32_t i = 0; i < fine->n; ++i)
    for (int k = 0; k < 6; ++k) {
      const int32_t j = fine->neighbor[i][k];
      if (j >= 0 && of[j] != of[i]) coarse->neighbor[of[i]][k] = of[j];
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
