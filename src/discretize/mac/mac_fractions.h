/* How much of every control volume of the staggered grid is solid, and how much of it is continuum.
 *
 * Control volumes (of centres, faces, edges: cubes of side h) are unions of eight half-cells, cubes of side h/2, so that one
 * fraction per half-cell makes all weights consistent with each other [theory: frictional-monolith, section 3.1; Takahashi and
 * Batty 2021, sec. 3.2].
 *
 * solids     by the exact rule on the half-cell's eight corners; about edges of a solid on those of its parts, halved twice. Where
 *              solids overlap, so that their shares add up to more than one, all are scaled to one in sum. Shares of faces below
 *              0.01 of fluid count as solid altogether.
 * continuum  union of spheres around particles, unless it has ghosts; share by the distance at the half-cell's centre. A cell that holds particles, as do
 *              the 26 around it, is full. Inside a solid the value is that of the mirror image outside, so that the surface meets
 *              solids at right angles and is not counted where it touches them.
 * box        beyond walls of the box everything is mirrored: W_S and W_L of faces on walls are those of their inner halves. No flux
 * goes
 *              through them: their W_F is 0, whatever is there. Beyond open sides there is air: W_L is 0 there, W_S mirrored.
 * area       W_F, W_S of faces are shares of their areas [Ng, Min and Gibou 2009].
 * ghosts     (for liquids) W_L of cells is 1 where the centre is in the liquid, else 0, and W_L of a face between a cell in and one
 *              out of it is the distance of the surface from the centre inside, over h [Gibou et al. 2002]. The surface is where
 *              what grains weigh under the hat kernel, over its share outside of solids, is half of the density at rest: of a
 *              level surface the distance follows from that exactly, however grains lie below it. Spheres would have it too
 *              high by their radius less the depth of the outermost grains, and rough by as much as these differ. */
#ifndef SS_DISCRETIZE_MAC_MAC_FRACTIONS_H
#define SS_DISCRETIZE_MAC_MAC_FRACTIONS_H
#include "discretize/mac/mac_bins.h"
#include "discretize/mac/mac_solid.h"

enum { MAC_HALVES = 8 }; /* half-cell (di,dj,dk) of a cell is number 4 di + 2 dj + dk */

/* What one solid takes of the cells of one block. */
typedef struct {
  int32_t solid;
  double  center[MAC_BLOCK]; /* signed distance at centres; INFINITY where it is surely far outside */
  double  half[MAC_BLOCK][MAC_HALVES];
  double  cell[MAC_BLOCK], face[3][MAC_BLOCK]; /* W_S of centres and lower faces */
  double  area[3][MAC_BLOCK];                  /* of lower faces; mac_fraction_options.is_area */
} mac_share;

typedef struct {
  double *half;           /* [n_slots][8] W_L of half-cells */
  double *center;         /* [n_slots] distance to the continuum's surface at centres, has_ghosts alone */
  double *center_open;    /* [n_slots] share of the hat kernel about a centre that is in no solid, < 0: the centre is in one; likewise */
  double *cell_liquid, *face_liquid[3], *edge_liquid[3]; /* [n_slots] W_L */
  double *cell_fluid, *face_fluid[3];                    /* [n_slots] W_F = 1 - sum of W_S; faces on walls of the box: 0 */
  int64_t    n_shares;
  int32_t   *share_start; /* [n_blocks + 1] */
  mac_share *share;       /* [n_shares] by block, then by solid */
  mac_placed *placed;     /* [n_solids] */
  int8_t     *block_fill; /* [n_blocks] all half-cells within the box full 1, empty 0, neither -1 */
  uint64_t   *occupied;   /* [n_blocks] a bit for each cell that holds particles */
  int64_t     capacity[23], n_solids;
} mac_weights;

typedef struct {
  double radius;              /* of particles, in h */
  bool   extends_into_solids; /* without: the continuum ends where its particles end */
  bool   is_area, has_ghosts;
  bool   is_bare;             /* has_ghosts, and nobody asks for half-cells and edges of the continuum */
  bool   is_voxel;            /* W_L of a cell is 1 from one half on, else 0, and of faces and edges the largest around them */
  double least_theta;         /* has_ghosts: least W_L of a face at the surface */
  const double *rho, *rest;   /* has_ghosts: [n_slots] density under the hat kernel, at rest */
} mac_fraction_options;

/* Borrows the solids until the next call. *w may be empty or that of an earlier step. Same bits on any number of threads. */
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

/* phi at corners 4 i + 2 j + k of the cube. Exact for functions linear on the tetrahedra of both ways to cut a cube into five, of
 * which it is the mean: the result does not change when the cube is turned or mirrored (but for rounding). Affine functions: exact.
 * What lies in the surface altogether counts by the sign of the sum of phi, and where that is 0 as half: -phi has the rest. */
double mac_cube_fraction(const double phi[8]);
/* phi at corners 2 i + j of the square: the mean of both ways to cut it into two triangles. */
double mac_square_fraction(const double phi[4]);
#endif
