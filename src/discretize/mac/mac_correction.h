/* Particles that have come too close are moved apart: constraints on density, as in smoothed particle hydrodynamics, on positions
 * alone
 * [theory: frictional-monolith, section 12; MacklinMueller2013]. Only compression is corrected; a lattice at rest does not move. */
#ifndef SS_DISCRETIZE_MAC_MAC_CORRECTION_H
#define SS_DISCRETIZE_MAC_MAC_CORRECTION_H
#include "discretize/mac/mac_bins.h"
#include "discretize/mac/mac_solid.h"

typedef struct {
  mac_bins bins;
  double  *volume, *reference, *slack, *multiplier, *wall[3],
      *move[3];        /* [n] by bin; wall: gradient of the walls' part of the density */
  double   largest;    /* volume */
  uint8_t *is_pushing; /* [n_slots]: some particle of the cell is too dense */
  int64_t  capacity[11];
} mac_correction;

/* Particles of one set: volume of each, the density kernel summed over their lattice, and by how much that may seem too dense
 * next to walls. */
typedef struct {
  double volume, reference, slack;
} mac_packing;
mac_packing mac_packing_of(double volume, double radius);

/* One round: x of sets as in mac_grid_build, on the grid built from them, moved in place by at most `longest`. `radius` of the
 * kernel [m]. *is_done: nothing
 * was too dense.
 * Same bits on any number of threads. */
PetscErrorCode mac_correction_round(mac_correction *c, const mac_grid *g, int n_sets, const int64_t *n, double *const (*x)[3],
                                    const mac_packing *packing, double radius, double longest, int n_placed,
                                    const mac_placed *placed, bool *is_done);
void           mac_correction_free(mac_correction *c);
#endif
