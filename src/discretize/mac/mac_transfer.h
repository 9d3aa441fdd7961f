/* Particles on the staggered grid: the domain's data, the layout of a step (grid, sorting), particles to grid, grid to particles. */
#ifndef SS_DISCRETIZE_MAC_MAC_TRANSFER_H
#define SS_DISCRETIZE_MAC_MAC_TRANSFER_H
#include "discretize/body/body.h"
#include "discretize/mac/mac_correction.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/particles/particle_bodies.h"

typedef struct mac_domain mac_domain;

/* What a body's particles saw of the grid as the last step ended, for frames. */
typedef struct {
  int64_t n, capacity;
  double *pressure, *density;
  double *move[3]; /* [m] in the last step */
} mac_seen;

struct mac_domain {
  body               base;
  const mac_options *options;
  double             gravity[3];
  mac_state          state;
  int64_t           *n; /* [n_bodies], and */
  double *(*x)[3];      /* positions: what the state shows of the particles */
  particle_bodies    bodies;
  mac_seen          *seen; /* [n_bodies] */
  /* Of the current step. */
  double         dt;
  bool           is_laid_out;
  int64_t        slots_capacity;
  int32_t      **start;          /* [n_bodies][n_blocks + 1]: particles of each block */
  int64_t       *start_capacity; /* [n_bodies] */
  int32_t      **tile_of;        /* [n_bodies][n_blocks]: -1: no particles there */
  int64_t       *tile_of_capacity;
  double        *tiles; /* [number of tiles][MAC_TILE_DOUBLES] */
  int64_t        tiles_capacity;
  mac_correction correction;
  /* Sorting. */
  int64_t   keys_capacity;
  uint64_t *key, *key_scratch;
  int32_t  *order, *order_scratch;
};

/* A tile holds, for each axis, mass and momentum of the faces of a block and one layer around it, [6][6][6][2], then the mass at
 * centres. */
enum { MAC_TILE_DOUBLES = 7 * MAC_TILE };

/* Grid, sorted particles, room for arrays over slots. */
PetscErrorCode mac_layout(mac_domain *d);
/* Faces, centres. */
PetscErrorCode mac_to_grid(mac_domain *d);
/* Room for what particles see, before: */
PetscErrorCode mac_reserve_seen(mac_domain *d);
/* Velocities back, positions on; dt as in begin_step. */
void mac_to_particles(mac_domain *d);
/* Would a particle cross more than cfl cells with the velocities of the grid (or its own)? Then *verdict says so. */
void mac_check_cfl(const mac_domain *d, bool is_own, step_verdict *verdict);
/* Particles that left the box come back: in, round, or not at all. */
PetscErrorCode mac_contain(mac_domain *d, int b);
#endif
