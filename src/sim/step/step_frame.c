/* Sequence of a step: begin the layout, run the attempt of the formulation, record the accepted state. */
#include "sim/step/step_frame.h"
#include "core/error.h"
#include "core/memory.h"
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

PetscErrorCode step_frame_create(scene *s, double overlap_correction, bool skips_resting, step_frame *f)
{
  PetscFunctionBegin;
  step_record_attach(&f->record, &f->base);
  PetscCall(step_layout_create(s, &f->layout));
  PetscCall(step_contacts_create(s, overlap_correction, &f->contacts));
  PetscCall(resting_islands_create(s, skips_resting, &f->resting));
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
  resting_islands_destroy(&f->resting);
  step_record_destroy(&f->record);
}

PetscErrorCode step_frame_fields(step_frame *f, field_table *table)
{
  PetscFunctionBegin;
  PetscCall(step_record_fields(&f->record, table));
  PetscCall(resting_islands_fields(&f->resting, table));
  PetscCall(fibre_scene_fields(f->contacts.fibres, table));
  PetscCall(surface_scene_fields(f->contacts.surfaces, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Velocities of the start of the step, and poses of obstacles at its end. */
static PetscErrorCode start_velocities(step_layout *l)
{
  PetscFunctionBegin;
  if (l->n_blocks > 0) memcpy(l->v, l->v0, (size_t)(3 * l->n_blocks) * sizeof *l->v);
  PetscCall(step_layout_update_poses(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Detect the contacts of the step, c->set. Islands that something approaches, or all, wake with the forces of their contacts; then the step begins again. */
static PetscErrorCode detect_contacts(step_frame *f, bool wakes_all, step_status *status)
{
  step_layout   *l     = &f->layout;
  step_contacts *c     = &f->contacts;
  bool           wakes = false;
  int64_t        n;
  uint64_t      *key __attribute__((cleanup(memory_free)))   = NULL;
  double        *force __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  bool sees_resting = !wakes_all && resting_islands_sees_motion(&f->resting, l);
  if (!wakes_all) PetscCall(step_contacts_detect(c, l, sees_resting, status));
  if (status->code == STEP_OK && !wakes_all && !sees_resting &&
      resting_islands_are_touched(&f->resting, contact_set_size(c->set), contact_set_get(c->set), l)) {
    sees_resting = true;
    PetscCall(step_contacts_detect(c, l, true, status));
  }
  if (status->code != STEP_OK || !(wakes_all || sees_resting)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(resting_islands_wake(&f->resting, wakes_all, contact_set_size(c->set), contact_set_get(c->set), l, &wakes, &n, &key, &force));
  if (wakes) {
    PetscCall(step_impulses_insert(&f->record.known, n, key, force));
    PetscCall(step_layout_begin(l, l->t, l->dt, status));
    if (status->code == STEP_OK) PetscCall(start_velocities(l));
  }
  if (status->code == STEP_OK) PetscCall(step_contacts_detect(c, l, false, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_frame_start(step_frame *f, step_unknowns *u, step_status *status)
{
  step_layout *l = &f->layout;
  PetscFunctionBegin;
  PetscCall(start_velocities(l));
  PetscCall(detect_contacts(f, f->resting.n_resting > 0 && (f->base.has_changed_job || !f->resting.is_wanted), status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(step_unknowns_create(l, u));
  PetscCall(step_contacts_build(&f->contacts, l, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_frame_accept(step_frame *f, const step_outcome *law, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  step_layout *l = &f->layout;
  PetscCall(step_layout_end(l, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(step_contact_report(&f->contacts, l, law, &f->resting.contacts, &f->record, &report->contact));
  PetscCall(resting_islands_update(&f->resting, step_contacts_size(&f->contacts), step_contacts_spots(&f->contacts), l, &f->record.points,
                                   f->record.row, law->energy));
  if (f->resting.contacts.n > 0) step_impulses_remove(&f->record.known, f->resting.contacts.n, f->resting.contacts.key);
  report->resting         = f->resting.n_resting;
  f->base.has_changed_job = false;
  PetscCall(fibre_scene_accept(f->contacts.fibres));
  PetscCall(surface_scene_accept(f->contacts.surfaces));
  PetscCall(scene_set_time(l->scene, l->t + l->dt));
  PetscFunctionReturn(PETSC_SUCCESS);
}
