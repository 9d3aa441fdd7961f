/* Inside of a run, shared by run.c (its life), run_loop.c (time) and run_output.c (what it leaves in its directory). */
#ifndef SS_SIM_RUN_IMPL_H
#define SS_SIM_RUN_IMPL_H
#include "core/field_snapshot.h"
#include "io/frames.h"
#include "io/history.h"
#include "io/run_lock.h"
#include "sim/formulation.h"
#include "sim/measure/measure.h"
#include "sim/run/run.h"
#include "sim/run/run_tally.h"
#include "sim/scene/scene.h"

/* The clockwork's own state, a one-row group of the field table. Times are never accumulated: base_time + (step - base_step) dt,
 * where the base is the start of the run, or the last resume that changed time.step. */
typedef struct {
  int64_t *step; /* whole steps done */
  int64_t *base_step;
  double  *base_time, *dt;
  int64_t *level; /* the last step was taken in 2^level parts */
  int64_t *frame; /* frames written */
  int64_t *retries;
} run_state;

/* What is open in the run's directory while it runs, and when a checkpoint was last written. */
typedef struct {
  measures    *measures;
  frames      *frames;
  const char **frame_fields; /* names of output.fields */
  history     *history;
  double       wall_start, last_checkpoint_wall;
  int64_t      last_checkpoint_step;
} run_output;

struct run {
  job            *job;
  scene          *scene;
  formulation    *formulation;
  field_table    *fields;
  run_lock       *lock;
  run_output      output;
  field_snapshot *snapshot; /* the state at the start of a step that is taken in parts */
  char            dir[4096], checkpoint_dir[4200];
  run_state       state;
  run_tally       tally; /* since it was started or resumed */
  int64_t         one; /* row count of the state group */
  int64_t         max_steps;
};

static inline double run_time(const run *r)
{
  return *r->state.base_time + (double)(*r->state.step - *r->state.base_step) * *r->state.dt;
}
/* Is `every` (simulated seconds) due at the end of this step? Counted in steps: no drift. */
bool run_is_due(const run *r, double every);

/* Names under output.fields must be fields of something. */
PetscErrorCode run_check_frame_fields(const run *r, diagnostics *d);
/* Open everything under r->dir: anew (resume_step -1), or cut back to the step that is resumed. The caller holds the lock. */
PetscErrorCode run_open_outputs(run *r, int64_t resume_step);
void           run_close_outputs(run *r);
/* What is due at the end of a step that took `seconds` and `retries`. */
PetscErrorCode run_write_outputs(run *r, const step_report *report, int64_t retries, double seconds);
/* A frame and the measures of the state before the first step. */
PetscErrorCode run_write_start(run *r);
PetscErrorCode run_write_frame(run *r);
/* Nothing if the newest checkpoint is of this step. */
PetscErrorCode run_write_checkpoint(run *r);
/* failure.txt and the log: which step, why, where, what may help. */
PetscErrorCode run_write_failure(const run *r, const step_verdict *verdict);
/* summary.txt: what its steps took and found, and time by stage. */
PetscErrorCode run_write_summary(const run *r, int64_t n_steps);
#endif
