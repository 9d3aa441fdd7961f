/* The particles (material points) of one body as a structure of arrays. Callers: the mpm and mac domains.
 *
 * Sorting permutes the arrays, so indices and addresses change; the identity `id` of a particle does not. Every array has room for
 * PARTICLES_PADDING more entries than `capacity`, so that a whole vector may be read from any particle on. Bodies with a constitutive
 * law have deformation and history; bodies without one (flow materials) have no such arrays. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLES_H
#define SS_DISCRETIZE_PARTICLES_PARTICLES_H
#include "core/error.h"
#include "core/field_table.h"
#include "discretize/body/body.h"
#include "discretize/body/vector_field.h"
#include "discretize/material/material.h"

enum { PARTICLES_PADDING = 8 };

/* Consecutive particles of one cell, at most LANES (mpm_lanes.h), so that one vector contains one number of each. */
typedef struct {
  int32_t first;   /* index of the first particle */
  uint8_t n, cell; /* number of particles; cell in its block of 4x4x4: (4 i + j) 4 + k */
} particle_group;
/* Consecutive particles of one block, at most MATERIAL_BATCH, for one material evaluation. A batch ends where the next one begins. */
typedef struct {
  int32_t particle, group; /* first particle, first group */
} particle_batch;

typedef struct particles {
  int64_t                        n, capacity;
  const material_law            *law;                        /* borrowed; NULL: F, volume, state and shear do not exist */
  int                            n_state;                    /* of the law */
  double                        *x[3], *v[3];                /* m, m/s */
  double                        *C[9];                       /* affine velocity [row][column], 1/s: v(y) = v + C (y - x) */
  double                        *F[9];                       /* elastic deformation gradient */
  double                        *mass, *volume;              /* kg; undeformed m^3 */
  double                        *state[MATERIAL_MAX_STATE];  /* plastic history */
  int64_t                       *id;                         /* persistent, unique over all sets on one grid */
  double                        *scratch;                    /* target of the next permutation of an array */
  double                        *pressure, *shear, *density; /* Pa, Pa, kg/m^3; for frames, allocated by particles_room_for_frames */
  double                        *speed;                      /* m/s, for frames */
  const struct particle_origins *origins;                    /* borrowed; NULL: not stored */
  /* Layout of the sorted particles for vectorised loops; invalid when particles are added or removed. */
  int64_t         n_groups, n_batches, groups_capacity, batches_capacity;
  particle_group *groups;
  particle_batch *batches; /* [n_batches + 1] */
} particles;

PetscErrorCode particles_create(const material_law *law, particles **out);
void           particles_destroy(particles **p);
/* Set the number of particles to n. The first min(old n, n) are unchanged; new ones are zero with F = identity. Invalidates the layout. */
PetscErrorCode particles_resize(particles *p, int64_t n);
/* Reorder: entry i becomes the former entry order[i]. Returns false, without changes, if the order is already right. */
bool particles_permute(particles *p, const int32_t *order);
/* Bytes of state, sorting and layout per particle (not counting arrays for frames). */
double particles_bytes(const particles *p);
/* List all arrays with the state of particles (8-byte entries): writes the addresses of the array pointers, returns their number. */
enum { PARTICLES_MAX_ARRAYS = 27 + MATERIAL_MAX_STATE };
int particles_arrays(particles *p, void **arrays[PARTICLES_MAX_ARRAYS]);

/* Register all state of a particle set under group "bodies/<name>"; the caller sets the group's callbacks. */
PetscErrorCode particles_fields(particles *p, field_table *table, const char *name, void *context, field_group **out);
/* Allocate pressure, shear (with a law), density and speed of all particles, set to zero. */
PetscErrorCode particles_room_for_frames(particles *p);
/* v . v of particle i */
static inline double particles_speed2(const particles *p, int64_t i)
{
  return p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i];
}

/* Returns the smallest identity above all identities of the set, and at least `least`. */
int64_t particles_next_id(const particles *p, int64_t least);

/* The particles that a body is made of; NULL for any other body. */
static inline particles *particles_of(const body *b) { return b->ops->particles ? b->ops->particles(b) : NULL; }

/* Positions of all particles at the start of the run, by identity. They are computed from the job, also in a resumed run. */
typedef struct particle_origins {
  int64_t n;
  double *x; /* [n][3]; owned */
} particle_origins;
/* Store the initial positions of all sets on one grid, before its first step. The sets borrow *out, which must outlive them.
 * Free x with memory_free. */
PetscErrorCode particle_origins_create(int n_sets, particles *const *sets, particle_origins *out);
/* Mass-weighted root mean square over the particles of |v - field| [m/s] (is_velocity) or |x - X - field| [m] at time t, X: the initial
 * position. p must have origins. */
double particle_origins_error(const particles *p, const vector_field *f, double t, bool is_velocity);
#endif
