#include "sim/hybrid/hybrid_continuum.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_body.h"
#include "discretize/mpm/mpm_domain.h"
#include <string.h>

void hybrid_continuum_create(const scene *s, hybrid_continuum *c)
{
  if (s->world.mpm) c->system = mpm_domain_body(s->world.mpm->domain);
}

void hybrid_continuum_destroy(hybrid_continuum *c)
{
  memory_free(&c->node), memory_free(&c->mass), memory_free(&c->outward), memory_free(&c->velocity);
}

PetscErrorCode hybrid_continuum_begin(hybrid_continuum *c, const step_layout *l)
{
  PetscFunctionBegin;
  c->is_met = false;
  if (!c->system) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t n = c->system->n_blocks;
  PetscCall(memory_reserve("nodes of the continuum", n, sizeof *c->node, &c->capacity[0], &c->node));
  PetscCall(memory_reserve("nodes of the continuum", n, sizeof *c->mass, &c->capacity[1], &c->mass));
  PetscCall(memory_reserve("nodes of the continuum", n, sizeof *c->outward, &c->capacity[2], &c->outward));
  PetscCall(memory_reserve("nodes of the continuum", 3 * n, sizeof *c->velocity, &c->capacity[3], &c->velocity));
  PetscCall(mpm_nodes_get(l->scene->world.mpm->domain, c->node, c->mass, c->outward));
  hybrid_continuum_restore(c, l);
  c->view = (augury_continuum){n, (const int32_t(*)[3])c->node, c->mass, (const double(*)[3])c->outward, c->velocity};
  PetscFunctionReturn(PETSC_SUCCESS);
}

void hybrid_continuum_restore(hybrid_continuum *c, const step_layout *l)
{
  if (c->system) memcpy(c->velocity, l->v + 3 * c->system->first_block, (size_t)(3 * c->system->n_blocks) * sizeof *c->velocity);
}
