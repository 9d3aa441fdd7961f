/* Position correction: particles that are too close are moved apart by density constraints, as in smoothed particle hydrodynamics
 * [MacklinMueller2013]. Only positions change. Only compression is corrected; a lattice at rest density does not move. Called by
 * mac_domain_correct_positions. */
#ifndef SS_DISCRETIZE_MAC_MAC_CORRECTION_H
#define SS_DISCRETIZE_MAC_MAC_CORRECTION_H
#include "discretize/mac/mac_bins.h"
#include "discretize/mac/mac_solid.h"

typedef struct {
  mac_bins bins;
  double  *volume, *reference, *slack, *multiplier, *wall[3],
      *move[3];        /* [n] by bin; wall: gradient of the contribution of walls to the density */
  double   largest;    /* largest volume */
  uint8_t *is_pushing; /* [n_slots] some particle of the cell is too dense */
  int64_t  capacity, slots_capacity;
} mac_correction;

/* Particles of one set: volume of each, the density kernel summed over their lattice, and the excess density tolerated next to
 * walls. */
typedef struct {
  double volume, reference, slack;
} mac_packing;
mac_packing mac_packing_of(double volume, double radius);

/* One iteration. Moves positions x of sets as in mac_grid_build, on the grid built from them, in place by at most `longest`.
 * `radius` of the kernel [m]. *is_done: no particle was too dense. Same bits on any number of threads. */
PetscErrorCode mac_correction_round(mac_correction *c, const mac_grid *g, int n_sets, const int64_t *n, double *const (*x)[3],
                                    const mac_packing *packing, double radius, double longest, int n_placed, const mac_placed *placed,
                                    bool *is_done);
void           mac_correction_free(mac_correction *c);
#endif
