#include "optim/friction/contact_groups.h"
#include "core/memory.h"
#include "optim/friction/contact_groups_impl.h"
#include "optim/friction/delassus_impl.h"

void contact_groups_destroy(contact_groups *g)
{
  memory_free(&g->side_start), memory_free(&g->side), memory_free(&g->value), memory_free(&g->h_value), memory_free(&g->h_index);
  *g = (contact_groups){0};
}

PetscErrorCode contact_groups_create(delassus *w, contact_groups *out)
{
  PetscFunctionBegin;
  *out                      = (contact_groups){.n = delassus_n_contacts(w)};
  const PetscErrorCode code = delassus_factor(w) ? contact_groups_from_system(w, out) : contact_groups_from_blocks(w, out);
  if (code) contact_groups_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_groups_of(delassus *w, const contact_groups **out)
{
  PetscFunctionBegin;
  if (!w->groups) {
    contact_groups *g;
    PetscCall(memory_alloc("contact groups", 1, sizeof *g, &g));
    const PetscErrorCode code = contact_groups_create(w, g);
    if (code) memory_free(&g);
    PetscCall(code);
    w->groups = g;
  }
  *out = w->groups;
  PetscFunctionReturn(PETSC_SUCCESS);
}
