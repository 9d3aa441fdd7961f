/* Sources: particles that are added repeatedly during a run. Caller: particle_bodies.c. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_SOURCE_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_SOURCE_H
#include "geometry/level_set/level_set.h"
#include "discretize/particles/particles.h"

/* x, v interleaved [n][3]; borrowed. */
typedef struct {
  int64_t        n;
  const double  *x;      /* m */
  const double  *v;      /* NULL: `velocity` + angular x (x - centre of mass) for all */
  const double  *volume; /* NULL: volume_each for all; m^3 */
  const int64_t *id;     /* NULL: the next free ones; unique over all sets on one grid, >= 0 */
  double         volume_each, velocity[3], angular_velocity[3];
} particle_seed;

/* Append them to set `p` of body `name`, undeformed and without history, at this density [kg/m^3]; with_affine: those that spin
 * carry the gradient of that. *next_id: of the grid, moved on. */
PetscErrorCode particle_seed_add(const particle_seed *seed, const char *name, double density, bool with_affine, int64_t *next_id,
                                 particles *p);

/* At start, start + every, ... before end [s]. */
typedef struct {
  double start, end, every;
} particle_release_schedule;

typedef struct particle_source particle_source;
struct particle_source {
  particle_release_schedule schedule;
  particle_seed             seed;  /* owns x */
  level_set                *spout; /* owned: the shape that is filled */
  bool                      has_warned;
};

#define PARTICLE_RELEASE_MAX_OVERLAP 0.05
/* Copies `seed` with its x; without v, volume, id. Takes *spout. */
PetscErrorCode particle_source_create(const particle_seed *seed, const particle_release_schedule *schedule, level_set **spout,
                                      particle_source **out);
void           particle_source_destroy(particle_source **s);
/* Is the seed due between two steps, the last of which ended at t with length dt, and is there room? Releases at the start of the run
 * are not included. The count depends on time alone, so a resumed run pours the same particles as an uninterrupted one. A release is
 * omitted while the spout contains more particles of any set than PARTICLE_RELEASE_MAX_OVERLAP of the new ones (body `name` warns
 * once). */
bool particle_source_is_due(particle_source *s, const char *name, double t, double dt, int n_sets, particles *const *sets);
#endif
