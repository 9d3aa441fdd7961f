/* What the parts of mac_fractions share. */
#ifndef SS_DISCRETIZE_MAC_MAC_FRACTIONS_INTERNAL_H
#define SS_DISCRETIZE_MAC_MAC_FRACTIONS_INTERNAL_H
#include "discretize/mac/mac_fractions.h"

#define MAC_MIRRORED 1.75 /* [h] so deep in a solid points have an image */

/* A block and one layer around it, mirrored at the sides of the box: where values of each cell come from. */
typedef struct {
  int64_t slot[MAC_TILE]; /* -1: not stored */
  uint8_t flip[MAC_TILE]; /* exclusive-or of the half-cell's number */
  bool    is_air[MAC_TILE]; /* beyond an open side */
} mac_mirror_tile;
void mac_mirror_tile_load(const mac_grid *g, int64_t block, mac_mirror_tile *t);

PetscErrorCode mac_fractions_of_solids(mac_weights *w, const mac_grid *g, int n_solids, const mac_solid *solids, bool is_area);
/* Distances at centres, from the density; W_L from them. */
PetscErrorCode mac_fractions_ghosts_reserve(mac_weights *w, int64_t n);
void           mac_fractions_ghosts(mac_weights *w, const mac_grid *g, const mac_fraction_options *o);
/* The image of a point in a solid on the other side of the solid's surface; false: too deep to matter, or beyond an open side.
 * is_center: x is that of cell l of the block. */
bool           mac_fractions_image(const mac_weights *w, const mac_grid *g, int64_t block, int l, bool is_center, const double x[3],
                                   double image[3]);
void           mac_fractions_of_continuum(mac_weights *w, const mac_grid *g, const mac_bins *particles, const mac_fraction_options *o);

static inline void mac_fractions_center(const mac_grid *g, const int32_t ijk[3], double x[3])
{
  for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * (ijk[a] + 0.5);
}
#endif
