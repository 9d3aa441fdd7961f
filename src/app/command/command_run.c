/* run, resume, check: the life of a run from its job file. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/stop.h"
#include "app/command/command.h"
#include "app/command/command_list.h"
#include "app/command/command_report.h"
#include "sim/measure/measure.h"
#include "app/render/render.h"
#include "app/report/report.h"
#include "app/run/allocation.h"
#include "app/run/requeue.h"
#include "app/run/run.h"
#include "sim/scene/scene.h"

static const command_option run_options_table[] = {
  {"--out", "DIR", false, "run directory; default: run/NAME"},
  {"--set", "KEY=VALUE", true, "override any key of the job: --set time.step=5e-4 --set contact.pairs[0].friction=0.3"},
  {"--force", NULL, false, "start over where a run already is"},
  {"--continue", NULL, false, "go on from the newest checkpoint where a run already is; of itself when SLURM has requeued the job"},
  {"--requeue", NULL, false, "in a SLURM job: --continue, and when time is up have the job started again, if this start has done a step"},
  {"--accept-changes", NULL, false, "with --continue: take over all that has changed in the job, also what is simulated"},
  {"--steps", "N", false, "stop after N more steps, as if the job ended there"},
  {"--no-picture", NULL, false, "neither still nor report at the end"},
  {"--no-report", NULL, false, "no report at the end"},
  {NULL, NULL, false, NULL}};
static const command_option resume_options_table[] = {
  {"--set", "KEY=VALUE", true, "override a key of the embedded job, e.g. time.end"},
  {"--job", "JOB.yaml", false, "go on with this job instead of the embedded one; what differs is shown"},
  {"--accept-changes", NULL, false, "with --job: take over all that has changed, also what is simulated"},
  {"--steps", "N", false, "stop after N more steps"},
  {"--no-picture", NULL, false, "neither still nor report at the end"},
  {"--no-report", NULL, false, "no report at the end"},
  {NULL, NULL, false, NULL}};
static const command_option check_options_table[] = {
  {"--set", "KEY=VALUE", true, "override any key of the job"},
  {"--resolved", NULL, false, "print the job with every default written out"},
  {NULL, NULL, false, NULL}};

/* False after saying what is wrong. `goes_on`: there is a job that --accept-changes may be about. */
static bool read_options(const command_line *line, bool goes_on, run_options *o, int *n_overrides, const char **overrides)
{
  memset(o, 0, sizeof *o);
  o->comm           = line->comm;
  *n_overrides      = command_values(line, "--set", overrides);
  o->dir            = command_value(line, "--out");
  o->force          = command_value(line, "--force");
  o->accept_changes = command_value(line, "--accept-changes");
  if (o->force && command_value(line, "--continue")) {
    fprintf(stderr, "stickslip run: --force starts over, --continue goes on: give one of them\n");
    return false;
  }
  if (command_value(line, "--requeue") && !requeue_is_possible("run")) return false;
  if (o->accept_changes && !goes_on) {
    fprintf(stderr, "stickslip: --accept-changes goes with `run JOB.yaml --continue` or `resume DIR --job JOB.yaml`\n");
    return false;
  }
  return command_integer(line, "--steps", 1, INT64_MAX / 4, 0, &o->max_steps);
}

static void say_where(const char *dir, bool has_picture, bool has_report)
{
  log_info("results in %s: %s%sframes.xmf (open in ParaView), history.csv, summary.txt, checkpoints/", dir, has_report ? "report.html (open in a browser), " : "",
           has_picture ? "still.png, " : "");
}

static PetscErrorCode picture_of(const char *dir, bool *is_written)
{
  PetscFunctionBegin;
  render_view view;
  job        *owner;
  char        path[4300];
  snprintf(path, sizeof path, "%s/still.png", dir);
  PetscCall(render_view_of_run(dir, &view, &owner));
  PetscCall(render_still(dir, &view, -1, path, is_written));
  job_destroy(&owner);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of runs that failed, too. */
static PetscErrorCode quick_report(const char *dir) { return report_run(dir, NULL, true); }

/* Loop, then the picture: a run that fails still leaves what it has, and its own exit code. */
static PetscErrorCode finish(run *r, const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  char why[512];
  if (run_is_finished(r, sizeof why, why)) {
    log_info("%s has finished (%s): nothing left to do; results are there", run_directory(r), why);
    if (strncmp(why, "until:", 6) == 0) log_info("to go on without that: stickslip resume %s --set until=[]", run_directory(r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(run_loop(r, code));
  const char *dir         = run_directory(r);
  const bool  wants_any   = !command_value(line, "--no-picture");
  bool        has_picture = false, has_report = false;
  if (*code == SS_EXIT_OK && wants_any) PetscCall(picture_of(dir, &has_picture));
  /* stopped by a signal: there is no time to lose */
  if (*code != SS_EXIT_REQUEUE && wants_any && !command_value(line, "--no-report")) has_report = command_write_report(dir, "report", quick_report);
  say_where(dir, has_picture, has_report);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every complaint about the job, or what was opened, to its end. */
static PetscErrorCode carry_out(const command_line *line, diagnostics *d, run *r, exit_code *code)
{
  PetscFunctionBegin;
  PetscCall(diagnostics_close(d, stderr));
  PetscCall(finish(r, line, code));
  const bool has_advanced = run_steps(r) > 0;
  run_destroy(&r);
  if (*code != SS_EXIT_REQUEUE || !command_value(line, "--requeue")) PetscFunctionReturn(PETSC_SUCCESS);
  /* A job too short for a single step would come back for ever. One that was told to end, by scancel or at its limit, ends. */
  if (stop_signal() == SIGTERM) log_info("SIGTERM: not requeued");
  else if (!has_advanced) log_warn("not requeued: this job had not the time for a step");
  else requeue_this_job();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_run(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  run_options  o;
  const char  *overrides[COMMAND_MAX_VALUES];
  int          n_overrides;
  diagnostics *d;
  job         *j       = NULL;
  run         *r       = NULL;
  const bool   goes_on = command_value(line, "--continue") || command_value(line, "--requeue") || allocation_is_restart();
  if (!read_options(line, goes_on, &o, &n_overrides, overrides)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(line->positional[0], n_overrides, overrides, d, &j));
  if (j && goes_on) {
    PetscCall(run_continue(&j, &o, d, &r));
    o.force = true; /* a run without a checkpoint has nothing to lose */
  }
  if (j) PetscCall(run_create(&j, &o, d, &r));
  PetscCall(carry_out(line, d, r, code));
  diagnostics_destroy(&d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_resume(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  run_options  o;
  const char  *overrides[COMMAND_MAX_VALUES], *path = command_value(line, "--job");
  int          n_overrides;
  diagnostics *d;
  job         *j = NULL;
  run         *r = NULL;
  if (!read_options(line, path, &o, &n_overrides, overrides)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(diagnostics_create(&d));
  o.dir = line->positional[0];
  if (path) PetscCall(job_read(path, n_overrides, overrides, d, &j));
  if (j) PetscCall(run_continue(&j, &o, d, &r));
  if (j || !path) PetscCall(run_resume(&o, n_overrides, overrides, d, &r)); /* with a job: to say that there is no run */
  job_destroy(&j);
  PetscCall(carry_out(line, d, r, code));
  diagnostics_destroy(&d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything `run` would refuse, without writing anything. */
static PetscErrorCode command_check(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char  *overrides[COMMAND_MAX_VALUES];
  diagnostics *d;
  job         *j = NULL;
  scene       *s = NULL;
  (void)code;
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(line->positional[0], command_values(line, "--set", overrides), overrides, d, &j));
  if (j) PetscCall(scene_create(line->comm, &j->scene, d, &s));
  if (s) PetscCall(measures_check(s, &j->measure, d));
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without a job diagnostics_close() failed */
  if (command_value(line, "--resolved")) fputs(j->resolved, stdout);
  else PetscCall(scene_describe(s, stdout));
  scene_destroy(&s);
  job_destroy(&j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const command command_run_entry = {"run", "JOB.yaml", "run a job from its start",
  "Reads the job, refuses it whole if anything is wrong, and steps it to its end. In a job script: `stickslip run JOB.yaml --continue`.\n"
  "Ctrl-C, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU or SIGHUP finish the step, write a checkpoint and leave with code 75; a second Ctrl-C or\n"
  "SIGTERM drops the step.",
  1, 1, run_options_table, command_run};
const command command_resume_entry = {"resume", "DIR", "continue a run from its newest valid checkpoint",
  "Continues bit for bit as if the run had never stopped. A damaged checkpoint is named and the one before it is taken.",
  1, 1, resume_options_table, command_resume};
const command command_check_entry = {"check", "JOB.yaml", "say everything that is wrong with a job, and what it would run",
  "Reads and builds the scene, writes nothing.", 1, 1, check_options_table, command_check};
