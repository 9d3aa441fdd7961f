/* Fractions of solid and of continuum in every control volume of the staggered grid.
 *
 * Control volumes (of centres, faces, edges: cubes of side h) are unions of eight half-cells, cubes of side h/2. Hence one
 * fraction per half-cell makes all weights consistent [TakahashiBatty2021, sec. 3.2]. Notation: W_S share of solid, W_F = 1 - W_S
 * share of fluid, W_L share of continuum.
 *
 * solids: from the distances at the half-cell's eight corners. Near edges of a solid the half-cell is subdivided twice. Where
 * solids overlap, so that their shares add up to more than one, all are scaled to a sum of one. Faces with a share of fluid below
 * 0.01 count as solid.
 * continuum: union of spheres around the particles, unless ghosts are used. The share follows from the distance at the
 * half-cell's centre. A cell is full if it and the 26 cells around contain particles. Inside a solid, the value is that of the
 * mirror image outside, so that the surface is at a right angle to solids and is not counted where it touches them.
 * box: beyond walls of the box everything is mirrored: W_S and W_L of faces on walls are those of their inner halves. There is no
 * flux through walls: W_F is 0 there. Beyond open sides there is air: W_L is 0 there, W_S is mirrored.
 * area: W_F, W_S of faces are shares of their areas [Ng, Min and Gibou 2009].
 * ghosts (for liquids): W_L of cells is 1 if the centre is in the liquid, else 0. W_L of a face between a cell in the liquid and
 * one outside is the distance of the surface from the centre inside, over h [Gibou et al. 2002]. The surface is where the density
 * of particles under the hat kernel, over the share of the kernel outside of solids, is half of the rest density. For a level
 * surface the distance follows exactly from this, independent of the positions of the particles below it. A surface from spheres
 * would be too high by their radius minus the depth of the outermost particles, and as rough as these depths differ. */
#ifndef SS_DISCRETIZE_MAC_MAC_FRACTIONS_H
#define SS_DISCRETIZE_MAC_MAC_FRACTIONS_H
#include "discretize/mac/mac_bins.h"
#include "discretize/mac/mac_solid.h"

enum { MAC_HALVES = 8 }; /* half-cell (di,dj,dk) of a cell is number 4 di + 2 dj + dk */

/* Shares of one solid in the cells of one block. */
typedef struct {
  int32_t solid;
  double  center[MAC_BLOCK]; /* signed distance at centres; INFINITY where it is certainly far outside */
  double  half[MAC_BLOCK][MAC_HALVES];
  double  cell[MAC_BLOCK], face[3][MAC_BLOCK]; /* W_S of centres and lower faces */
  double  area[3][MAC_BLOCK];                  /* of lower faces; with mac_fraction_options.is_area only */
} mac_share;

typedef struct {
  double     *half;        /* [n_slots][8] W_L of half-cells */
  double     *center;      /* [n_slots] distance to the surface of the continuum at centres; has_ghosts only */
  double     *center_open; /* [n_slots] share of the hat kernel about a centre outside solids, < 0: the centre is in a solid;
                             has_ghosts only */
  double     *cell_liquid, *face_liquid[3], *edge_liquid[3]; /* [n_slots] W_L */
  double     *cell_fluid, *face_fluid[3];                    /* [n_slots] W_F = 1 - sum of W_S; faces on walls of the box: 0 */
  int64_t     n_shares;
  int32_t    *share_start; /* [n_blocks + 1] */
  mac_share  *share;       /* [n_shares] by block, then by solid */
  mac_placed *placed;      /* [n_solids] */
  int8_t     *block_fill;  /* [n_blocks] all half-cells within the box full 1, empty 0, neither -1 */
  uint64_t   *occupied;    /* [n_blocks] a bit for each cell that contains particles */
  int64_t     n_solids;
  int64_t     slots_capacity, blocks_capacity, placed_capacity, starts_capacity, shares_capacity, ghosts_capacity;
} mac_weights;

typedef struct {
  double        radius; /* of particles, in h */
  bool          is_area, has_ghosts;
  bool          is_bare;     /* has_ghosts, and half-cells and edges of the continuum are not needed */
  bool          is_voxel;    /* W_L of a cell is rounded to 0 or 1, and W_L of faces and edges is the largest of the cells
                                 around */
  double        least_theta; /* has_ghosts: smallest W_L of a face at the surface */
  const double *rho, *rest;  /* has_ghosts: [n_slots] density under the hat kernel, at rest */
} mac_fraction_options;

/* Compute all weights. Borrows the solids until the next call. *w may be empty or from an earlier step. Same bits on any number
 * of threads. */
PetscErrorCode mac_weights_compute(mac_weights *w, const mac_grid *g, const mac_bins *particles, int n_solids, const mac_solid *solids,
                                   const mac_fraction_options *o);
void           mac_weights_destroy(mac_weights *w);

/* The share of a solid in a block, or NULL. */
static inline const mac_share *mac_weights_share(const mac_weights *w, int64_t block, int32_t solid)
{
  for (int32_t q = w->share_start[block]; q < w->share_start[block + 1]; ++q)
    if (w->share[q].solid == solid) return w->share + q;
  return NULL;
}

/* Share of a cube or a square where a function is negative, from its values at the corners. */

/* phi at corners 4 i + 2 j + k of the cube. The result is the mean over both subdivisions of a cube into five tetrahedra; it is
 * exact for functions linear on all these tetrahedra, and does not change (up to rounding) when the cube is rotated or mirrored.
 * Affine functions: exact. A part that lies entirely in the surface (phi = 0) counts by the sign of the sum of phi, or as half if
 * this is 0, so that the shares of phi and -phi add up to one. */
double mac_cube_fraction(const double phi[8]);
/* phi at corners 2 i + j of the square: the mean over both subdivisions into two triangles. */
double mac_square_fraction(const double phi[4]);
#endif
