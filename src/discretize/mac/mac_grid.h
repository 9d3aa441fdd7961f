/* The staggered grid: cubic cells in a box, stored in blocks of 4x4x4 cells. A block exists if there are particles in it or near it.
 *
 * Cell (i,j,k) of 0 ... n-1 has its centre at min + h (i+1/2, j+1/2, k+1/2). All samples are stored per cell, at slot = 64 block + local: its
 * centre, its LOWER faces (axis 0,1,2) and its LOWER edges. The edge of axis o lies along o at the lower corner of the other two axes; the stress
 * component of those two axes is located there. Arrays are double[n_slots] per kind of sample. Cells i = n exist for the upper faces of the box.
 * Outside the box there is a solid wall, an open side or, per axis, the periodic continuation: then indices wrap, and cells i = n are cells 0.
 *
 * Blocks are numbered in ascending lexicographic order, and so are cells within a block. Of two cells that differ along one axis
 * only, the lower has the lower slot. All numberings follow this order. */
#ifndef SS_DISCRETIZE_MAC_MAC_GRID_H
#define SS_DISCRETIZE_MAC_MAC_GRID_H
#include "core/error.h"
#include <stdbool.h>

enum { MAC_SIDE = 4, MAC_BLOCK = 64, MAC_TILE_SIDE = MAC_SIDE + 2, MAC_TILE = 216, MAC_REACH = 3 };

#define MAC_DENSITY_THRESHOLD 0.4 /* cells and edges with a smaller fraction of the material's density have no pressure and no stress */
#define MAC_CELL_FILL 0.01        /* nor have those with a smaller W_L (mac_fractions.h), because they are ill-conditioned */

/* rough: wall with the friction of mac_options.wall_friction; smooth: no friction; open: material leaves, zero pressure beyond */
typedef enum { MAC_WALL_ROUGH, MAC_WALL_SMOOTH, MAC_WALL_OPEN, MAC_WALL_PERIODIC } mac_wall;

typedef struct {
  double   h, min[3];         /* side of a cell and lower corner of the box [m] */
  int32_t  n[3];              /* cells in the box along each axis */
  mac_wall wall[3][2];        /* axis, lower/upper side; both sides of an axis are periodic or none */
  int32_t  n_table[3];        /* size of block_of; covers the layer of cells i = n, except on periodic axes */
  int32_t *block_of;          /* [n_table[0] n_table[1] n_table[2]] number of a block, -1: it does not exist */
  int64_t  n_blocks, n_slots; /* n_slots = 64 n_blocks */
  int32_t (*block)[3];        /* [n_blocks] lowest cell over 4, ascending lexicographically */
  uint64_t *occupied;         /* [table][threads]: scratch of mac_grid_build */
  int64_t   blocks_capacity, occupied_capacity;
} mac_grid;

/* Create a box of n[0] x n[1] x n[2] cells of side h > 0 without blocks. PETSC_ERR_USER_INPUT if n < 1, if the table would have 2^31
 * blocks, or if only one side of an axis is periodic. *g is empty after a failure. */
PetscErrorCode mac_grid_create(double h, const double min[3], const int32_t n[3], const mac_wall wall[3][2], mac_grid *g);
void           mac_grid_destroy(mac_grid *g); /* accepts an empty one */

/* Create blocks for all cells that have a particle within `reach` cells (>= MAC_REACH) along every axis. Set s has n[s] particles at
 * x[s][axis] [m]. Positions must be finite; a position outside the box counts for the nearest cell, or on a periodic axis for the cell of
 * its image. Blocks are the same on any number of threads. Arrays over slots are invalid after this call. */
PetscErrorCode mac_grid_build(mac_grid *g, int n_sets, const int64_t *n, const double *const (*x)[3], int reach);

static inline bool mac_grid_is_periodic(const mac_grid *g, int axis) { return g->wall[axis][0] == MAC_WALL_PERIODIC; }

/* Returns the index along an axis of the cell that contains coordinate x, limited to the box. */
static inline int32_t mac_grid_index(const mac_grid *g, int axis, double x)
{
  double        f = (x - g->min[axis]) / g->h;
  const int32_t n = g->n[axis];
  if (mac_grid_is_periodic(g, axis)) f -= n * __builtin_floor(f / n);
  return f >= n ? n - 1 : f > 0.0 ? (int32_t)f : 0;
}

/* Slot of a cell; -1: not stored, or outside the box and its layer i = n. Wraps where periodic (by at most one period). */
static inline int64_t mac_grid_slot(const mac_grid *g, int32_t i, int32_t j, int32_t k)
{
  int32_t at[3] = {i, j, k};
  for (int a = 0; a < 3; ++a) {
    if (mac_grid_is_periodic(g, a)) at[a] += at[a] < 0 ? g->n[a] : at[a] >= g->n[a] ? -g->n[a] : 0;
    if (at[a] < 0 || at[a] >= MAC_SIDE * g->n_table[a]) return -1;
  }
  const int32_t b = g->block_of[((int64_t)(at[0] >> 2) * g->n_table[1] + (at[1] >> 2)) * g->n_table[2] + (at[2] >> 2)];
  return b < 0 ? -1 : (int64_t)b * MAC_BLOCK + ((at[0] & 3) << 4) + ((at[1] & 3) << 2) + (at[2] & 3);
}

/* ijk: the cell at a slot. */
static inline void mac_grid_cell(const mac_grid *g, int64_t slot, int32_t ijk[3])
{
  const int32_t *b = g->block[slot / MAC_BLOCK];
  const int      l = (int)(slot % MAC_BLOCK);
  ijk[0] = MAC_SIDE * b[0] + (l >> 4), ijk[1] = MAC_SIDE * b[1] + ((l >> 2) & 3), ijk[2] = MAC_SIDE * b[2] + (l & 3);
}

/* Returns true if a cell is in the box. Blocks also contain cells outside it: the layer i = n, and others if n is no multiple of 4. */
static inline bool mac_grid_is_inside(const mac_grid *g, const int32_t ijk[3])
{
  return ijk[0] < g->n[0] && ijk[1] < g->n[1] && ijk[2] < g->n[2];
}

/* Returns true if the lower face of a cell is in the box or on one of its sides. */
static inline bool mac_grid_has_face(const mac_grid *g, int axis, int64_t slot)
{
  int32_t ijk[3];
  bool    has = true;
  mac_grid_cell(g, slot, ijk);
  for (int a = 0; a < 3; ++a) has = has && ijk[a] < g->n[a] + (a == axis && !mac_grid_is_periodic(g, a));
  return has;
}

/* Returns true if the lower face of a cell is on a wall of the box, through which there is no flux. */
static inline bool mac_grid_is_closed(const mac_grid *g, int axis, int64_t slot)
{
  int32_t ijk[3];
  mac_grid_cell(g, slot, ijk);
  const mac_wall *wall = g->wall[axis];
  return (ijk[axis] == 0 && wall[0] <= MAC_WALL_SMOOTH) || (ijk[axis] == g->n[axis] && wall[1] <= MAC_WALL_SMOOTH);
}

/* slot [6][6][6]: slots of the cells of a block and of one layer of cells around it, from (-1,-1,-1), as returned by mac_grid_slot. On a
 * periodic axis cells outside the box get the slots of their images. */
void             mac_grid_tile(const mac_grid *g, int64_t block, int64_t slot[MAC_TILE]);
static const int mac_tile_stride[3] = {36, 6, 1}; /* strides along the axes in a tile */
/* Position in its tile of cell `local` (0 ... 63) of a block. */
static inline int mac_grid_tile_place(int local) { return ((local >> 4) + 1) * 36 + (((local >> 2) & 3) + 1) * 6 + (local & 3) + 1; }

/* ---- state --------------------------------------------------------------------------------------------------------- */

/* Data on the staggered grid during a step, between the transfers from and to the particles. Arrays over slots of the grid. The
 * owner (mac_domain) allocates and fills them; the operators of mac_system read them. */
enum { MAC_MU_I_CONSTANTS = 4 }; /* friction_2 - friction, I_0, grain diameter [m], grain density [kg/m^3]; as in material/flow.h */

typedef struct mac_state {
  mac_grid grid;
  /* n[s] particles of set s at x[s][axis], borrowed */
  int            n_sets;
  const int64_t *n;
  const double *const (*x)[3];
  /* lower faces */
  double *mass[3]; /* kg */
  double *u[3];    /* m/s: u* before, u^{n+1} after the solution; faces without mass: 0, then extrapolated */
  /* cells: rho is the mass weighted with the hat kernel over h^3; the others are means of material constants with these weights; 0
   * without mass */
  double *rho;                      /* kg/m^3 */
  double *rest_density;             /* kg/m^3 */
  double *friction;                 /* M = |s|_F / (sqrt(2) p) at yield; 0: a liquid */
  double *cohesion;                 /* Pa: p >= -cohesion */
  double *mu_i[MAC_MU_I_CONSTANTS]; /* NULL: M does not depend on the rate */
  double *pressure;                 /* Pa, for frames: 0 until the formulation writes the solution */
} mac_state;
#endif
