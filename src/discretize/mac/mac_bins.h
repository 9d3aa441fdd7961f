/* Particles sorted by the cell of the staggered grid that contains them. Used by mac_fractions.c and mac_correction.c. */
#ifndef SS_DISCRETIZE_MAC_MAC_BINS_H
#define SS_DISCRETIZE_MAC_MAC_BINS_H
#include "discretize/mac/mac_grid.h"

typedef struct {
  int64_t   n;     /* particles of all sets */
  int32_t  *start; /* [n_slots + 1] first particle of the cell at each slot */
  double   *x[3];  /* [n] positions [m], by slot, then by set and index; on periodic axes wrapped into the box */
  uint64_t *key, *key_scratch;
  int32_t  *order, *order_scratch;
  int64_t   slots_capacity, capacity;
} mac_bins;

/* Sort all particles of the sets (arguments of mac_grid_build) on the grid that was built from them. *b is zeroed or from an earlier step,
 * whose memory is reused. Fails only if memory allocation fails. */
PetscErrorCode mac_bins_fill(mac_bins *b, const mac_grid *g, int n_sets, const int64_t *n, const double *const (*x)[3]);
void           mac_bins_destroy(mac_bins *b);
#endif
