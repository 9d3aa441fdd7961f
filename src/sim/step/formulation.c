/* Creation and destruction of a formulation through its function table. */
#include "sim/step/formulation.h"
#include "core/memory.h"
#include "optim/optim.h"

PetscErrorCode formulation_create(const formulation_ops *ops, scene *s, formulation **out)
{
  PetscFunctionBegin;
  void *place;
  PetscCall(memory_alloc(ops->scene.name, 1, ops->size, &place));
  *out        = place;
  (*out)->ops = ops;
  PetscCall(optim_register_all());
  PetscCall(ops->create(s, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void formulation_destroy(formulation **f)
{
  if (!*f) return;
  (*f)->ops->destroy(*f);
  memory_free(f);
}
