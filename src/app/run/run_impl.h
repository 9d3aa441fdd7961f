/* Inside of a run, shared by run.c (its life), run_loop.c (time) and run_output.c (what it leaves in its directory). */
#ifndef SS_APP_RUN_RUN_IMPL_H
#define SS_APP_RUN_RUN_IMPL_H
#include "core/field_snapshot.h"
#include "io/checkpoint_beside.h"
#include "io/frames.h"
#include "io/history.h"
#include "io/run_lock.h"
#include "sim/formulations.h"
#include "sim/measure/measure.h"
#include "app/run/run.h"
#include "app/run/run_leave.h"
#include "app/run/run_stages.h"
#include "app/run/run_result.h"
#include "app/run/run_state.h"
#include "app/run/run_tally.h"
#include "app/job/until.h"
#include "sim/scene/scene.h"

/* What is open in the run's directory while it runs, and when a checkpoint was last written. */
typedef struct {
  frames      *frames;
  const char **frame_fields; /* names of output.fields */
  history     *history;
  double       wall_start, last_checkpoint_wall, last_stages_wall;
  double       checkpoint_seconds; /* what the last one took; 0: none yet */
  int64_t      last_checkpoint_step;
  double       checkpoint_share; /* of the time between the last two that the computation waited for the last */
  checkpoint_beside *beside;     /* one being written; or NULL */
} run_output;

enum { RUN_DATE = 24 };
/* What the starts before this one took, from their result.yaml. */
typedef struct {
  bool    is_finished; /* and at which step */
  int64_t step, starts;
  double  seconds, user_seconds, peak_memory;
  char    begun[RUN_DATE]; /* when the first began */
} run_past;

struct run {
  job            *job;
  scene          *scene;
  formulation    *formulation;
  field_table    *fields;
  memo           *memo;
  measures       *measures;
  until          *until;
  run_lock       *lock;
  run_output      output;
  field_snapshot *snapshot; /* the state at the start of a step that is taken in parts */
  char            dir[4096], checkpoint_dir[4200];
  run_state       state;
  run_past        past;
  run_stages      past_stages; /* likewise */
  run_tally       tally; /* since it was started or resumed */
  run_pace        pace;
  bool            is_changed; /* the job, since the start before */
  int64_t         max_steps;
};

static inline double run_time(const run *r) { return run_state_time(&r->state); }
/* The step at which time.end is reached, or passed by less than a step; at least the present one. */
int64_t run_last_step(const run *r);
/* Is it at step `last`, or has a condition of until: been met? `why` in words: "end of time", "until: ...". */
bool run_is_over(const run *r, int64_t last, size_t size, char *why);
static inline sim_clock run_clock(const run *r) { return (sim_clock){*r->state.step, run_time(r), *r->state.dt}; }
/* Is `every` (simulated seconds) due at the end of this step? */
bool run_is_due(const run *r, double every);

/* Names under output.fields must be fields of something. */
PetscErrorCode run_check_frame_fields(const run *r, diagnostics *d);
/* Open everything under r->dir: anew (resume_step -1), or cut back to the step that is resumed. The caller holds the lock. */
PetscErrorCode run_open_outputs(run *r, int64_t resume_step);
void           run_close_outputs(run *r);
/* What is due at the end of a step that took `seconds` and `retries`. */
PetscErrorCode run_write_outputs(run *r, const step_report *report, int64_t retries, double seconds);
/* The frame at the end, unless one has been written of this step. */
PetscErrorCode run_write_last_frame(run *r);
/* A frame and the measures of the state before the first step. */
PetscErrorCode run_write_start(run *r);
PetscErrorCode run_write_frame(run *r);
/* A checkpoint, and result.yaml. Nothing if the newest checkpoint is of this step. Waits for one that is being written beside. */
PetscErrorCode run_write_checkpoint(run *r);
/* The same, or begins one beside the computation where the job wants that and memory allows it. */
PetscErrorCode run_write_due_checkpoint(run *r);
/* Has the one beside come to its end? If it failed, this writes the present state at once. `wait`: until it has. */
PetscErrorCode run_look_beside(run *r, bool wait);
/* In one line: which step failed, and why. */
void run_failure_text(const run *r, const step_verdict *verdict, size_t size, char *text);
/* failure.txt and the log: that, where, and what may help. */
PetscErrorCode run_write_failure(const run *r, const step_verdict *verdict);
/* On resuming: what the starts before took, from the result.yaml they left. A damaged one is named by log_warn and forgotten. */
PetscErrorCode run_read_past(run *r);
PetscErrorCode run_begin_result(run *r);
/* Replace result.yaml: how it stands, and why it ended ("" while running). */
PetscErrorCode run_write_result(const run *r, run_status status, int code, const char *reason);
/* summary.txt: what its steps took and found, and time by stage. */
PetscErrorCode run_write_summary(const run *r, int64_t n_steps);
#endif
