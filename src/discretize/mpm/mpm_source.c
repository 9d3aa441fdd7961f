/* Sources: bodies of the domain that are given more particles as time goes on. */
#include <string.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_domain_impl.h"

PetscErrorCode mpm_domain_set_source(mpm_domain *d, int index, const mpm_seed *seed, const mpm_pour *schedule)
{
  mpm_source *s;
  double     *x;

  PetscFunctionBeginUser;
  SS_ASSERT(!d->facade[index]->source && !seed->v && !seed->volume && !seed->id);
  PetscCall(memory_alloc("mpm source", 1, sizeof *s, &s));
  d->facade[index]->source = s;
  s->schedule              = *schedule;
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
  memory_free(s);
}

/* How many releases are due up to t. */
static int64_t releases(const mpm_pour *p, double t)
{
  if (t < p->start - 1e-9 * p->every) return 0;
  const double last = fmin(t, p->end - 1e-6 * p->every);
  return last < p->start - 1e-9 * p->every ? 0 : (int64_t)floor((last - p->start) / p->every + 1e-9) + 1;
}

PetscErrorCode mpm_facade_emit(body *b, double t, double dt)
{
  mpm_facade       *f = (mpm_facade *)b;
  const mpm_source *s = f->source;

  PetscFunctionBeginUser;
  if (!s || releases(&s->schedule, t) == releases(&s->schedule, t - dt)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mpm_domain_emit(f->domain, f->index, &s->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
