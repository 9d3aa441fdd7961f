#include "app/run/run_state.h"
#include "core/memory.h"

static const int64_t one_row = 1;

PetscErrorCode run_state_create(run_state *s, field_table *table)
{
  PetscFunctionBegin;
  field_group *g;
  PetscCall(field_table_add_group(table, "run", FIELD_GROUP_PLAIN, &one_row, s, &g));
#define X(member, name, type, field_type, unit, help)                \
  PetscCall(memory_alloc("run state", 1, sizeof(type), &s->member)); \
  PetscCall(field_table_add(table, g, name, unit, field_type, 1, &s->member, FIELD_CHECKPOINT, help));
  RUN_STATE_TABLE(X)
#undef X
  PetscFunctionReturn(PETSC_SUCCESS);
}

void run_state_destroy(run_state *s)
{
#define X(member, name, type, field_type, unit, help) memory_free(&s->member);
  RUN_STATE_TABLE(X)
#undef X
}
