/* Bodies of particles that share one grid: their particles, materials, sources and identities. Each of them is a `body` for measures,
 * contact and files, without unknowns. The domain of the grid (mpm_domain.c, mac_domain.c) is the `body` with the unknowns ("carrier").
 * It owns one set of particle bodies and supplies functions for them.
 * Sums over a body run chunk by chunk in a fixed order, so that their bits do not depend on the number of threads. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_BODIES_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_BODIES_H
#include "core/math3.h"
#include "discretize/material/material.h"
#include "discretize/particles/particle_source.h"

typedef struct particle_bodies particle_bodies;

/* Functions that the domain supplies; `carrier` is the domain's body. */
typedef struct {
  void (*forget)(body *carrier);                       /* particles were added, removed or restored: the layout is invalid */
  PetscErrorCode (*refresh)(body *carrier, int index); /* compute the fields of a body's particles for frames */
  void (*restored)(body *carrier, int index);          /* called after a restart from a checkpoint; NULL: nothing to do */
} particle_carrier_ops;

/* One body of the set. `base` is the first member, so that a body with the ops given to particle_bodies_add can be cast to this. */
typedef struct {
  body             base;
  particle_bodies *set;
  int              index;
} particle_body;

struct particle_bodies {
  body                       *carrier; /* borrowed; carrier, ops and with_affine are set by the domain at its creation */
  const particle_carrier_ops *ops;
  bool                        with_affine; /* initial rotations also set the affine velocity of the particles */
  int                         n;
  particles                 **particles; /* [n] owned */
  particle_body             **body;      /* [n] owned */
  particle_source           **source;    /* [n] owned; NULL: no source */
  level_set                 **filled;    /* [n] owned: the shape filled at the start of the run; NULL: not stored */
  const material            **materials; /* [n] borrowed */
  const char                **names;     /* [n] borrowed */
  int64_t                     next_id;   /* identity of the next new particle, unique in the whole set */
};

void particle_bodies_free(particle_bodies *s);
/* Add a body without particles. law NULL: its particles have no deformation gradient. `name` and `m` are borrowed. *index: its number in
 * the set. PETSC_ERR_USER_INPUT if the material has no density. */
PetscErrorCode particle_bodies_add(particle_bodies *s, const body_ops *ops, const char *name, const material *m, const material_law *law,
                                   int *index);
/* Add particles to a body, between steps: undeformed, without history. */
PetscErrorCode particle_bodies_emit(particle_bodies *s, int index, const particle_seed *seed);
/* Set the source of a body: particle_body_emit then adds `seed` (copied, with its x) at the times of the schedule. At most one source per
 * body. Takes ownership of *spout. */
PetscErrorCode particle_bodies_set_source(particle_bodies *s, int index, const particle_seed *seed,
                                          const particle_release_schedule *schedule, level_set **spout);
/* Store the shape that the particles of a body fill at the start of the run. Takes ownership of *filled. */
void particle_bodies_set_filled(particle_bodies *s, int index, level_set **filled);
/* Copy first_block and n_blocks of the carrier to every body of the set; the carrier calls this at the end of its begin_step. */
void particle_bodies_set_blocks(particle_bodies *s);
bool particle_bodies_has_source(const particle_bodies *s);
/* Register the state of all bodies in the field table, one group per body. */
PetscErrorCode particle_bodies_fields(particle_bodies *s, field_table *table);

/* Functions particles, carrier and emit for the body_ops of a particle_body. */
particles *particle_body_particles(const body *b);
/* The shape that this body's particles fill at the start of the run, or fill when they are poured; NULL: not a body of particles, or not stored. */
const level_set *particle_body_filled(const body *b);
body            *particle_body_carrier(const body *b);
PetscErrorCode   particle_body_emit(body *b, double t, double dt);

/* Positions in an array of sums over particles: mass, m x, m v, angular momentum about the origin, kinetic energy. A domain may append
 * further sums. */
enum { PARTICLE_SUM_MASS, PARTICLE_SUM_X, PARTICLE_SUM_V = 4, PARTICLE_SUM_L = 7, PARTICLE_SUM_KINETIC = 10, PARTICLE_N_SUMS };
/* Callback: add particles first ... first + n - 1 to sum, n <= TEAM_CHUNK. */
typedef void (*particle_summand)(const void *context, const particles *p, int64_t first, int64_t n, double *sum);
/* sum [n_sums] += the sums over all particles, computed by `add` with this context. */
PetscErrorCode particle_sums_add(const particles *p, int n_sums, particle_summand add, const void *context, double *sum);
/* Set mass, momenta, centre (times mass), kinetic and potential energy of *out from the sums. Other members are not changed. */
void particle_totals_from(const double *sum, const double gravity[3], body_totals *out);

/* Add particle i to the sums. Contributions of its affine velocity per mass: spin to the angular momentum [m^2/s], c2 to twice the kinetic
 * energy [m^2/s^2]. */
static inline void particle_sum_one(const particles *p, int64_t i, const double spin[3], double c2, double *sum)
{
  const double mass = p->mass[i], x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]}, v[3] = {p->v[0][i], p->v[1][i], p->v[2][i]};
  double       l[3];
  v3_cross(l, x, v);
  sum[PARTICLE_SUM_MASS] += mass;
  for (int k = 0; k < 3; ++k) {
    sum[PARTICLE_SUM_X + k] += mass * x[k];
    sum[PARTICLE_SUM_V + k] += mass * v[k];
    sum[PARTICLE_SUM_L + k] += mass * (l[k] + spin[k]);
  }
  sum[PARTICLE_SUM_KINETIC] += 0.5 * mass * (v3_dot(v, v) + c2);
}
#endif
