/* Sources: particles that are added repeatedly during a run. Caller: particle_bodies.c. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_SOURCE_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_SOURCE_H
#include "geometry/level_set/level_set.h"
#include "discretize/particles/particles.h"

/* Particles to be added to a body. All arrays are borrowed. */
typedef struct {
  int64_t        n;
  const double  *x;      /* [n][3] m */
  const double  *v;      /* [n][3] m/s; NULL: velocity + angular_velocity x (x - centre of mass) */
  const double  *volume; /* [n] m^3; NULL: volume_each */
  const int64_t *id;     /* [n] identities, >= 0, unique over all sets on one grid; NULL: the next free ones */
  double         volume_each, velocity[3], angular_velocity[3];
} particle_seed;

/* Append the particles to set `p` of body `name`, undeformed, without history, with this density [kg/m^3]. with_affine: a rotation
 * (angular_velocity) also sets their affine velocity. *next_id: next free identity of the grid; it is increased. */
PetscErrorCode particle_seed_add(const particle_seed *seed, const char *name, double density, bool with_affine, int64_t *next_id,
                                 particles *p);

/* Release times [s]: start, start + every, ..., before end. */
typedef struct {
  double start, end, every;
} particle_release_schedule;

typedef struct particle_source particle_source;
struct particle_source {
  particle_release_schedule schedule;
  particle_seed             seed;  /* its x is owned */
  level_set                *spout; /* owned: the shape that each release fills */
  bool                      has_warned;
};

/* A release is omitted if more than this fraction of its particles would overlap with existing ones. */
#define PARTICLE_RELEASE_MAX_OVERLAP 0.05
/* Create a source. `seed` is copied with its x; it must have no v, volume and id. Takes ownership of *spout. */
PetscErrorCode particle_source_create(const particle_seed *seed, const particle_release_schedule *schedule, level_set **spout,
                                      particle_source **out);
void           particle_source_destroy(particle_source **s);
/* Called between two steps; the last step ended at t and had length dt. Returns true if a release is due and the spout has room, i.e. it
 * contains at most PARTICLE_RELEASE_MAX_OVERLAP times seed.n particles of all sets. If it has no room, the release is omitted, with one
 * warning per run that names the body `name`. The release at the start of the run is not included. Release times do not depend on
 * state, so a resumed run releases the same particles as an uninterrupted one. */
bool particle_source_is_due(particle_source *s, const char *name, double t, double dt, int n_sets, particles *const *sets);
#endif
