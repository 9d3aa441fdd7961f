/* Vector fields over particles, written as three expressions in a job: initial velocities, body forces, expected answers.
 *
 * Variables: x y z where the particle is, X Y Z where it was when the run began [m], t [s].                              */
#ifndef SS_DISCRETIZE_MPM_PARTICLE_FIELD_H
#define SS_DISCRETIZE_MPM_PARTICLE_FIELD_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/mpm/mpm_domain.h"

typedef struct particle_field particle_field;

/* `texts`: three expressions; with any other number, or if one does not compile, a complaint goes to `d` and *out is NULL. */
PetscErrorCode particle_field_create(const key_list *texts, const document_node *node, const char *path, diagnostics *d, particle_field **out);
void           particle_field_destroy(particle_field **f);
/* value [3] at X, x, t; gradient [3][3], d value_i / d x_j with X moving along (may be NULL). Safe in parallel. */
void particle_field_at(const particle_field *f, const double X[3], const double x[3], double t, double value[3], double *gradient);

/* Where all particles were when the run began, by identity: from the job, so that a resumed run has the same. */
typedef struct {
  int64_t n;
  double *x; /* [n][3]; owned */
} particle_origins;
/* Fresh domain, before its first step. Free x with memory_free. */
PetscErrorCode particle_origins_create(mpm_domain *d, particle_origins *out);
/* Root of the mean square, by mass, of |v - field| (is_velocity) or |x - X - field| over particles p. */
double particle_field_error(const particle_field *f, const particle_origins *o, const mpm_particles *p, double t, bool is_velocity);
#endif
