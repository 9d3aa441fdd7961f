/* Implementation of elastic.h: keys and constants of isotropic elasticity. */
#include "discretize/material/elastic.h"
#include "core/memory.h"

const key_spec elastic_keys[] = {ELASTIC_KEYS, {0}};

PetscErrorCode elastic_prepare(const void *parameters, void **constants)
{
  elastic_constants *c;
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("elastic constants", 1, sizeof *c, &c));
  *c         = elastic_lame(parameters);
  *constants = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

double elastic_wave_speed(const void *constants, double density)
{
  const elastic_constants *c = constants;
  return sqrt((c->lambda + 2.0 * c->mu) / density);
}
