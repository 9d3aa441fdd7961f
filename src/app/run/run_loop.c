/* A run in time: whole steps, failed ones again in parts, until the end, a signal or a failure for good. */
#include "app/run/run_impl.h"
#include <string.h>
#include "core/log.h"
#include "core/math3.h"
#include "core/stop.h"
#include "core/timer.h"

/* --- stepping ------------------------------------------------------------------------------------------------------ */

static void add_report(step_report *sum, const step_report *part)
{
  const step_report before = *sum;
  *sum                     = *part; /* contact state: of the last part */
  sum->residual    = fmax(before.residual, part->residual);
  sum->is_unsolved = before.is_unsolved || part->is_unsolved;
  sum->newton_iterations += before.newton_iterations;
  sum->linear_iterations += before.linear_iterations;
  sum->inner_iterations += before.inner_iterations;
  sum->evaluations += before.evaluations;
  sum->fallbacks += before.fallbacks;
  sum->contact.friction_work += before.contact.friction_work;
  sum->contact.friction_astray += before.contact.friction_astray;
  sum->friction.iterations += before.friction.iterations;
  sum->friction.absolute = fmax(before.friction.absolute, part->friction.absolute);
  sum->friction.siconos  = fmax(before.friction.siconos, part->friction.siconos);
  sum->friction.scaled   = fmax(before.friction.scaled, part->friction.scaled);
  sum->continuum.stress_iterations += before.continuum.stress_iterations;
  sum->continuum.contact_iterations += before.continuum.contact_iterations;
  sum->continuum.error           = fmax(before.continuum.error, part->continuum.error);
  sum->continuum.yield           = fmax(before.continuum.yield, part->continuum.yield);
  sum->continuum.volume_rate     = fmax(before.continuum.volume_rate, part->continuum.volume_rate);
  sum->contact.max_cone_violation = fmax(before.contact.max_cone_violation, part->contact.max_cone_violation);
  sum->contact.slip_angle         = fmax(before.contact.slip_angle, part->contact.slip_angle);
  sum->contact.power_loss_angle   = fmax(before.contact.power_loss_angle, part->contact.power_loss_angle);
  sum->contact.natural_map        = fmax(before.contact.natural_map, part->contact.natural_map);
  sum->contact.natural_map_curved = fmax(before.contact.natural_map_curved, part->contact.natural_map_curved);
  sum->contact.relaxations        = before.contact.relaxations;
  relax_statistics_merge(&sum->contact.relaxations, &part->contact.relaxations);
}

/* One whole step, in 2^level equal parts; a part that fails is halved again, within the job's limit. The next step starts one
 * level lower. The position inside the step is kept in units of the smallest part, so it is exact. */
static PetscErrorCode take_step(run *r, step_verdict *verdict, step_report *report, int64_t *retries)
{
  PetscFunctionBegin;
  const double  t0 = run_time(r), dt = r->job->scene.time->step;
  const int64_t max_level = r->job->scene.time->retry->halvings, whole = (int64_t)1 << max_level;
  int64_t       level = *r->state.level > 0 ? *r->state.level - 1 : 0, at = 0;
  memset(report, 0, sizeof *report);
  *retries = 0;
  if (level > max_level) level = max_level;
  while (at < whole) {
    const int64_t part = whole >> level;
    const double  t = t0 + dt * ((double)at / (double)whole), h = dt * ((double)part / (double)whole);
    step_report   one;
    if (at == 0 && level > 0) PetscCall(field_snapshot_take(r->snapshot, r->fields));
    PetscCall(r->formulation->ops->step(r->formulation, t, h, verdict, &one));
    if (verdict->code == STEP_OK) {
      add_report(report, &one);
      at += part;
      continue;
    }
    if (verdict->code == STEP_DROPPED) level = max_level; /* no other attempt */
    else
      log_debug("step %lld at t = %g s: %s%s%s; retrying with %g s", (long long)*r->state.step + 1, t, step_code_text(verdict->code),
                verdict->body ? " in " : "", verdict->body ? verdict->body : "", 0.5 * h);
    ++*retries;
    if (level == max_level) {
      /* Parts already taken are given back, so that what is saved is the state before this step. */
      if (at > 0) PetscCall(field_snapshot_restore(r->snapshot, r->fields));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    ++level;
  }
  *r->state.level = level;
  *r->state.retries += *retries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void show_progress(const run *r, int64_t first, int64_t last, const step_report *report)
{
  const int64_t step = *r->state.step;
  const double  wall = timer_now() - r->output.wall_start,
               eta   = step > first ? wall / (double)(step - first) * (double)(last - step) : 0.0;
  log_progress(
      "t %.4g/%.4g s  step %lld/%lld  frame %lld  contacts %lld  %s %lld  %s %lld  %.3g s/step  ETA %lld:%02lld:%02lld",
      run_time(r), r->job->scene.time->end, (long long)step, (long long)last, (long long)*r->state.frame,
      (long long)report->contact.n_active, r->formulation->ops->outer, (long long)report->newton_iterations, r->formulation->ops->inner,
      (long long)(report->linear_iterations + report->friction.iterations),
      step > first ? wall / (double)(step - first) : 0.0, (long long)eta / 3600, (long long)eta / 60 % 60, (long long)eta % 60);
}

/* What a step found, summed up in the state: a resumed run goes on from there. */
static void count_step(run *r, step_report *report)
{
  run_state *s = &r->state;
  *s->newton += report->newton_iterations;
  *s->linear += report->linear_iterations;
  *s->contacts        = report->contact.n_active;
  *s->friction_work += report->contact.friction_work;
  *s->friction_astray += report->contact.friction_astray;
  report->friction_work   = *s->friction_work;
  report->friction_astray = *s->friction_astray;
  *s->max_penetration   = fmax(*s->max_penetration, report->contact.max_penetration);
  ++*s->step;
}

/* Told once; the run's summary counts them. */
static void tell_unsolved(const run *r, const step_report *report)
{
  log_progress_end();
  log_warn("step %lld, at t = %g s, was taken with more left of its equations than solver.newton.tolerance, %g: %.3g %s; "
           "history.csv has it in the column residual, of every step",
           (long long)*r->state.step, run_time(r), r->job->scene.solver->newton->tolerance, report->residual, newton_norm_unit(r->job->scene.solver->newton));
}

/* How it ended, and why, in one line. */
typedef struct {
  run_status status;
  exit_code  code;
  char       reason[512];
} run_end;

bool run_is_over(const run *r, int64_t last, size_t size, char *why)
{
  char what[400];
  snprintf(why, size, "end of time");
  if (!until_met(r->until, sizeof what, what)) return *r->state.step >= last;
  snprintf(why, size, "until: %s", what);
  return true;
}

/* No step failed: the state as it is now, and whether more of it is to come; `why` it must leave, "" if it need not. */
static PetscErrorCode leave_off(run *r, int64_t last, const char *why, run_end *end)
{
  PetscFunctionBegin;
  *end            = (run_end){RUN_FINISHED, SS_EXIT_OK, ""};
  const bool over = run_is_over(r, last, sizeof end->reason, end->reason);
  if (over) PetscCall(run_write_last_frame(r));
  PetscCall(run_write_checkpoint(r));
  if (over) {
    if (*r->state.step < last) log_info("ended by %s, at t = %g s", end->reason, run_time(r));
  } else if (*why) {
    log_info("%s: left after step %lld; continue with `stickslip resume %s`", why, (long long)*r->state.step, r->dir);
    *end = (run_end){RUN_STOPPED, SS_EXIT_REQUEUE, ""};
    snprintf(end->reason, sizeof end->reason, "%s", why);
  } else {
    *end = (run_end){RUN_STOPPED, SS_EXIT_OK, ""};
    snprintf(end->reason, sizeof end->reason, "--steps %lld", (long long)r->max_steps);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int64_t run_last_step(const run *r)
{
  const double  left = (r->job->scene.time->end - *r->state.base_time) / r->job->scene.time->step * (1 - 1e-12);
  const int64_t last = *r->state.base_step + (left > 0 ? (int64_t)ceil(left) : 0);
  return last > *r->state.step ? last : *r->state.step;
}

static PetscErrorCode advance(run *r, run_end *end)
{
  PetscFunctionBegin;
  const double  dt     = r->job->scene.time->step;
  const int64_t first  = *r->state.step, last = run_last_step(r);
  const int64_t stop   = r->max_steps > 0 && first + r->max_steps < last ? first + r->max_steps : last;
  step_report   report = {0};
  char          why[160] = "";
  PetscCall(run_begin_result(r));
  run_leave_begin(r);
  if (*r->state.frame == 0) PetscCall(run_write_start(r));
  *end = (run_end){RUN_FINISHED, SS_EXIT_OK, ""};
  while (!run_is_over(r, stop, sizeof end->reason, end->reason) && !run_must_leave(r, sizeof why, why)) {
    step_verdict verdict = {STEP_OK, NULL, -1};
    int64_t      retries;
    const double begun = timer_now();
    PetscCall(take_step(r, &verdict, &report, &retries));
    if (verdict.code == STEP_DROPPED) continue; /* asks again whether to leave, and is told why */
    if (verdict.code != STEP_OK) {
      log_progress_end();
      PetscCall(run_write_checkpoint(r));
      PetscCall(run_write_failure(r, &verdict));
      *end = (run_end){RUN_FAILED, SS_EXIT_STEP_FAILED, ""};
      run_failure_text(r, &verdict, sizeof end->reason, end->reason);
      break;
    }
    count_step(r, &report);
    run_tally_add(&r->tally, dt, &report, retries);
    if (report.is_unsolved && r->tally.n_unsolved == 1) tell_unsolved(r, &report);
    PetscCall(scene_emit(r->scene, run_time(r), dt));
    PetscCall(run_write_outputs(r, &report, retries, timer_now() - begun));
    run_leave_step(r, timer_now() - begun);
    show_progress(r, first, last, &report);
  }
  log_progress_end();
  if (end->code == SS_EXIT_OK) PetscCall(leave_off(r, last, why, end));
  PetscCall(run_write_summary(r, *r->state.step - first));
  PetscCall(run_write_result(r, end->status, end->code, end->reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_loop(run *r, exit_code *code)
{
  PetscFunctionBegin;
  run_end end;
  timer_reset();
  run_tally_begin(&r->tally);
  const PetscErrorCode error = advance(r, &end);
  if (error && r->output.beside) { /* what it saves is the newest there is */
    checkpoint_beside_end written;
    (void)checkpoint_beside_look(&r->output.beside, true, &written);
  }
  /* Whatever went wrong is what is reported; that it cannot be written down, too, adds nothing. */
  if (error) (void)run_write_result(r, RUN_FAILED, (int)error_exit_code(error), error_message());
  *code = end.code;
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
