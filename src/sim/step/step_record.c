#include "sim/step/step_record.h"

void step_record_destroy(step_record *r)
{
  step_impulses_destroy(&r->known);
  contact_points_destroy(&r->points);
  contact_forces_destroy(&r->forces);
}

void step_record_attach(const step_record *r, formulation *f) { f->points = &r->points, f->forces = &r->forces; }

PetscErrorCode step_record_fields(step_record *r, field_table *table)
{
  PetscFunctionBegin;
  PetscCall(step_impulses_fields(&r->known, table));
  PetscCall(contact_points_fields(&r->points, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
