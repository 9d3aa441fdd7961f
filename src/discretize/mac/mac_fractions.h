/* Fractions of solid and of continuum in every control volume of the staggered grid.
 *
 * The control volumes of centres, faces and edges are cubes of side h. Each is a union of eight half-cells, cubes of side h/2. Therefore
 * one fraction per half-cell makes all weights consistent [TakahashiBatty2021, sec. 3.2]. Notation: W_S fraction of solid, W_F = 1 - W_S
 * fraction of fluid (space for the continuum), W_L fraction of continuum.
 *
 * solids: W_S follows from the signed distances at the eight corners of a half-cell. Near edges of a solid the half-cell is subdivided
 * twice. If solids overlap, so that their fractions add up to more than one, they are scaled to a sum of one. Faces with W_F below 0.01
 * count as solid.
 * continuum: the union of spheres around the particles, unless ghosts are used. W_L follows from the distance at the centre of a
 * half-cell. A cell is full if it and the 26 cells around it contain particles. Inside a solid, the value is that of the mirror image
 * outside. Therefore the surface of the continuum is perpendicular to solids, and the area of contact with solids is no free surface.
 * box: at walls of the box all values are mirrored: W_S and W_L of faces on walls are those of their inner halves. There is no flux
 * through walls: their W_F is 0. Outside open sides W_L is 0 and W_S is mirrored.
 * area (option): W_F and W_S of faces are fractions of their areas [Ng, Min and Gibou 2009].
 * ghosts (option, for liquids): W_L of a cell is 1 if its centre is in the liquid, else 0. W_L of a face between a cell in the liquid and
 * one outside is the distance of the surface from the centre inside, over h [Gibou et al. 2002]. On the surface the density of particles
 * under the hat kernel, over the fraction of the kernel outside of solids, is half of the rest density. For a horizontal surface this
 * gives the exact distance, for any positions of the particles below it. A surface from spheres would be too high by their radius minus
 * the depth of the outermost particles, and uneven because these depths differ. */
#ifndef SS_DISCRETIZE_MAC_MAC_FRACTIONS_H
#define SS_DISCRETIZE_MAC_MAC_FRACTIONS_H
#include "discretize/mac/mac_bins.h"
#include "discretize/mac/mac_solid.h"

enum { MAC_HALVES = 8 }; /* half-cell (di,dj,dk) of a cell is number 4 di + 2 dj + dk */

/* Fractions of one solid in the cells of one block. */
typedef struct {
  int32_t solid;                               /* index in mac_weights.placed */
  double  center[MAC_BLOCK];                   /* signed distance at centres [m]; INFINITY if the solid is far away */
  double  half[MAC_BLOCK][MAC_HALVES];         /* W_S of half-cells */
  double  cell[MAC_BLOCK], face[3][MAC_BLOCK]; /* W_S of centres and lower faces */
  double  area[3][MAC_BLOCK];                  /* area fractions of lower faces; with mac_fraction_options.is_area only */
} mac_share;

/* All weights of a step. */
typedef struct {
  double     *half;        /* [n_slots][8] W_L of half-cells */
  double     *center;      /* [n_slots] with has_ghosts: distance of centres from the surface of the continuum */
  double     *center_open; /* [n_slots] with has_ghosts: fraction of the hat kernel about a centre that is outside solids; < 0: the
                             centre is in a solid */
  double     *cell_liquid, *face_liquid[3], *edge_liquid[3]; /* [n_slots] W_L */
  double     *cell_fluid, *face_fluid[3];                    /* [n_slots] W_F = 1 - sum of W_S; faces on walls of the box: 0 */
  int64_t     n_shares;
  int32_t    *share_start; /* [n_blocks + 1] range of each block in `share` */
  mac_share  *share;       /* [n_shares] by block, then by solid */
  mac_placed *placed;      /* [n_solids] */
  int8_t     *block_fill;  /* [n_blocks] half-cells of the block within the box: 1: all full, 0: all empty, -1: mixed */
  uint64_t   *occupied;    /* [n_blocks] bit l is set if cell l of the block contains particles */
  int64_t     n_solids;
  int64_t     slots_capacity, blocks_capacity, placed_capacity, starts_capacity, shares_capacity, ghosts_capacity;
} mac_weights;

typedef struct {
  double        radius; /* of the spheres around particles, in units of h */
  bool          is_area, has_ghosts;
  bool          is_bare;     /* with has_ghosts: do not compute half-cells and edges of the continuum */
  bool          is_voxel;    /* W_L of a cell is rounded to 0 or 1, and W_L of faces and edges is the largest of the cells
                                 around */
  double        least_theta; /* has_ghosts: smallest W_L of a face at the surface */
  const double *rho, *rest;  /* has_ghosts: [n_slots] density under the hat kernel, and its value at rest, in the same unit */
} mac_fraction_options;

/* Compute all weights. The solids are borrowed until the next call. *w is zeroed or from an earlier step, whose memory is reused. Same bits
 * on any number of threads. Fails only if memory allocation fails. */
PetscErrorCode mac_weights_compute(mac_weights *w, const mac_grid *g, const mac_bins *particles, int n_solids, const mac_solid *solids,
                                   const mac_fraction_options *o);
void           mac_weights_destroy(mac_weights *w);

/* Returns the fractions of a solid in a block, or NULL if the solid is not in it. */
static inline const mac_share *mac_weights_share(const mac_weights *w, int64_t block, int32_t solid)
{
  for (int32_t q = w->share_start[block]; q < w->share_start[block + 1]; ++q)
    if (w->share[q].solid == solid) return w->share + q;
  return NULL;
}

/* Fraction of a cube or a square where a function phi is negative, from its values at the corners. */

/* phi at corners 4 i + 2 j + k of a cube. The result is the mean over both subdivisions of the cube into five tetrahedra. It is exact for
 * affine functions, and does not change (up to rounding) if the cube is rotated or mirrored. A tetrahedron with phi = 0 at all corners
 * counts by the sign of the sum of phi of the cube, or as half if this is 0, so that the fractions of phi and -phi add up to one. */
double mac_cube_fraction(const double phi[8]);
/* phi at corners 2 i + j of a square: the mean over both subdivisions into two triangles. */
double mac_square_fraction(const double phi[4]);
#endif
