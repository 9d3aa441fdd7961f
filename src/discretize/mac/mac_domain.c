#include "discretize/mac/mac_domain.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
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
  v3_copy(d->gravity, gravity);
  PetscCall(mac_grid_create(o->spacing, o->domain->min, n, (const mac_wall(*)[2])wall, &d->state.grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_domain_destroy(mac_domain **out)
{
  if (!*out) return;
  mac_domain *d = *out;
  mac_state  *s = &d->state;
  for (int b = 0; b < d->n_bodies; ++b) {
    particles_destroy(&d->particles[b]);
    if (d->facade[b]) particle_source_destroy(&d->facade[b]->source);
    memory_free(&d->facade[b]);
    memory_free(&d->seen[b].pressure);
    memory_free(&d->seen[b].density);
    for (int a = 0; a < 3; ++a) memory_free(&d->seen[b].move[a]);
    memory_free(&d->start[b]);
    memory_free(&d->tile_of[b]);
  }
  void *owned[] = {&d->particles,
                   &d->facade,
                   &d->materials,
                   &d->names,
                   &d->seen,
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
int                mac_domain_n_bodies(const mac_domain *d) { return d->n_bodies; }
body              *mac_domain_facade(mac_domain *d, int index) { return &d->facade[index]->base; }
particles         *mac_domain_particles(mac_domain *d, int index) { return d->particles[index]; }
const mac_options *mac_domain_options(const mac_domain *d) { return d->options; }

mac_domain *mac_domain_of(body *b)
{
  if (b->ops == &mac_domain_ops) return (mac_domain *)b;
  return b->ops == &mac_facade_ops ? ((mac_facade *)b)->domain : NULL;
}

mac_state *mac_domain_state(mac_domain *d) { return &d->state; }

PetscErrorCode mac_domain_add_body(mac_domain *d, const char *name, const material *m, const particle_seed *seed, int *index)
{
  const int n = d->n_bodies;

  PetscFunctionBeginUser;
  PetscCheck(m->flow, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: its material does not flow", name);
  PetscCheck(m->density > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: its material needs a density", name);
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->particles, &d->particles));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->facade, &d->facade));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->materials, &d->materials));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->names, &d->names));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->n, &d->n));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->x, &d->x));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->seen, &d->seen));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->start, &d->start));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->start_capacity, &d->start_capacity));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->tile_of, &d->tile_of));
  PetscCall(memory_resize("mac bodies", n + 1, sizeof *d->tile_of_capacity, &d->tile_of_capacity));
  d->materials[n]      = m;
  d->names[n]          = name;
  d->facade[n]         = NULL;
  d->seen[n]           = (mac_seen){0};
  d->start[n]          = NULL;
  d->tile_of[n]        = NULL;
  d->start_capacity[n] = d->tile_of_capacity[n] = 0;
  PetscCall(particles_create(NULL, &d->particles[n]));
  ++d->n_bodies;
  PetscCall(memory_alloc("mac facade", 1, sizeof **d->facade, &d->facade[n]));
  d->facade[n]->base   = (body){.ops = &mac_facade_ops, .name = name};
  d->facade[n]->domain = d;
  d->facade[n]->index  = n;
  PetscCall(mac_domain_emit(d, n, seed));
  *index = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_domain_emit(mac_domain *d, int index, const particle_seed *seed)
{
  PetscFunctionBeginUser;
  PetscCall(particle_seed_add(seed, d->names[index], d->materials[index]->density, d->options->transfer == MAC_APIC, &d->next_id,
                              d->particles[index]));
  d->is_laid_out = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_domain_set_source(mac_domain *d, int index, const particle_seed *seed, const particle_pour *schedule,
                                     level_set **spout)
{
  PetscFunctionBeginUser;
  SS_ASSERT(!d->facade[index]->source);
  PetscCall(particle_source_create(seed, schedule, spout, &d->facade[index]->source));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool mac_domain_has_source(const mac_domain *d)
{
  for (int b = 0; b < d->n_bodies; ++b)
    if (d->facade[b]->source) return true;
  return false;
}

/* ---------------------------------------------------------------- sums
 * ---------------------------------------------------------------- */

/* Sums of one chunk of particles: mass, m x, m v, angular momentum, kinetic. Angular momentum and kinetic energy include the
 * affine velocity
 * as the grid will see it: with staggered trilinear weights the second moment along k about a particle is h^2 f (1 - f), f its
 * place between the
 * two nodes, which for the component along k itself are faces, for the others points half a cell away. */
enum { SUM_MASS, SUM_X, SUM_V = 4, SUM_L = 7, SUM_KINETIC = 10, N_SUMS = MAC_N_SUMS };

static double moment(double s, double h)
{
  const double f = s - floor(s);
  return h * h * f * (1.0 - f);
}

static void sum_particle(const mac_domain *d, const particles *p, int64_t i, double *sum)
{
  const mac_grid *g    = &d->state.grid;
  const double    mass = p->mass[i], x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]}, v[3] = {p->v[0][i], p->v[1][i], p->v[2][i]};
  double          l[3], beside[3], along[3], c2 = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double s = (x[k] - g->min[k]) / g->h;
    along[k]       = moment(s, g->h);
    beside[k]      = moment(s - 0.5, g->h);
  }
  v3_cross(l, x, v);
  for (int a = 0; a < 3; ++a) {
    const int k = (a + 1) % 3, e = (a + 2) % 3; /* e_k x e_e = e_a */
    l[a] += beside[k] * p->C[3 * e + k][i] - beside[e] * p->C[3 * k + e][i];
    for (int q = 0; q < 3; ++q) c2 += (q == a ? along[q] : beside[q]) * p->C[3 * a + q][i] * p->C[3 * a + q][i];
  }
  sum[SUM_MASS] += mass;
  for (int k = 0; k < 3; ++k) {
    sum[SUM_X + k] += mass * x[k];
    sum[SUM_V + k] += mass * v[k];
    sum[SUM_L + k] += mass * l[k];
  }
  sum[SUM_KINETIC] += 0.5 * mass * (v3_dot(v, v) + c2);
}

PetscErrorCode mac_add_totals(const mac_domain *d, int b, double *sum)
{
  const particles *p        = d->particles[b];
  const int64_t    n_chunks = team_chunks(p->n);
  double          *part;

  PetscFunctionBeginUser;
  PetscCall(memory_alloc("mac sums", n_chunks * N_SUMS, sizeof *part, &part));
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_chunks; ++c) {
    const int64_t end = (c + 1) * TEAM_CHUNK < p->n ? (c + 1) * TEAM_CHUNK : p->n;
    for (int64_t i = c * TEAM_CHUNK; i < end; ++i) sum_particle(d, p, i, part + c * N_SUMS);
  }
  for (int64_t c = 0; c < n_chunks; ++c)
    for (int k = 0; k < N_SUMS; ++k) sum[k] += part[c * N_SUMS + k];
  memory_free(&part);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_totals_from(const double *sum, const double gravity[3], body_totals *out)
{
  *out           = (body_totals){.mass = sum[SUM_MASS], .kinetic = sum[SUM_KINETIC]};
  out->potential = -v3_dot(gravity, sum + SUM_X);
  v3_copy(out->momentum, sum + SUM_V);
  v3_copy(out->angular_momentum, sum + SUM_L);
  v3_scale(out->center, sum[SUM_MASS] > 0.0 ? 1.0 / sum[SUM_MASS] : 0.0, sum + SUM_X);
}

PetscErrorCode mac_domain_totals(const mac_domain *d, const double gravity[3], body_totals *out)
{
  double sum[N_SUMS] = {0};

  PetscFunctionBeginUser;
  for (int b = 0; b < d->n_bodies; ++b) PetscCall(mac_add_totals(d, b, sum));
  mac_totals_from(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}
