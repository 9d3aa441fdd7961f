/* Material points: structure of arrays, one set per MPM body.
 *
 * Arrays are permuted in place of each other when particles are sorted, so addresses change; a particle keeps its id.
 * Every array has room for LANES more entries than `capacity`, so that whole vectors may be read from any particle.    */
#ifndef SS_DISCRETIZE_MPM_PARTICLES_H
#define SS_DISCRETIZE_MPM_PARTICLES_H
#include "core/error.h"
#include "core/field_table.h"
#include "discretize/material/material.h"

/* Up to LANES particles of one cell: what one vector holds. */
typedef struct {
  int32_t first;
  uint8_t n, cell; /* cell in block: (4 i + j) 4 + k */
} mpm_group;
/* Up to MATERIAL_BATCH particles of one block: what a material law sees at once. Ends where the next one begins. */
typedef struct {
  int32_t particle, group;
} mpm_batch;

typedef struct {
  int64_t  n, capacity;
  int      n_state;
  double  *x[3], *v[3];                 /* m, m/s */
  double  *C[9];                        /* affine velocity [row][column], 1/s: v(y) = v + C (y - x) */
  double  *F[9];                        /* elastic deformation gradient */
  double  *mass, *volume;               /* kg; undeformed m^3 */
  double  *state[MATERIAL_MAX_STATE];   /* plastic history */
  int64_t *id;                          /* persistent, unique over the domain */
  double  *scratch;                     /* the array that takes the next permuted component */
  double  *pressure, *shear, *density;  /* for frames: allocated when first wanted */
  double  *speed;
  /* Layout of the sorted particles, rebuilt by mpm_grid_build. */
  int64_t    n_groups, n_batches, groups_capacity, batches_capacity;
  mpm_group *groups;
  mpm_batch *batches; /* [n_batches + 1] */
} mpm_particles;

/* Ask for particles to come, in one array: many short streams at once are more than the hardware looks ahead for. */
enum { MPM_LOOK_AHEAD = 64 }; /* particles; 24 ... 96 measure the same, Zen 5, 2026-11 */
#define MPM_PREFETCH(array, i) __builtin_prefetch((array) + (i) + MPM_LOOK_AHEAD)

PetscErrorCode mpm_particles_create(int n_state, mpm_particles **out);
void           mpm_particles_destroy(mpm_particles **p);
/* Keeps the first min(old, new) particles; new ones are zero with F = identity. Invalidates the layout. */
PetscErrorCode mpm_particles_resize(mpm_particles *p, int64_t n);
/* Reorder: entry i becomes what entry order[i] was. Does nothing (and says so) if the order is already right. */
bool mpm_particles_permute(mpm_particles *p, const int32_t *order);
/* Bytes of state, sorting and layout per particle (not counting arrays for frames). */
double mpm_particles_bytes(const mpm_particles *p);
/* All arrays of 8-byte entries that make up a particle: writes the addresses of the pointers, returns how many. */
enum { MPM_PARTICLES_MAX_ARRAYS = 27 + MATERIAL_MAX_STATE };
int mpm_particles_arrays(mpm_particles *p, void **arrays[MPM_PARTICLES_MAX_ARRAYS]);

/* Register all state of a particle set under group "bodies/<name>"; the caller sets the group's callbacks. */
PetscErrorCode mpm_particles_fields(mpm_particles *p, const material_law *law, field_table *table, const char *name,
                                    void *context, field_group **out);
/* Recompute pressure, shear, density and speed for frames. `C` of the caller's transfer is not touched. */
PetscErrorCode mpm_particles_derive(mpm_particles *p, const material *m);
#endif
