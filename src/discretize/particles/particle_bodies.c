/* Implementation of particle_bodies.h: bodies of particles on a shared grid. */
#include "discretize/particles/particle_bodies.h"
#include "core/memory.h"
#include "core/team.h"

void particle_bodies_free(particle_bodies *s)
{
  for (int b = 0; b < s->n; ++b) {
    particles_destroy(&s->particles[b]);
    particle_source_destroy(&s->source[b]);
    level_set_destroy(&s->filled[b]);
    memory_free(&s->body[b]);
  }
  MEMORY_FREE(&s->particles, &s->body, &s->source, &s->filled, &s->materials, &s->names);
  s->n = 0;
}

PetscErrorCode particle_bodies_add(particle_bodies *s, const body_ops *ops, const char *name, const material *m, const material_law *law,
                                   int *index)
{
  const int n = s->n;
  PetscFunctionBegin;
  PetscCheck(m->density > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: its material needs a density", name);
  PetscCall(MEMORY_RESIZE("bodies of particles", ARRAY(s->particles, n + 1), ARRAY(s->body, n + 1), ARRAY(s->source, n + 1),
                          ARRAY(s->filled, n + 1), ARRAY(s->materials, n + 1), ARRAY(s->names, n + 1)));
  s->body[n] = NULL, s->source[n] = NULL, s->filled[n] = NULL, s->materials[n] = m, s->names[n] = name;
  PetscCall(particles_create(law, &s->particles[n]));
  ++s->n; /* from here on freeing the set frees it */
  PetscCall(memory_alloc("bodies of particles", 1, sizeof **s->body, &s->body[n]));
  *s->body[n] = (particle_body){.base = {.ops = ops, .name = name}, .set = s, .index = n};
  *index      = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode particle_bodies_emit(particle_bodies *s, int index, const particle_seed *seed)
{
  PetscFunctionBegin;
  PetscCall(particle_seed_add(seed, s->names[index], s->materials[index]->density, s->with_affine, &s->next_id, s->particles[index]));
  s->ops->forget(s->carrier);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode particle_bodies_set_source(particle_bodies *s, int index, const particle_seed *seed,
                                          const particle_release_schedule *schedule, level_set **spout)
{
  PetscFunctionBegin;
  SS_ASSERT(!s->source[index]);
  PetscCall(particle_source_create(seed, schedule, spout, &s->source[index]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void particle_bodies_set_filled(particle_bodies *s, int index, level_set **filled)
{
  s->filled[index] = *filled;
  *filled          = NULL;
}

void particle_bodies_set_blocks(particle_bodies *s)
{
  for (int b = 0; b < s->n; ++b) {
    s->body[b]->base.first_block = s->carrier->first_block;
    s->body[b]->base.n_blocks    = s->carrier->n_blocks;
  }
}

bool particle_bodies_has_source(const particle_bodies *s)
{
  for (int b = 0; b < s->n; ++b)
    if (s->source[b]) return true;
  return false;
}

/* --- fields --- */

static PetscErrorCode group_resize(void *context, int64_t n)
{
  const particle_body *b = context;
  PetscFunctionBegin;
  PetscCall(particles_resize(b->set->particles[b->index], n));
  b->set->ops->forget(b->set->carrier);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode group_refresh(void *context)
{
  const particle_body *b = context;
  PetscFunctionBegin;
  PetscCall(b->set->ops->refresh(b->set->carrier, b->index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode group_restored(void *context)
{
  const particle_body *b = context;
  particle_bodies     *s = b->set;
  PetscFunctionBegin;
  s->next_id = particles_next_id(s->particles[b->index], s->next_id);
  if (s->ops->restored) s->ops->restored(s->carrier, b->index);
  s->ops->forget(s->carrier);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode particle_bodies_fields(particle_bodies *s, field_table *table)
{
  PetscFunctionBegin;
  for (int b = 0; b < s->n; ++b) {
    field_group *group;
    PetscCall(particles_fields(s->particles[b], table, s->names[b], s->body[b], &group));
    group->resize   = group_resize;
    group->refresh  = group_refresh;
    group->restored = group_restored;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- one body --- */

static const particle_body *own(const body *b) { return (const particle_body *)b; }

particles *particle_body_particles(const body *b) { return own(b)->set->particles[own(b)->index]; }

const level_set *particle_body_filled(const body *b)
{
  if (b->ops->particles != particle_body_particles) return NULL;
  const particle_source *source = own(b)->set->source[own(b)->index];
  return source ? source->spout : own(b)->set->filled[own(b)->index];
}
body *particle_body_carrier(const body *b) { return own(b)->set->carrier; }

PetscErrorCode particle_body_emit(body *b, double t, double dt)
{
  particle_bodies *s      = own(b)->set;
  particle_source *source = s->source[own(b)->index];
  PetscFunctionBegin;
  if (source && particle_source_is_due(source, b->name, t, dt, s->n, s->particles))
    PetscCall(particle_bodies_emit(s, own(b)->index, &source->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- sums --- */

PetscErrorCode particle_sums_add(const particles *p, int n_sums, particle_summand add, const void *context, double *sum)
{
  const int64_t n_chunks = team_chunks(p->n);
  double       *part;
  PetscFunctionBegin;
  PetscCall(memory_alloc("sums of particles", n_chunks * n_sums, sizeof *part, &part));
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_chunks; ++c) {
    const int64_t end = (c + 1) * TEAM_CHUNK < p->n ? (c + 1) * TEAM_CHUNK : p->n;
    add(context, p, c * TEAM_CHUNK, end - c * TEAM_CHUNK, part + c * n_sums);
  }
  for (int64_t c = 0; c < n_chunks; ++c)
    for (int k = 0; k < n_sums; ++k) sum[k] += part[c * n_sums + k];
  memory_free(&part);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void particle_totals_from(const double *sum, const double gravity[3], body_totals *out)
{
  const double mass = sum[PARTICLE_SUM_MASS];
  out->mass         = mass;
  out->kinetic      = sum[PARTICLE_SUM_KINETIC];
  out->potential    = -v3_dot(gravity, sum + PARTICLE_SUM_X);
  v3_copy(out->momentum, sum + PARTICLE_SUM_V);
  v3_copy(out->angular_momentum, sum + PARTICLE_SUM_L);
  v3_scale(out->center, mass > 0.0 ? 1.0 / mass : 0.0, sum + PARTICLE_SUM_X);
}
