/* How far bodies are from a known answer, given as expressions. */
#include "discretize/body_kinds.h"
#include "discretize/body/body.h"
#include "discretize/fem/tetrahedra_error.h"
#include "discretize/particles/particles.h"
#include "discretize/nodal/nodal_body.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"

static PetscErrorCode error_of(const measure_moment *now, const measure *k, bool is_velocity, double *value)
{
  const scene_body *b     = &now->scene->bodies[k->body];
  const double      t     = now->clock.time;
  PetscFunctionBegin;
  if (b->kind == &fem_body_kind)
    PetscCall(tetrahedra_error(nodal_body_of(b->body), k->expected, t, is_velocity ? TETRAHEDRA_VELOCITY : TETRAHEDRA_DISPLACEMENT, value));
  else if (b->body->ops->nodes) *value = body_nodes_error(b->body, k->expected, t, is_velocity);
  else *value = particle_origins_error(particles_of(b->body), k->expected, t, is_velocity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_velocity_error(const measure_moment *now, measure *k, double *value)
{
  PetscFunctionBegin;
  PetscCall(error_of(now, k, true, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_displacement_error(const measure_moment *now, measure *k, double *value)
{
  PetscFunctionBegin;
  PetscCall(error_of(now, k, false, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_gradient_error(const measure_moment *now, measure *k, double *value)
{
  PetscFunctionBegin;
  PetscCall(tetrahedra_error(nodal_body_of(measure_body_of(now, k)), k->expected, now->clock.time, TETRAHEDRA_GRADIENT, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}
