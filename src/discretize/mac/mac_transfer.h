/* Particles on the staggered grid: the data of a mac domain, and the stages of its step: layout (grid, sorting), particles to
 * grid, grid to particles. Used by mac_domain.c and mac_body.c. */
#ifndef SS_DISCRETIZE_MAC_MAC_TRANSFER_H
#define SS_DISCRETIZE_MAC_MAC_TRANSFER_H
#include "discretize/body/body.h"
#include "discretize/mac/mac_correction.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/particles/particle_bodies.h"

typedef struct mac_domain mac_domain;

/* Grid values at the n particles of one body at the end of the last step, for frames. */
typedef struct {
  int64_t n, capacity;
  double *pressure, *density; /* [n] Pa, kg/m^3 */
  double *move[3];            /* [n] displacement in the last step [m] */
} mac_samples;

struct mac_domain {
  body               base;
  const mac_options *options;
  double             gravity[3];
  mac_state          state;
  int64_t           *n; /* [n_bodies] numbers of particles, borrowed by `state` */
  double *(*x)[3];      /* [n_bodies] positions, borrowed by `state` */
  particle_bodies bodies;
  mac_samples    *seen; /* [n_bodies] values for frames */
  /* Data of the current step. */
  double         dt;
  bool           is_laid_out;
  int64_t        slots_capacity;
  int32_t      **start;          /* [n_bodies][n_blocks + 1] first particle of each block */
  int64_t       *start_capacity; /* [n_bodies] */
  int32_t      **tile_of;        /* [n_bodies][n_blocks] tile of the block; -1: no particles */
  int64_t       *tile_of_capacity;
  double        *tiles; /* [number of tiles][MAC_TILE_DOUBLES] */
  int64_t        tiles_capacity;
  mac_correction correction;
  /* Scratch for sorting. */
  int64_t   keys_capacity;
  uint64_t *key, *key_scratch;
  int32_t  *order, *order_scratch;
};

/* Size of a tile. It contains, for each axis, mass and momentum of the faces of a block and of one layer around it, [6][6][6][2]; then the
 * mass at cell centres, [6][6][6]. */
enum { MAC_TILE_DOUBLES = 7 * MAC_TILE };

/* Build the grid around the particles, sort them, and allocate the arrays over slots. */
PetscErrorCode mac_layout(mac_domain *d);
/* Transfer mass, momentum and density from particles to faces and cell centres. */
PetscErrorCode mac_to_grid(mac_domain *d);
/* Allocate d->seen; call before mac_to_particles. */
PetscErrorCode mac_reserve_samples(mac_domain *d);
/* Transfer velocities to the particles and move the particles over the time step d->dt. */
void mac_to_particles(mac_domain *d);
/* Set *status to STEP_CFL_VIOLATED if a particle would cross more than options->cfl cells in the step, with the velocity of the grid or
 * (is_own) with its own velocity. */
void mac_check_cfl(const mac_domain *d, bool is_own, step_status *status);
/* Treat particles of body b outside the box: at walls move them inside, at periodic sides move them by one period, at open sides remove them. */
PetscErrorCode mac_return_to_box(mac_domain *d, int b);
#endif
