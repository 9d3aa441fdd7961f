/* What formulations share whose steps lay out velocities: how a step begins, and is taken or refused; and, where contacts are rows
 * of a sparse map that a law is put on, everything around that law. */
#ifndef SS_SIM_STEP_STEP_FRAME_H
#define SS_SIM_STEP_STEP_FRAME_H
#include "sim/step/formulation.h"
#include "sim/step/step_record.h"

/* A step in the hands of a formulation. */
typedef struct {
  /* Solve it and make it permanent; a negative verdict: nothing has changed. */
  PetscErrorCode (*attempt)(void *context, step_verdict *verdict, step_report *report);
  void (*finish)(void *context); /* frees what the attempt holds, however it ended */
  void *context;
} step_try;
/* Begin the step from t to t + dt, with an empty report, and attempt it. */
PetscErrorCode step_take(step_layout *l, double t, double dt, const step_try *own, step_verdict *verdict, step_report *report);

/* A formulation with contacts as rows begins with this one, whatever else it has. */
typedef struct {
  formulation   base;
  step_layout   layout;
  step_contacts contacts;
  step_record   record;
} step_frame;

/* *f, zeros, is filled in place; f->base.ops is set by the caller. Tangents of all systems are symmetric and definite from now on.
 * overlap_share: step_contacts.h. */
PetscErrorCode step_frame_create(scene *s, double overlap_share, step_frame *f);
void           step_frame_destroy(step_frame *f); /* copes with zeros */
/* State: what contacts remember. `f` must stay where it is as long as the table. */
PetscErrorCode step_frame_fields(step_frame *f, field_table *table);
/* The step that the layout has begun: its unknowns, l->v = v0 with obstacles where they will be, and its contacts. */
PetscErrorCode step_frame_start(step_frame *f, step_unknowns *u, step_verdict *verdict);
/* l->v solves it: make it permanent, unless a body refuses. report->contact is filled. */
PetscErrorCode step_frame_accept(step_frame *f, const step_outcome *law, step_verdict *verdict, step_report *report);
#endif
