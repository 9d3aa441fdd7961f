/* Bodies of particles that share one grid: their particles, materials, sources and identities, and one `body` for each of them, which
 * measures, contact and files use. The domain of the grid (mpm_domain.c, mac_domain.c) owns one such set and supplies its own functions.
 *
 * Sums over a body are taken chunk by chunk and added in order, so that their bits do not depend on the number of threads. */
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
  void (*restored)(body *carrier, int index);          /* after a restore; NULL: nothing to do */
} particle_carrier_ops;

/* One of the bodies: `base` is the first member, so that a body with the ops given to add() can be cast to this. */
typedef struct {
  body             base;
  particle_bodies *set;
  int              index;
} particle_body;

struct particle_bodies {
  body                       *carrier; /* these three borrowed and constant, set by the domain as it is made */
  const particle_carrier_ops *ops;
  bool                        with_affine; /* those that spin start with the gradient of that */
  int                         n;
  particles                 **particles; /* [n] each: owned, */
  particle_body             **body;      /* owned, */
  particle_source           **source;    /* owned; NULL: none, */
  const material            **materials; /* borrowed, */
  const char                **names;     /* borrowed */
  int64_t                     next_id;   /* over the whole set */
};

void particle_bodies_free(particle_bodies *s);
/* A body without particles; `law` NULL: its particles remember no shape. `name`, `m` are borrowed. *index is its number. */
PetscErrorCode particle_bodies_add(particle_bodies *s, const body_ops *ops, const char *name, const material *m, const material_law *law,
                                   int *index);
/* More particles for a body, between steps: undeformed, without history. */
PetscErrorCode particle_bodies_emit(particle_bodies *s, int index, const particle_seed *seed);
/* From now on particle_body_emit adds `seed` (copied, with its x) by this schedule. At most one per body. Takes *spout. */
PetscErrorCode particle_bodies_set_source(particle_bodies *s, int index, const particle_seed *seed,
                                          const particle_release_schedule *schedule, level_set **spout);
/* Copy first_block and n_blocks of the carrier to every body of the set; the carrier calls this at the end of its begin_step. */
void particle_bodies_set_blocks(particle_bodies *s);
bool particle_bodies_has_source(const particle_bodies *s);
/* All state of all bodies, a group each. */
PetscErrorCode particle_bodies_fields(particle_bodies *s, field_table *table);

/* For the body_ops of such a body: particles, carrier, emit. */
particles     *particle_body_particles(const body *b);
body          *particle_body_carrier(const body *b);
PetscErrorCode particle_body_emit(body *b, double t, double dt);

/* Sums: mass, m x, m v, angular momentum about the origin, kinetic energy; a domain may have more behind them. */
enum { PARTICLE_SUM_MASS, PARTICLE_SUM_X, PARTICLE_SUM_V = 4, PARTICLE_SUM_L = 7, PARTICLE_SUM_KINETIC = 10, PARTICLE_N_SUMS };
/* Adds particles first ... first + n - 1, at most TEAM_CHUNK, to `sum`. */
typedef void (*particle_summand)(const void *context, const particles *p, int64_t first, int64_t n, double *sum);
PetscErrorCode particle_sums_add(const particles *p, int n_sums, particle_summand add, const void *context, double *sum);
/* All of a body's totals but what only materials and domains know: those stay. */
void particle_totals_from(const double *sum, const double gravity[3], body_totals *out);

/* Particle i, with what its affine velocity adds as the grid will see it: per mass, spin [m^2/s] and the square c2 [m^2/s^2]. */
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
