/* Sources: particles that are added again and again as time goes on. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_SOURCE_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_SOURCE_H
#include "geometry/level_set/level_set.h"
#include "discretize/particles/particle_seed.h"

/* At start, start + every, ... before end [s]. */
typedef struct {
  double start, end, every;
} particle_pour;

typedef struct particle_source particle_source;
struct particle_source {
  particle_pour schedule;
  particle_seed seed;  /* owns x */
  level_set    *spout; /* owned: the shape that is filled */
  bool          has_warned;
};

#define PARTICLE_POUR_OVERLAP 0.05
/* Copies `seed` with its x; without v, volume, id. Takes *spout. */
PetscErrorCode particle_source_create(const particle_seed *seed, const particle_pour *schedule, level_set **spout,
                                      particle_source **out);
void           particle_source_destroy(particle_source **s);
/* Is the seed due between two steps, the one that ended at t having been dt long, and is there room? What is due at the start is
 * not its
 * business. Counted by time alone, so that a resumed run pours what an uninterrupted one does. As long as more particles of any
 * of the
 * sets are in the spout than PARTICLE_POUR_OVERLAP of those to come, releases are left out (and body `name` warns, once). */
bool particle_source_releases(particle_source *s, const char *name, double t, double dt, int n_sets, particles *const *sets);
#endif
