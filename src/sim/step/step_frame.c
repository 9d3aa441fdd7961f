/* Sequence of a step: begin the layout, run the attempt of the formulation, record the accepted state. */
#include "sim/step/step_frame.h"
#include "core/error.h"
#include <string.h>

PetscErrorCode step_run_attempt(const formulation *f, step_layout *l, double t, double dt, const step_attempt *own, step_status *status,
                                step_report *report)
{
  PetscFunctionBegin;
  *status = (step_status){STEP_OK, NULL, -1};
  memset(report, 0, sizeof *report);
  report->friction_method = -1;
  l->accepts_unconverged  = f->accepts_unconverged;
  l->is_precise           = f->is_precise;
  l->repeats_stalled      = f->repeats_stalled;
  PetscCall(step_layout_begin(l, t, dt, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode code = own->attempt(own->context, status, report);
  if (own->finish) own->finish(own->context);
  if (code == PETSC_ERR_MAT_CH_ZRPVT) { /* bodies guarantee definite matrices, except for rounding */
    error_clear();
    *status = (step_status){STEP_NOT_DEFINITE, NULL, -1};
  } else PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_frame_create(scene *s, double overlap_correction, step_frame *f)
{
  PetscFunctionBegin;
  step_record_attach(&f->record, &f->base);
  PetscCall(step_layout_create(s, &f->layout));
  PetscCall(step_contacts_create(s, overlap_correction, &f->contacts));
  for (int i = 0; i < s->n_bodies; ++i) { /* also of bodies that wait */
    body *system = body_system(s->bodies[i].body);
    if (system && system->ops->set_definite) system->ops->set_definite(system, true);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_frame_destroy(step_frame *f)
{
  step_layout_destroy(&f->layout);
  step_contacts_destroy(&f->contacts);
  step_record_destroy(&f->record);
}

PetscErrorCode step_frame_fields(step_frame *f, field_table *table)
{
  PetscFunctionBegin;
  PetscCall(step_record_fields(&f->record, table));
  PetscCall(fibre_scene_fields(f->contacts.fibres, table));
  PetscCall(surface_scene_fields(f->contacts.surfaces, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_frame_start(step_frame *f, step_unknowns *u, step_status *status)
{
  PetscFunctionBegin;
  step_layout *l = &f->layout;
  PetscCall(step_unknowns_create(l, u));
  memcpy(l->v, l->v0, (size_t)(3 * l->n_blocks) * sizeof *l->v);
  PetscCall(step_layout_update_poses(l)); /* poses of obstacles at the end of the step */
  PetscCall(step_contacts_find(&f->contacts, l, u, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_frame_accept(step_frame *f, const step_outcome *law, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  step_layout *l = &f->layout;
  PetscCall(step_layout_end(l, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(step_contact_report(&f->contacts, l, law, &f->record, &report->contact));
  PetscCall(fibre_scene_accept(f->contacts.fibres));
  PetscCall(surface_scene_accept(f->contacts.surfaces));
  PetscCall(scene_set_time(l->scene, l->t + l->dt));
  PetscFunctionReturn(PETSC_SUCCESS);
}
