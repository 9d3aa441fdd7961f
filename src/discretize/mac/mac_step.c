/* The functions behind the body_ops of a mac domain and of its bodies. */
#include <math.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mac/mac_domain_impl.h"

static mac_domain       *domain_of(body *b) { return (mac_domain *)b; }
static const mac_domain *domain_of_const(const body *b) { return (const mac_domain *)b; }

static PetscErrorCode step_begin(body *b, double t, double dt, int64_t *n_blocks, step_verdict *verdict)
{
  mac_domain *d = domain_of(b);

  PetscFunctionBeginUser;
  (void)t;
  d->dt          = dt;
  d->is_laid_out = false;
  *n_blocks = b->n_blocks = 0;
  mac_check_cfl(d, true, verdict);
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mac_layout(d));
  PetscCall(mac_to_grid(d));
  d->is_laid_out = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_reserve_seen(mac_domain *d)
{
  PetscFunctionBeginUser;
  for (int b = 0; b < d->bodies.n; ++b) {
    mac_seen     *s = &d->seen[b];
    const int64_t n = d->bodies.particles[b]->n;
    s->n            = n;
    if (n <= s->capacity) continue;
    s->capacity = n + n / 8;
    memory_free(&s->pressure);
    memory_free(&s->density);
    for (int a = 0; a < 3; ++a) memory_free(&s->move[a]);
    PetscCall(memory_alloc("mac frame fields", s->capacity, sizeof(double), &s->pressure));
    PetscCall(memory_alloc("mac frame fields", s->capacity, sizeof(double), &s->density));
    for (int a = 0; a < 3; ++a) PetscCall(memory_alloc("mac moves", s->capacity, sizeof(double), &s->move[a]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_end(body *b, const double *v, step_verdict *verdict)
{
  mac_domain *d = domain_of(b);

  PetscFunctionBeginUser;
  (void)v;
  SS_ASSERT(d->is_laid_out);
  mac_check_cfl(d, false, verdict);
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mac_reserve_seen(d));
  mac_to_particles(d);
  for (int i = 0; i < d->bodies.n; ++i) PetscCall(mac_contain(d, i));
  d->is_laid_out = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_totals(const body *b, const double gravity[3], body_totals *out)
{
  PetscFunctionBeginUser;
  PetscCall(mac_domain_totals(domain_of_const(b), gravity, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void forget(body *b) { domain_of(b)->is_laid_out = false; }

static void restored(body *b, int index) { domain_of(b)->seen[index].n = 0; }

/* What the grid knew as the last step ended; before the first, and for those poured since, no pressure and the density at rest. */
static PetscErrorCode refresh(body *b, int index)
{
  mac_domain     *d    = domain_of(b);
  particles      *p    = d->bodies.particles[index];
  const mac_seen *s    = &d->seen[index];
  const double    rest = d->bodies.materials[index]->density;

  PetscFunctionBeginUser;
  PetscCall(particles_room_for_frames(p));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; ++i) {
    p->speed[i]    = sqrt(particles_speed2(p, i));
    p->pressure[i] = i < s->n ? s->pressure[i] : 0.0;
    p->density[i]  = i < s->n ? s->density[i] : rest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const particle_carrier_ops mac_carrier_ops = {.forget = forget, .refresh = refresh, .restored = restored};

static PetscErrorCode step_fields(body *b, field_table *table)
{
  PetscFunctionBeginUser;
  PetscCall(particle_bodies_fields(&domain_of(b)->bodies, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a system is asked for by those who solve for blocks: it has none. */
static PetscErrorCode no_blocks(const body *b, double *out)
{
  (void)b, (void)out;
  return PETSC_SUCCESS;
}
static PetscErrorCode no_residual(body *b, const double *v, double *g, bool with_tangent, step_verdict *verdict)
{
  (void)b, (void)v, (void)g, (void)with_tangent, (void)verdict;
  return PETSC_SUCCESS;
}
static PetscErrorCode no_tangent(const body *b, const double *x, double *y, bool is_transposed)
{
  (void)b, (void)x, (void)y, (void)is_transposed;
  return PETSC_SUCCESS;
}

static double step_length(const body *b) { return domain_of_const(b)->state.grid.h; }

const body_ops mac_domain_ops = {.kind           = "mac",
                                 .points         = POINT_NONE,
                                 .begin_step     = step_begin,
                                 .velocity       = no_blocks,
                                 .mass           = no_blocks,
                                 .residual       = no_residual,
                                 .tangent        = no_tangent,
                                 .block_diagonal = no_blocks,
                                 .end_step       = step_end,
                                 .totals         = step_totals,
                                 .fields         = step_fields,
                                 .length         = step_length};

/* ------------------------------------------------------------- one body
 * ------------------------------------------------------------- */

static PetscErrorCode facade_totals(const body *b, const double gravity[3], body_totals *out)
{
  const particle_body *own = (const particle_body *)b;
  double               sum[PARTICLE_N_SUMS] = {0};

  PetscFunctionBeginUser;
  PetscCall(mac_add_totals(domain_of_const(own->set->carrier), own->index, sum));
  *out = (body_totals){0};
  particle_totals_from(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void facade_describe(const body *b, FILE *out)
{
  const mac_grid *g = &domain_of_const(particle_body_carrier(b))->state.grid;
  fprintf(out, "%lld particles on a staggered grid of %d x %d x %d cells", (long long)particles_of(b)->n, g->n[0], g->n[1],
          g->n[2]);
}

const body_ops mac_facade_ops = {.kind      = "mac",
                                 .points    = POINT_NONE,
                                 .totals    = facade_totals,
                                 .carrier   = particle_body_carrier,
                                 .particles = particle_body_particles,
                                 .emit      = particle_body_emit,
                                 .describe  = facade_describe};
