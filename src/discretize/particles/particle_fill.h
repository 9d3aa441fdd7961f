/* From an entry of `bodies:` to the particles that fill its shape: the same for every kind whose spec begins with
 * particle_body_spec. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_FILL_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_FILL_H
#include "discretize/body/body_kind.h"
#include "discretize/particles/particle_keys.h"

typedef struct {
  shape        *filled; /* owned */
  particle_seed seed;   /* n == 0: the user has made a mistake; owns x */
} particle_fill;

/* On a grid of spacing `spacing` [m] with a node at `origin`. Nothing is added to any set yet. */
PetscErrorCode particle_fill_create(const body_request *r, const body_world *world, double spacing, const double origin[3],
                                    diagnostics *d, particle_fill *out);
void           particle_fill_free(particle_fill *f);
/* What of it is there at the start: all, or, if it is poured later, nothing. */
particle_seed particle_fill_at_start(const particle_fill *f, const particle_body_spec *spec);
/* Initial velocities from expressions, if the body has such, with their gradient as the affine part. */
PetscErrorCode particle_fill_velocity_field(const body_request *r, bool with_affine, particles *p, diagnostics *d);
#endif
