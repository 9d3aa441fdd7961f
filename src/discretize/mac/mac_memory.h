/* What a step leaves for the next one to start from: pressure, stress and multipliers at the cells where they were. State of a
 * run. */
#ifndef SS_DISCRETIZE_MAC_MAC_MEMORY_H
#define SS_DISCRETIZE_MAC_MAC_MEMORY_H
#include "core/field_table.h"
#include "discretize/mac/mac_system.h"

/* A row for every cell that is active or has a stress sample at one of its lower edges, in the order of slots. */
typedef struct {
  int64_t   n, capacity[4];
  uint64_t *key;        /* [n] ascending: block and cell in it */
  double   *pressure;   /* [n] Pa */
  double   *stress;     /* [n][5] Pa, in the basis of the system; 0 where there was no sample */
  double   *multiplier; /* [n] of the cell's cone */
} mac_memory;

PetscErrorCode mac_memory_create(mac_memory **out);
void           mac_memory_destroy(mac_memory **m);
/* p [n_cells], s [n_stress], multiplier [n_cells] of a system on grid g: as remembered at the same place, 0 where nothing was.
 * Pointers may be NULL. */
void           mac_memory_guess(const mac_memory *m, const mac_grid *g, const mac_system *y, double *p, double *s, double *multiplier);
/* In place of all that was remembered. s may be NULL if there are no samples, multiplier may always. */
PetscErrorCode mac_memory_remember(mac_memory *m, const mac_grid *g, const mac_system *y, const double *p, const double *s, const double *multiplier);
/* Group "mac/memory" of the checkpoint. */
PetscErrorCode mac_memory_fields(mac_memory *m, field_table *table);
#endif
