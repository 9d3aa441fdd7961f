/* Common sequence of a step: begin the layout, attempt the step, accept or reject it (step_run_attempt, used by all formulations).
 * step_frame contains the common data of formulations with contact rows: unknowns, contact detection, and the record of an accepted
 * step; used by exact and convex. */
#ifndef SS_SIM_STEP_STEP_FRAME_H
#define SS_SIM_STEP_STEP_FRAME_H
#include "sim/step/formulation.h"
#include "sim/step/resting_islands.h"
#include "sim/step/step_record.h"

/* One attempt at a step, implemented by a formulation. */
typedef struct {
  /* Solve the step and make it permanent. If the status is negative, nothing has changed. */
  PetscErrorCode (*attempt)(void *context, step_status *status, step_report *report);
  void (*finish)(void *context); /* frees the temporary data of an accepted or rejected attempt; NULL: no data */
  void *context;
} step_attempt;
/* Begin the step of formulation f from t to t + dt with an empty report, then attempt it. */
PetscErrorCode step_run_attempt(const formulation *f, step_layout *l, double t, double dt, const step_attempt *own, step_status *status,
                                step_report *report);

/* First member of the structs of formulations whose contacts are rows. */
typedef struct {
  formulation     base;
  step_layout     layout;
  step_contacts   contacts;
  step_record     record;
  resting_islands resting;
} step_frame;

/* Fill in *f, which is zero except for f->base.ops. Sets all systems to symmetric positive definite tangents. overlap_correction:
 * see step_contacts_create; skips_resting: steps leave islands at rest out. */
PetscErrorCode step_frame_create(scene *s, double overlap_correction, bool skips_resting, step_frame *f);
void           step_frame_destroy(step_frame *f); /* accepts zeros */
/* Register the contact state of checkpoints. `f` must not move while the table exists. */
PetscErrorCode step_frame_fields(step_frame *f, field_table *table);
/* Prepare the step that the layout has begun: create the unknowns, set l->v = v0 with the poses of obstacles at the end of the
 * step, and detect contacts. */
PetscErrorCode step_frame_start(step_frame *f, step_unknowns *u, step_status *status);
/* l->v is the solution: make it permanent unless a body rejects the step. Fills report->contact. */
PetscErrorCode step_frame_accept(step_frame *f, const step_outcome *law, step_status *status, step_report *report);
#endif
