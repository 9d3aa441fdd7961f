/* Inside of a mac domain, shared by mac_domain.c (making, sums), mac_layout.c (grid, sorting), mac_to_grid.c, mac_to_particles.c,
 * mac_settle.c (push-out, position correction) and mac_step.c (the functions behind its body_ops). */
#ifndef SS_DISCRETIZE_MAC_MAC_DOMAIN_IMPL_H
#define SS_DISCRETIZE_MAC_MAC_DOMAIN_IMPL_H
#include <string.h>
#include "discretize/mac/mac_correction.h"
#include "discretize/mac/mac_domain.h"
#include "discretize/particles/particle_bodies.h"

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

extern const body_ops             mac_domain_ops, mac_facade_ops;
extern const particle_carrier_ops mac_carrier_ops;

/* Grid, sorted particles, room for arrays over slots. */
PetscErrorCode mac_layout(mac_domain *d);
PetscErrorCode mac_sort_reserve(mac_domain *d, int64_t n);
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

PetscErrorCode mac_add_totals(const mac_domain *d, int b, double *sum); /* sum [PARTICLE_N_SUMS] += */

/* Block at offset o in -1 ... 1 per axis from block b, -1: none; wraps where periodic. */
static inline int32_t mac_block_beside(const mac_grid *g, const int32_t b[3], const int o[3])
{
  int64_t at = 0;
  for (int a = 0; a < 3; ++a) {
    int32_t c = b[a] + o[a];
    if (mac_grid_is_periodic(g, a)) c += c < 0 ? g->n_table[a] : c >= g->n_table[a] ? -g->n_table[a] : 0;
    if (c < 0 || c >= g->n_table[a]) return -1;
    at = at * g->n_table[a] + c;
  }
  return g->block_of[at];
}
#endif
