#include "sim/step/formulation.h"
#include "core/memory.h"

#define X(name) &name##_formulation,
const formulation_ops *const formulations[] = {FORMULATION_TABLE(X) NULL};
#undef X

#define X(name) #name,
const char *const formulation_names[] = {FORMULATION_TABLE(X) NULL};
#undef X

PetscErrorCode formulation_create(const formulation_ops *ops, scene *s, formulation **out)
{
  PetscFunctionBegin;
  void *place;
  PetscCall(memory_alloc(ops->name, 1, ops->size, &place));
  *out        = place;
  (*out)->ops = ops;
  PetscCall(ops->create(s, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void formulation_destroy(formulation **f)
{
  if (!*f) return;
  (*f)->ops->destroy(*f);
  memory_free(f);
}
