/* Sources: bodies of the domain that are given more particles as time goes on. */
#include <string.h>
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_domain_impl.h"

PetscErrorCode mpm_domain_set_source(mpm_domain *d, int index, const mpm_seed *seed, const mpm_pour *schedule, level_set **spout)
{
  mpm_source *s;
  double     *x;

  PetscFunctionBeginUser;
  SS_ASSERT(!d->facade[index]->source && !seed->v && !seed->volume && !seed->id);
  PetscCall(memory_alloc("mpm source", 1, sizeof *s, &s));
  d->facade[index]->source = s;
  s->schedule              = *schedule;
  s->spout                 = *spout;
  *spout                   = NULL;
  s->seed                  = *seed;
  s->seed.x                = NULL;
  PetscCall(memory_alloc("mpm source", 3 * seed->n, sizeof *x, &x));
  if (seed->n > 0) memcpy(x, seed->x, (size_t)(3 * seed->n) * sizeof *x);
  s->seed.x = x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool mpm_domain_has_source(const mpm_domain *d)
{
  for (int b = 0; b < d->n_bodies; ++b)
    if (d->facade[b]->source) return true;
  return false;
}

void mpm_source_destroy(mpm_source **s)
{
  if (!*s) return;
  memory_free(&(*s)->seed.x);
  level_set_destroy(&(*s)->spout);
  memory_free(s);
}

/* How many releases are due up to t. */
static int64_t releases(const mpm_pour *p, double t)
{
  if (t < p->start - 1e-9 * p->every) return 0;
  const double last = fmin(t, p->end - 1e-6 * p->every);
  return last < p->start - 1e-9 * p->every ? 0 : (int64_t)floor((last - p->start) / p->every + 1e-9) + 1;
}

static int64_t count_inside(const mpm_domain *d, const level_set *spout)
{
  double  min[3], max[3];
  int64_t n = 0;
  level_set_bounds(spout, min, max);
  for (int b = 0; b < d->n_bodies; ++b) {
    const mpm_particles *p = d->particles[b];
    for (int64_t i = 0; i < p->n; ++i) {
      const double x[3]   = {p->x[0][i], p->x[1][i], p->x[2][i]};
      bool         is_near = true;
      for (int k = 0; k < 3; ++k) is_near = is_near && x[k] >= min[k] && x[k] <= max[k];
      n += is_near && level_set_value(spout, x) < 0.0;
    }
  }
  return n;
}

PetscErrorCode mpm_facade_emit(body *b, double t, double dt)
{
  mpm_facade       *f = (mpm_facade *)b;
  mpm_source *s = f->source;

  PetscFunctionBeginUser;
  if (!s || releases(&s->schedule, t) == releases(&s->schedule, t - dt)) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t n_inside = count_inside(f->domain, s->spout);
  if ((double)n_inside > MPM_POUR_OVERLAP * (double)s->seed.n) {
    if (!s->has_warned)
      log_warn("%s: nothing is poured at t = %g s: %lld particles are still where %lld more would go (pour waits for room; said once)", b->name, t,
               (long long)n_inside, (long long)s->seed.n);
    s->has_warned = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mpm_domain_emit(f->domain, f->index, &s->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
