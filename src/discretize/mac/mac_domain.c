#include "discretize/mac/mac_domain.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mac/mac_domain_impl.h"

/* ---------------------------------------------------------------- making
 * ---------------------------------------------------------------- */

PetscErrorCode mac_domain_create(const mac_options *o, const double gravity[3], mac_domain **out)
{
  mac_domain *d;
  int32_t     n[3];
  mac_wall    wall[3][2];

  PetscFunctionBeginUser;
  for (int a = 0; a < 3; ++a) {
    const double cells = (o->domain->max[a] - o->domain->min[a]) / o->spacing;
    PetscCheck(cells > 0.5 && cells < 1e9, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "the domain has %.3g cells along axis %d: expected 1 to 1e9", cells, a);
    n[a] = (int32_t)lround(cells);
    for (int side = 0; side < 2; ++side) wall[a][side] = (mac_wall)o->walls->side[a][side];
  }
  PetscCall(memory_alloc("mac domain", 1, sizeof *d, &d));
  *out         = d;
  d->base.ops  = &mac_domain_ops;
  d->base.name = "mac";
  d->options   = o;
  d->bodies    = (particle_bodies){.carrier = &d->base, .ops = &mac_carrier_ops, .with_affine = o->transfer == MAC_APIC};
  v3_copy(d->gravity, gravity);
  PetscCall(mac_grid_create(o->spacing, o->domain->min, n, (const mac_wall(*)[2])wall, &d->state.grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_domain_destroy(mac_domain **out)
{
  if (!*out) return;
  mac_domain *d = *out;
  mac_state  *s = &d->state;
  for (int b = 0; b < d->bodies.n; ++b) {
    memory_free(&d->seen[b].pressure);
    memory_free(&d->seen[b].density);
    for (int a = 0; a < 3; ++a) memory_free(&d->seen[b].move[a]);
    memory_free(&d->start[b]);
    memory_free(&d->tile_of[b]);
  }
  particle_bodies_free(&d->bodies);
  void *owned[] = {&d->seen,
                   &d->start,
                   &d->start_capacity,
                   &d->tile_of,
                   &d->tile_of_capacity,
                   &d->tiles,
                   &d->n,
                   &d->x,
                   &d->key,
                   &d->key_scratch,
                   &d->order,
                   &d->order_scratch,
                   &s->rho,
                   &s->rest_density,
                   &s->friction,
                   &s->cohesion,
                   &s->pressure};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) memory_free(owned[i]);
  for (int a = 0; a < 3; ++a) memory_free(&s->mass[a]), memory_free(&s->u[a]), memory_free(&s->old_u[a]);
  for (int c = 0; c < MAC_MU_I_CONSTANTS; ++c) memory_free(&s->mu_i[c]);
  mac_correction_free(&d->correction);
  mac_grid_destroy(&s->grid);
  memory_free(out);
}

body              *mac_domain_body(mac_domain *d) { return &d->base; }
int                mac_domain_n_bodies(const mac_domain *d) { return d->bodies.n; }
body              *mac_domain_facade(mac_domain *d, int index) { return &d->bodies.body[index]->base; }
particles         *mac_domain_particles(mac_domain *d, int index) { return d->bodies.particles[index]; }
const mac_options *mac_domain_options(const mac_domain *d) { return d->options; }

mac_domain *mac_domain_of(body *b)
{
  if (b->ops == &mac_domain_ops) return (mac_domain *)b;
  return b->ops == &mac_facade_ops ? (mac_domain *)particle_body_carrier(b) : NULL;
}

mac_state *mac_domain_state(mac_domain *d) { return &d->state; }

PetscErrorCode mac_domain_add_body(mac_domain *d, const char *name, const material *m, const particle_seed *seed, int *index)
{
  const int n = d->bodies.n;

  PetscFunctionBeginUser;
  PetscCheck(m->flow, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: its material does not flow", name);
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->n, &d->n));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->x, &d->x));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->seen, &d->seen));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->start, &d->start));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->start_capacity, &d->start_capacity));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->tile_of, &d->tile_of));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->tile_of_capacity, &d->tile_of_capacity));
  d->seen[n]           = (mac_seen){0};
  d->start[n]          = NULL;
  d->tile_of[n]        = NULL;
  d->start_capacity[n] = d->tile_of_capacity[n] = 0;
  PetscCall(particle_bodies_add(&d->bodies, &mac_facade_ops, name, m, NULL, index));
  PetscCall(particle_bodies_emit(&d->bodies, n, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_domain_set_source(mac_domain *d, int index, const particle_seed *seed, const particle_pour *schedule,
                                     level_set **spout)
{
  PetscFunctionBeginUser;
  PetscCall(particle_bodies_set_source(&d->bodies, index, seed, schedule, spout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool mac_domain_has_source(const mac_domain *d) { return particle_bodies_has_source(&d->bodies); }

/* ---------------------------------------------------------------- sums
 * ---------------------------------------------------------------- */

/* Angular momentum and kinetic energy include the affine velocity as the grid will see it: with staggered trilinear weights the
 * second moment along k about a particle is h^2 f (1 - f), f its place between the two nodes, which for the component along k itself
 * are faces, for the others points half a cell away. */
static double moment(double s, double h)
{
  const double f = s - floor(s);
  return h * h * f * (1.0 - f);
}

static void sum_particle(const mac_grid *g, const particles *p, int64_t i, double *sum)
{
  double spin[3], beside[3], along[3], c2 = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double s = (p->x[k][i] - g->min[k]) / g->h;
    along[k]       = moment(s, g->h);
    beside[k]      = moment(s - 0.5, g->h);
  }
  for (int a = 0; a < 3; ++a) {
    const int k = (a + 1) % 3, e = (a + 2) % 3; /* e_k x e_e = e_a */
    spin[a] = beside[k] * p->C[3 * e + k][i] - beside[e] * p->C[3 * k + e][i];
    for (int q = 0; q < 3; ++q) c2 += (q == a ? along[q] : beside[q]) * p->C[3 * a + q][i] * p->C[3 * a + q][i];
  }
  particle_sum_one(p, i, spin, c2, sum);
}

static void sum_chunk(const void *context, const particles *p, int64_t first, int64_t n, double *sum)
{
  for (int64_t i = first; i < first + n; ++i) sum_particle(context, p, i, sum);
}

PetscErrorCode mac_add_totals(const mac_domain *d, int b, double *sum)
{
  PetscFunctionBeginUser;
  PetscCall(particle_sums_add(d->bodies.particles[b], PARTICLE_N_SUMS, sum_chunk, &d->state.grid, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_domain_totals(const mac_domain *d, const double gravity[3], body_totals *out)
{
  double sum[PARTICLE_N_SUMS] = {0};

  PetscFunctionBeginUser;
  for (int b = 0; b < d->bodies.n; ++b) PetscCall(mac_add_totals(d, b, sum));
  *out = (body_totals){0};
  particle_totals_from(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}
