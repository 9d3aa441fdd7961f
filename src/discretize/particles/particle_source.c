/* Implementation of particle_source.h: new particles, and the release times of sources. */
#include "discretize/particles/particle_source.h"
#include <string.h>
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"

PetscErrorCode particle_seed_add(const particle_seed *seed, const char *name, double density, bool with_affine, int64_t *next_id,
                                 particles *p)
{
  const int64_t first     = p->n;
  double        center[3] = {0, 0, 0}, total = 0.0;

  PetscFunctionBeginUser;
  PetscCall(particles_resize(p, first + seed->n));
  for (int64_t i = 0; i < seed->n; ++i) {
    const double volume = seed->volume ? seed->volume[i] : seed->volume_each;
    PetscCheck(volume > 0.0 && isfinite(volume), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: particle %lld has no volume", name,
               (long long)i);
    v3_axpy(center, volume, seed->x + 3 * i);
    total += volume;
  }
  if (total > 0.0) v3_scale(center, 1.0 / total, center);
  for (int64_t i = 0; i < seed->n; ++i) {
    const int64_t at     = first + i;
    const double  volume = seed->volume ? seed->volume[i] : seed->volume_each;
    double        v[3], arm[3];
    v3_sub(arm, seed->x + 3 * i, center);
    v3_cross(v, seed->angular_velocity, arm);
    v3_add(v, v, seed->velocity);
    for (int k = 0; k < 3; ++k) p->x[k][at] = seed->x[3 * i + k], p->v[k][at] = seed->v ? seed->v[3 * i + k] : v[k];
    if (!seed->v && with_affine) { /* the affine part of a spin, so that it starts exactly */
      double spin[9];
      m3_skew(spin, seed->angular_velocity);
      for (int k = 0; k < 9; ++k) p->C[k][at] = spin[k];
    }
    if (p->law) p->volume[at] = volume;
    p->mass[at] = density * volume;
    for (int k = 0; p->law && k < p->n_state; ++k) p->state[k][at] = p->law->state_initial[k];
    p->id[at] = seed->id ? seed->id[i] : *next_id + i;
  }
  if (!seed->id) *next_id += seed->n;
  else
    for (int64_t i = 0; i < seed->n; ++i) *next_id = seed->id[i] >= *next_id ? seed->id[i] + 1 : *next_id;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- sources --- */

PetscErrorCode particle_source_create(const particle_seed *seed, const particle_release_schedule *schedule, level_set **spout,
                                      particle_source **out)
{
  particle_source *s;
  double          *x;

  PetscFunctionBeginUser;
  SS_ASSERT(!seed->v && !seed->volume && !seed->id);
  PetscCall(memory_alloc("particle source", 1, sizeof *s, &s));
  *out        = s;
  s->schedule = *schedule;
  s->spout    = *spout;
  *spout      = NULL;
  s->seed     = *seed;
  s->seed.x   = NULL;
  PetscCall(memory_alloc("particle source", 3 * seed->n, sizeof *x, &x));
  if (seed->n > 0) memcpy(x, seed->x, (size_t)(3 * seed->n) * sizeof *x);
  s->seed.x = x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void particle_source_destroy(particle_source **s)
{
  if (!*s) return;
  memory_free(&(*s)->seed.x);
  level_set_destroy(&(*s)->spout);
  memory_free(s);
}

/* How many releases are due up to t. */
static int64_t releases(const particle_release_schedule *p, double t)
{
  if (t < p->start - 1e-9 * p->every) return 0;
  const double last = fmin(t, p->end - 1e-6 * p->every);
  return last < p->start - 1e-9 * p->every ? 0 : (int64_t)floor((last - p->start) / p->every + 1e-9) + 1;
}

static int64_t count_inside(int n_sets, particles *const *sets, const level_set *spout)
{
  double  min[3], max[3];
  int64_t n = 0;
  level_set_bounds(spout, min, max);
  for (int b = 0; b < n_sets; ++b) {
    const particles *p = sets[b];
    for (int64_t i = 0; i < p->n; ++i) {
      const double x[3]    = {p->x[0][i], p->x[1][i], p->x[2][i]};
      bool         is_near = true;
      for (int k = 0; k < 3; ++k) is_near = is_near && x[k] >= min[k] && x[k] <= max[k];
      n += is_near && level_set_value(spout, x) < 0.0;
    }
  }
  return n;
}

bool particle_source_is_due(particle_source *s, const char *name, double t, double dt, int n_sets, particles *const *sets)
{
  if (releases(&s->schedule, t) == releases(&s->schedule, t - dt)) return false;
  const int64_t n_inside = count_inside(n_sets, sets, s->spout);
  if ((double)n_inside <= PARTICLE_RELEASE_MAX_OVERLAP * (double)s->seed.n) return true;
  if (!s->has_warned)
    log_warn("%s: no release at t = %g s: %lld particles are still in the shape for %lld new ones (reported once)", name, t,
             (long long)n_inside, (long long)s->seed.n);
  s->has_warned = true;
  return false;
}
