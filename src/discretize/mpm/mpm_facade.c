/* One MPM body as others see it: its contact points, which are its particles, clustered by grid block; its sums; its source. */
#include "core/math3.h"
#include "discretize/mpm/mpm_domain_impl.h"

static const mpm_facade *facade_of(const body *b) { return (const mpm_facade *)b; }

/* Clusters are ordered by body: those of body `index` are [first, end). */
static void own_clusters(const mpm_facade *f, int64_t *first, int64_t *end)
{
  const mpm_grid *g = f->domain->grid;
  for (int side = 0; side < 2; ++side) {
    int64_t lo = 0, hi = g->n_clusters;
    while (lo < hi) {
      const int64_t mid = (lo + hi) / 2;
      if (g->cluster[mid].body < f->index + side) lo = mid + 1;
      else hi = mid;
    }
    *(side ? end : first) = lo;
  }
}

static int64_t facade_n_clusters(const body *b)
{
  const mpm_facade *f = facade_of(b);
  int64_t           first, end;
  own_clusters(f, &first, &end);
  body *own        = &f->domain->facade[f->index]->base; /* the same object, through its owner */
  own->first_block = f->domain->base.first_block;
  own->n_blocks    = f->domain->base.n_blocks;
  return end - first;
}

static void facade_cluster(const body *b, int64_t i, double center[3], double *radius, int64_t *first_point, int64_t *end_point)
{
  const mpm_facade *f = facade_of(b);
  int64_t           first, end;
  SS_ASSERT(f->domain->is_laid_out);
  own_clusters(f, &first, &end);
  const mpm_cluster *c = &f->domain->grid->cluster[first + i];
  v3_copy(center, c->center);
  *radius      = c->radius;
  *first_point = c->first;
  *end_point   = c->end;
}

static int64_t facade_point(const body *b, int64_t i, double x[3])
{
  const mpm_facade    *f = facade_of(b);
  const particles     *p = f->domain->particles[f->index];
  SS_ASSERT(f->domain->is_laid_out);
  v3_set(x, p->x[0][i], p->x[1][i], p->x[2][i]);
  return p->id[i];
}

static int facade_point_row(const body *b, int64_t i, int32_t *block, double *weight)
{
  const mpm_facade    *f = facade_of(b);
  const particles     *p    = f->domain->particles[f->index];
  const mpm_grid      *g = f->domain->grid;
  const double         x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
  int64_t              lo, hi;
  SS_ASSERT(f->domain->is_laid_out);
  own_clusters(f, &lo, &hi);
  while (hi - lo > 1) {
    const int64_t mid = (lo + hi) / 2;
    if (g->cluster[mid].first <= i) lo = mid;
    else hi = mid;
  }
  return mpm_grid_stencil(g, &g->cluster[lo], x, block, weight);
}

static PetscErrorCode facade_totals(const body *b, const double gravity[3], body_totals *out)
{
  const mpm_facade *f = facade_of(b);
  double            sum[MPM_N_SUMS] = {0};

  PetscFunctionBeginUser;
  *out = (body_totals){.overshoot = f->domain->marks[f->index].overshoot, .turn = f->domain->marks[f->index].turn};
  PetscCall(mpm_domain_add_totals(f->domain, f->index, sum));
  mpm_totals_from(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static body *facade_carrier(const body *b) { return &facade_of(b)->domain->base; }

static void facade_describe(const body *b, FILE *out) { fprintf(out, "%lld particles", (long long)particles_of(b)->n); }

static particles *facade_particles(const body *b) { return facade_of(b)->domain->particles[facade_of(b)->index]; }

static PetscErrorCode facade_emit(body *b, double t, double dt)
{
  mpm_facade *f = (mpm_facade *)b;
  mpm_domain *d = f->domain;

  PetscFunctionBeginUser;
  if (f->source && particle_source_releases(f->source, b->name, t, dt, d->n_bodies, d->particles))
    PetscCall(mpm_domain_emit(d, f->index, &f->source->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_ops mpm_facade_ops = {.kind       = "mpm points",
                                 .points     = POINT_WEIGHTED,
                                 .n_clusters = facade_n_clusters,
                                 .cluster    = facade_cluster,
                                 .point      = facade_point,
                                 .point_row  = facade_point_row,
                                 .totals     = facade_totals,
                                 .carrier    = facade_carrier,
                                 .emit       = facade_emit,
                                 .particles  = facade_particles,
                                 .describe   = facade_describe};
