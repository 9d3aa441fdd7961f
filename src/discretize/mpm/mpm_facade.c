/* One MPM body as others see it: its contact points, which are its particles, clustered by grid block; its sums; its source. */
#include "core/math3.h"
#include "discretize/mpm/mpm_domain_impl.h"

static const particle_body *facade_of(const body *b) { return (const particle_body *)b; }
static const mpm_domain    *domain_of(const particle_body *f) { return (const mpm_domain *)f->set->carrier; }

/* Clusters are ordered by body: those of body `index` are [first, end). */
static void own_clusters(const particle_body *f, int64_t *first, int64_t *end)
{
  const mpm_grid *g = domain_of(f)->grid;
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
  const particle_body *f = facade_of(b);
  int64_t           first, end;
  own_clusters(f, &first, &end);
  body *own        = &f->set->body[f->index]->base; /* the same object, through its owner */
  own->first_block = f->set->carrier->first_block;
  own->n_blocks    = f->set->carrier->n_blocks;
  return end - first;
}

static void facade_cluster(const body *b, int64_t i, double center[3], double *radius, int64_t *first_point, int64_t *end_point)
{
  const particle_body *f = facade_of(b);
  int64_t           first, end;
  SS_ASSERT(domain_of(f)->is_laid_out);
  own_clusters(f, &first, &end);
  const mpm_cluster *c = &domain_of(f)->grid->cluster[first + i];
  v3_copy(center, c->center);
  *radius      = c->radius;
  *first_point = c->first;
  *end_point   = c->end;
}

static int64_t facade_point(const body *b, int64_t i, double x[3])
{
  const particle_body *f = facade_of(b);
  const particles     *p = f->set->particles[f->index];
  SS_ASSERT(domain_of(f)->is_laid_out);
  v3_set(x, p->x[0][i], p->x[1][i], p->x[2][i]);
  return p->id[i];
}

static int facade_point_row_beside(const body *b, int64_t i, const double *beside, int32_t *block, double *weight)
{
  const particle_body *f = facade_of(b);
  const particles     *p    = f->set->particles[f->index];
  const mpm_grid      *g = domain_of(f)->grid;
  const double         x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
  int64_t              lo, hi;
  SS_ASSERT(domain_of(f)->is_laid_out);
  own_clusters(f, &lo, &hi);
  while (hi - lo > 1) {
    const int64_t mid = (lo + hi) / 2;
    if (g->cluster[mid].first <= i) lo = mid;
    else hi = mid;
  }
  return mpm_grid_stencil(g, &g->cluster[lo], x, beside, block, weight);
}

static int facade_point_row(const body *b, int64_t i, int32_t *block, double *weight)
{
  return facade_point_row_beside(b, i, NULL, block, weight);
}

/* Half the edge of the cube that it filled at first. */
static double facade_point_radius(const body *b, int64_t i) { return 0.5 * cbrt(particles_of(b)->volume[i]); }

static PetscErrorCode facade_totals(const body *b, const double gravity[3], body_totals *out)
{
  const particle_body *f = facade_of(b);
  double            sum[MPM_N_SUMS] = {0};

  PetscFunctionBeginUser;
  *out = (body_totals){.overshoot = domain_of(f)->marks[f->index].overshoot, .turn = domain_of(f)->marks[f->index].turn};
  PetscCall(mpm_domain_add_totals(domain_of(f), f->index, sum));
  mpm_totals_from(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void facade_describe(const body *b, FILE *out) { fprintf(out, "%lld particles", (long long)particles_of(b)->n); }

const body_ops mpm_facade_ops = {.kind       = "mpm points",
                                 .points     = POINT_WEIGHTED,
                                 .n_clusters = facade_n_clusters,
                                 .cluster    = facade_cluster,
                                 .point      = facade_point,
                                 .point_row  = facade_point_row,
                                 .point_radius     = facade_point_radius,
                                 .point_row_beside = facade_point_row_beside,
                                 .totals     = facade_totals,
                                 .carrier    = particle_body_carrier,
                                 .emit       = particle_body_emit,
                                 .particles  = particle_body_particles,
                                 .describe   = facade_describe};
