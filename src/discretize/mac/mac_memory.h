/* Warm start: pressure, stress and multipliers of the last step, by grid cell, as initial guess of the next step. Part of the checkpoint. */
#ifndef SS_DISCRETIZE_MAC_MAC_MEMORY_H
#define SS_DISCRETIZE_MAC_MAC_MEMORY_H
#include "core/field_table.h"
#include "discretize/mac/mac_system.h"

/* One row for every cell that is active or has a stress sample at one of its lower edges, in the order of slots. */
typedef struct {
  int64_t   n, capacity;
  uint64_t *key;        /* [n] block and cell of each row, ascending */
  double   *pressure;   /* [n] Pa */
  double   *stress;     /* [n][5] Pa, in the basis of the system; 0 if there was no sample */
  double   *multiplier; /* [n] multiplier of the cone of the cell (granular_state) */
} mac_memory;

PetscErrorCode mac_memory_create(mac_memory **out);
void           mac_memory_destroy(mac_memory **m);
/* Set the initial guess p [n_cells], s [n_stress], multiplier [n_cells] of system y on grid g to the stored values of the same cells, or to
 * 0 if there are none. p, s, multiplier may be NULL. */
void mac_memory_initial_guess(const mac_memory *m, const mac_grid *g, const mac_system *y, double *p, double *s, double *multiplier);
/* Replace the stored values. s may be NULL if there are no samples; multiplier may always be NULL. */
PetscErrorCode mac_memory_store(mac_memory *m, const mac_grid *g, const mac_system *y, const double *p, const double *s,
                                const double *multiplier);
/* Register the group "mac/memory" of the checkpoint in the field table. */
PetscErrorCode mac_memory_fields(mac_memory *m, field_table *table);
#endif
