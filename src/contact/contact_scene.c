#include "contact/contact_scene.h"
#include "core/memory.h"

PetscErrorCode contact_scene_velocities(const contact_scene *s, int32_t i, double **v)
{
  const body *system = body_system(s->body[i]);
  PetscFunctionBegin;
  *v = NULL;
  if (!system || !system->ops->velocity) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("velocities", 3 * system->n_blocks, sizeof **v, v));
  const PetscErrorCode code = system->ops->velocity(system, *v);
  if (code) memory_free(v);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_scene_end_frame(const contact_scene *s, int32_t i, rigid_frame *out)
{
  body *const b = s->body[i];
  PetscFunctionBegin;
  *out = s->end[s->frame[i]];
  const body *const system = body_system(b);
  if (system && s->v) b->ops->frame(b, 0.0, s->dt, s->v + 3 * system->first_block, out);
  else if (system) {
    double *v;
    PetscCall(contact_scene_velocities(s, i, &v));
    b->ops->frame(b, 0.0, s->dt, v, out); /* what has unknowns does not ask for the time */
    memory_free(&v);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
