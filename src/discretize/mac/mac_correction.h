/* Position correction: particles that are too close to each other are moved apart by density constraints, as in smoothed particle
 * hydrodynamics [MacklinMueller2013]. Only positions change. Only compression is corrected; a lattice at rest density does not move.
 * Formulas in mac_correction.c. Called by mac_domain_correct_positions. */
#ifndef SS_DISCRETIZE_MAC_MAC_CORRECTION_H
#define SS_DISCRETIZE_MAC_MAC_CORRECTION_H
#include "discretize/mac/mac_bins.h"
#include "discretize/mac/mac_solid.h"

typedef struct {
  mac_bins bins;
  double  *volume, *reference, *slack, *multiplier, *wall[3],
      *move[3];        /* [n] in the order of bins; wall: gradient of the contribution of walls to the density */
  double   largest;    /* largest volume of a particle [m^3] */
  uint8_t *is_pushing; /* [n_slots] 1: the density at a particle of the cell is too large */
  int64_t  capacity, slots_capacity;
} mac_correction;

/* Constants of the particles of one set: volume of each particle [m^3], sum of the density kernel over a lattice of such particles, and
 * excess density that is tolerated. */
typedef struct {
  double volume, reference, slack;
} mac_packing;
mac_packing mac_packing_of(double volume, double radius); /* radius: of the kernel [m] */

/* Do one iteration: change the positions x of the particles in place, each by at most `longest` [m]. g, n_sets, n and x as in
 * mac_grid_build, packing [n_sets], radius of the kernel [m], n_placed solids. *is_done: no density was too large, and nothing was moved.
 * Same bits on any number of threads. Fails only if memory allocation fails. */
PetscErrorCode mac_correction_round(mac_correction *c, const mac_grid *g, int n_sets, const int64_t *n, double *const (*x)[3],
                                    const mac_packing *packing, double radius, double longest, int n_placed, const mac_placed *placed,
                                    bool *is_done);
void           mac_correction_free(mac_correction *c);
#endif
