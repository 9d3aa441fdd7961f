/* Material points: structure of arrays, one set per body of particles. Callers: the mpm and mac domains.
 *
 * Sorting permutes the arrays, so addresses change; a particle keeps its id. Every array has room for PARTICLES_PADDING more entries
 * than `capacity`, so that whole vectors may be read from any particle. Sets with a constitutive law have deformation and history;
 * sets without one (flow materials) have no such arrays. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLES_H
#define SS_DISCRETIZE_PARTICLES_PARTICLES_H
#include "core/error.h"
#include "core/field_table.h"
#include "discretize/body/body.h"
#include "discretize/body/vector_field.h"
#include "discretize/material/material.h"

enum { PARTICLES_PADDING = 8 };

/* Up to LANES particles of one cell: the content of one vector. */
typedef struct {
  int32_t first;
  uint8_t n, cell; /* cell in block: (4 i + j) 4 + k */
} particle_group;
/* Up to MATERIAL_BATCH particles of one block: the unit of a material evaluation. Ends where the next one begins. */
typedef struct {
  int32_t particle, group;
} particle_batch;

typedef struct particles {
  int64_t                        n, capacity;
  const material_law            *law;                        /* borrowed; NULL: neither F, volume, state nor shear */
  int                            n_state;                    /* of the law */
  double                        *x[3], *v[3];                /* m, m/s */
  double                        *C[9];                       /* affine velocity [row][column], 1/s: v(y) = v + C (y - x) */
  double                        *F[9];                       /* elastic deformation gradient */
  double                        *mass, *volume;              /* kg; undeformed m^3 */
  double                        *state[MATERIAL_MAX_STATE];  /* plastic history */
  int64_t                       *id;                         /* persistent, unique over all sets on one grid */
  double                        *scratch;                    /* the array that takes the next permuted component */
  double                        *pressure, *shear, *density; /* for frames: allocated on first use by particles_room_for_frames */
  double                        *speed;
  const struct particle_origins *origins; /* borrowed; NULL: not stored */
  /* Layout of the sorted particles for vectorised loops; invalid when particles are added or removed. */
  int64_t         n_groups, n_batches, groups_capacity, batches_capacity;
  particle_group *groups;
  particle_batch *batches; /* [n_batches + 1] */
} particles;

PetscErrorCode particles_create(const material_law *law, particles **out);
void           particles_destroy(particles **p);
/* Keeps the first min(old, new) particles; new ones are zero with F = identity. Invalidates the layout. */
PetscErrorCode particles_resize(particles *p, int64_t n);
/* Reorder: entry i becomes the former entry order[i]. Returns false, without changes, if the order is already right. */
bool particles_permute(particles *p, const int32_t *order);
/* Bytes of state, sorting and layout per particle (not counting arrays for frames). */
double particles_bytes(const particles *p);
/* All arrays of 8-byte entries that make up a particle: writes the addresses of the pointers, returns how many. */
enum { PARTICLES_MAX_ARRAYS = 27 + MATERIAL_MAX_STATE };
int particles_arrays(particles *p, void **arrays[PARTICLES_MAX_ARRAYS]);

/* Register all state of a particle set under group "bodies/<name>"; the caller sets the group's callbacks. */
PetscErrorCode particles_fields(particles *p, field_table *table, const char *name, void *context, field_group **out);
/* Room for pressure, shear (with a law), density and speed of all particles: zero. */
PetscErrorCode particles_room_for_frames(particles *p);
/* v . v of particle i */
static inline double particles_speed2(const particles *p, int64_t i)
{
  return p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i];
}

/* Above all identities of the set, and at least `least`. */
int64_t particles_next_id(const particles *p, int64_t least);

/* The particles that a body is made of; NULL for any other body. */
static inline particles *particles_of(const body *b) { return b->ops->particles ? b->ops->particles(b) : NULL; }

/* Where all particles were when the run began, by identity: from the job, so that a resumed run has the same. */
typedef struct particle_origins {
  int64_t n;
  double *x; /* [n][3]; owned */
} particle_origins;
/* Store the initial positions of all sets on one grid, before its first step. The sets borrow *out, which must outlive them.
 * Free x with memory_free. */
PetscErrorCode particle_origins_create(int n_sets, particles *const *sets, particle_origins *out);
/* Root of the mean square, by mass, of |v - field| (is_velocity) or |x - X - field| over particles p, which have origins. */
double particle_origins_error(const particles *p, const vector_field *f, double t, bool is_velocity);
#endif
