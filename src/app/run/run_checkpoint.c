/* When a run writes its checkpoints, and who does: it itself, or a child beside it. */
#include "core/log.h"
#include "core/timer.h"
#include "io/checkpoint.h"
#include "app/run/run_impl.h"

/* Seconds: what may be lost of stages.csv when a run is killed; short runs write it once. */
static const double STAGES_INTERVAL = 5.0;
/* Beside, if the last one made the computation wait for so much of its time, and longer than forking and copying pages takes. */
static const double WORTH_SHARE = 0.01, WORTH_SECONDS = 0.2;

static checkpoint_head head_of(const run *r)
{
  return (checkpoint_head){r->job->scene.name, r->formulation->ops->scene.name, r->job->resolved, *r->state.step, run_time(r)};
}

/* What must be on the disk before a checkpoint that relies on it. */
static PetscErrorCode flush_tables(run *r)
{
  PetscFunctionBegin;
  PetscCall(history_flush(r->output.history));
  PetscCall(measures_flush(r->measures));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_standing(run *r)
{
  PetscFunctionBegin;
  PetscCall(run_write_result(r, RUN_RUNNING, -1, ""));
  if (timer_now() - r->output.last_stages_wall > STAGES_INTERVAL) {
    PetscCall(run_stages_write(r->dir, &r->past_stages));
    r->output.last_stages_wall = timer_now();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_now(run *r)
{
  PetscFunctionBegin;
  run_output  *o     = &r->output;
  const double begun = timer_now(), since = begun - o->last_checkpoint_wall;
  timer_begin(TIMER_CHECKPOINT);
  const checkpoint_head head = head_of(r);
  PetscCall(flush_tables(r));
  PetscCall(checkpoint_write(r->checkpoint_dir, &head, r->fields, (int)r->job->output->keep));
  o->last_checkpoint_wall = timer_now();
  o->last_checkpoint_step = *r->state.step;
  o->checkpoint_seconds   = o->last_checkpoint_wall - begun;
  o->checkpoint_share     = o->checkpoint_seconds / (o->checkpoint_seconds + since);
  PetscCall(write_standing(r));
  timer_end(TIMER_CHECKPOINT);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_worth_beside(const run *r)
{
  const int wanted = r->job->output->checkpoint_beside;
  if (wanted == JOB_BESIDE_NEVER) return false;
  if (wanted == JOB_BESIDE_AUTO && !(r->output.checkpoint_share > WORTH_SHARE && r->output.checkpoint_seconds > WORTH_SECONDS))
    return false;
  return checkpoint_beside_has_room(r->pace.memory);
}

PetscErrorCode run_look_beside(run *r, bool wait)
{
  PetscFunctionBegin;
  run_output           *o = &r->output;
  checkpoint_beside_end end;
  if (!o->beside) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_CHECKPOINT);
  PetscCall(checkpoint_beside_look(&o->beside, wait, &end));
  timer_end(TIMER_CHECKPOINT);
  if (end.is_running) PetscFunctionReturn(PETSC_SUCCESS);
  if (end.is_written) {
    o->checkpoint_seconds = end.seconds; /* what it would take if the computation had to wait */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  o->last_checkpoint_step = -1;
  PetscCall(write_now(r)); /* or the error that says what is wrong */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_write_checkpoint(run *r)
{
  PetscFunctionBegin;
  PetscCall(run_look_beside(r, true));
  if (r->output.last_checkpoint_step != *r->state.step) PetscCall(write_now(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_write_due_checkpoint(run *r)
{
  PetscFunctionBegin;
  run_output *o = &r->output;
  PetscCall(run_look_beside(r, true));
  if (o->last_checkpoint_step == *r->state.step) PetscFunctionReturn(PETSC_SUCCESS);
  if (is_worth_beside(r)) {
    timer_begin(TIMER_CHECKPOINT);
    const checkpoint_head head = head_of(r);
    PetscCall(flush_tables(r));
    PetscCall(checkpoint_beside_start(r->checkpoint_dir, &head, r->fields, (int)r->job->output->keep, &o->beside));
    if (o->beside) {
      o->last_checkpoint_wall = timer_now();
      o->last_checkpoint_step = *r->state.step;
      PetscCall(write_standing(r));
    }
    timer_end(TIMER_CHECKPOINT);
  }
  if (!o->beside) PetscCall(write_now(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
