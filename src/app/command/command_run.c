/* The commands run, resume and check. They read a job, create or continue a run (app/run/run.h), and write a picture and a
 * report at its end. */
#include <signal.h>
#include <string.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/stop.h"
#include "core/version.h"
#include "app/command/command_line.h"
#include "app/render/render.h"
#include "app/report/page.h"
#include "app/report/report_run.h"
#include "app/run/allocation.h"
#include "app/run/run.h"
#include "app/run/run_errors.h"
#include "app/run/run_estimate.h"
#include "io/yaml.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_plausibility.h"

static const command_option run_options_table[] = {
    {"--out", "DIR", false, "run directory; default: run/NAME"},
    {"--set", "KEY=VALUE", true, "override any key of the job: --set time.step=5e-4 --set contact.pairs[0].friction=0.3"},
    {"--no-warn", "CODE", true, "ignore warnings with this code, see docs/reference/warnings.md; the run stores it as ignore_warnings"},
    {"--force", NULL, false, "start again from time 0 if the directory contains a run"},
    {"--continue", NULL, false,
     "continue from the newest checkpoint if the directory contains a run; automatic if SLURM has requeued the job"},
    {"--requeue", NULL, false, "in a SLURM job: --continue, and requeue the job at the time limit if at least one step was done"},
    {"--accept-changes", NULL, false, "with --continue: accept all changes of the job, including those of the simulated scene"},
    {"--steps", "N", false, "stop after N more steps"},
    {"--strict", NULL, false, "exit code 5 if the run finishes with a bad entry in its quality block"},
    {"--no-picture", NULL, false, "write no picture and no report at the end"},
    {"--no-report", NULL, false, "write no report at the end"},
    {NULL, NULL, false, NULL}};
static const command_option resume_options_table[] = {
    {"--set", "KEY=VALUE", true, "override a key of the job stored in the checkpoint, e.g. time.end"},
    {"--no-warn", "CODE", true, "ignore warnings with this code, see docs/reference/warnings.md; the run stores it as ignore_warnings"},
    {"--job", "JOB.yaml", false, "continue with this job instead of the stored one; the differences are logged"},
    {"--accept-changes", NULL, false, "with --job: accept all changes, including those of the simulated scene"},
    {"--steps", "N", false, "stop after N more steps"},
    {"--strict", NULL, false, "exit code 5 if the run finishes with a bad entry in its quality block"},
    {"--no-picture", NULL, false, "write no picture and no report at the end"},
    {"--no-report", NULL, false, "write no report at the end"},
    {NULL, NULL, false, NULL}};
static const command_option check_options_table[] = {
    {"--set", "KEY=VALUE", true, "override any key of the job"},
    {"--no-warn", "CODE", true, "ignore warnings with this code, see docs/reference/warnings.md"},
    {"--resolved", NULL, false, "print the job with all defaults written out"},
    {NULL, NULL, false, NULL}};

/* Prints a message and returns false if the options are inconsistent. `may_change`: the command continues a run with a given
 * job, so --accept-changes is meaningful. */
static bool read_run_options(const command_line *line, bool may_change, run_options *o, int *n_overrides, const char **overrides)
{
  memset(o, 0, sizeof *o);
  o->comm      = line->comm;
  *n_overrides = command_overrides(line, overrides);
  o->dir       = command_value(line, "--out");
  o->force     = command_value(line, "--force");
  if (*n_overrides < 0) return false;
  o->accept_changes = command_value(line, "--accept-changes");
  o->is_strict      = command_value(line, "--strict");
  if (o->force && command_value(line, "--continue")) {
    fprintf(stderr, "stickslip run: --force and --continue contradict each other; give one of them\n");
    return false;
  }
  if (command_value(line, "--requeue") && !allocation_can_requeue("run")) return false;
  if (o->accept_changes && !may_change) {
    fprintf(stderr, "stickslip: --accept-changes requires `run JOB.yaml --continue` or `resume DIR --job JOB.yaml`\n");
    return false;
  }
  return command_integer(line, "--steps", 1, INT64_MAX / 4, 0, &o->max_steps);
}

static void log_outputs(const char *dir, bool has_picture, bool has_report)
{
  log_info("results in %s: %s%sframes.xmf (open in ParaView), history.csv, summary.txt, checkpoints/", dir,
           has_report ? "report.html (open in a browser), " : "", has_picture ? "still.png, " : "");
}

static PetscErrorCode write_picture(const char *dir, bool *is_written)
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

/* Also for failed runs. */
static PetscErrorCode write_quick_report(const char *dir) { return report_run(dir, NULL, true); }

/* Runs all time steps, then writes picture and report. A failed run also gets a report and keeps its exit code. */
static PetscErrorCode step_and_report(run *r, const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  char why[512];
  if (run_is_finished(r, sizeof why, why)) {
    log_info("%s is already finished (%s)", run_directory(r), why);
    if (strncmp(why, "until:", 6) == 0)
      log_info("to continue without this condition: stickslip resume %s --set until=[]", run_directory(r));
    *code = run_finished_code(r);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(run_loop(r, code));
  const char *dir         = run_directory(r);
  const bool  has_outputs = !command_value(line, "--no-picture");
  bool        has_picture = false, has_report = false;
  if ((*code == SS_EXIT_OK || *code == SS_EXIT_QUALITY) && has_outputs) PetscCall(write_picture(dir, &has_picture));
  /* after a signal there is no time for a report */
  if (*code != SS_EXIT_REQUEUE && has_outputs && !command_value(line, "--no-report"))
    has_report = page_try_write(dir, "report", write_quick_report);
  log_outputs(dir, has_picture, has_report);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the diagnostics of the job, or executes the run and frees it. Requeues the SLURM job if --requeue is given and the time
 * limit was reached. After an error the caller frees the run. */
static PetscErrorCode execute_run(const command_line *line, diagnostics *d, run **r, exit_code *code)
{
  PetscFunctionBegin;
  PetscCall(diagnostics_close(d, stderr));
  (void)warning_list_log(run_scene(*r)->warnings, 0);
  PetscCall(step_and_report(*r, line, code));
  const bool has_advanced = run_steps(*r) > 0;
  run_destroy(r); /* closes its files before the requeue */
  if (*code != SS_EXIT_REQUEUE || !command_value(line, "--requeue")) PetscFunctionReturn(PETSC_SUCCESS);
  /* A job without time for a single step would be requeued forever. SIGTERM (scancel, or the hard time limit) means that the job
   * must end. */
  if (stop_signal() == SIGTERM) log_info("the job is not requeued after SIGTERM");
  else if (!has_advanced) log_warn("the job is not requeued: its time limit is too short for a single step; request more time");
  else allocation_requeue();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If there are errors in the job file `path`: add all others that can be found without the entries that have errors. */
static PetscErrorCode find_more_errors(const command_line *line, const char *path, int n_overrides, const char *const *overrides,
                                       diagnostics *d)
{
  document    *doc __attribute__((cleanup(document_destroy)))      = NULL;
  diagnostics *again __attribute__((cleanup(diagnostics_destroy))) = NULL;
  PetscFunctionBegin;
  if (diagnostics_count(d) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(diagnostics_create(&again));
  PetscCall(document_create(&doc));
  PetscCall(yaml_read_file(path, doc, again));
  for (int i = 0; i < n_overrides; ++i) PetscCall(job_override(doc, overrides[i], again));
  PetscCall(run_find_errors(line->comm, document_root(doc), d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins the record of messages that becomes log.txt; its first line is the command line. */
static PetscErrorCode begin_record(void)
{
  text_buffer b     = {0};
  char       *words = NULL;

  PetscFunctionBegin;
  process_append_arguments(&b);
  PetscCall(text_take(&b, &words));
  log_record_begin();
  log_record_note("%s: stickslip%s", version_text(), words ? words : "");
  memory_free(&words);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_run(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  run_options  o;
  const char  *overrides[COMMAND_MAX_VALUES];
  int          n_overrides;
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;
  job         *j __attribute__((cleanup(job_destroy)))         = NULL;
  run         *r __attribute__((cleanup(run_destroy)))         = NULL;
  const bool   is_continued = command_value(line, "--continue") || command_value(line, "--requeue") || allocation_is_restart();
  if (!read_run_options(line, is_continued, &o, &n_overrides, overrides)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(begin_record());
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(line->positional[0], n_overrides, overrides, d, &j));
  if (j) job_log_notices(j);
  if (j && is_continued) {
    PetscCall(run_continue(&j, &o, d, &r));
    o.force = o.keeps_log = true; /* a run without a checkpoint may be overwritten */
  }
  if (j) PetscCall(run_create(&j, &o, d, &r));
  PetscCall(find_more_errors(line, line->positional[0], n_overrides, overrides, d));
  PetscCall(execute_run(line, d, &r, code));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_resume(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  run_options  o;
  const char  *overrides[COMMAND_MAX_VALUES], *path = command_value(line, "--job");
  int          n_overrides;
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;
  job         *j __attribute__((cleanup(job_destroy)))         = NULL;
  run         *r __attribute__((cleanup(run_destroy)))         = NULL;
  if (!read_run_options(line, path, &o, &n_overrides, overrides)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(begin_record());
  PetscCall(diagnostics_create(&d));
  o.dir = line->positional[0];
  if (path) PetscCall(job_read(path, n_overrides, overrides, d, &j));
  if (j) job_log_notices(j);
  if (j) PetscCall(run_continue(&j, &o, d, &r));
  if (j || !path) PetscCall(run_resume(&o, n_overrides, overrides, d, &r)); /* with --job: reports the missing run */
  PetscCall(execute_run(line, d, &r, code));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reports all errors that `run` would report; writes nothing. */
static PetscErrorCode command_check(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char  *overrides[COMMAND_MAX_VALUES];
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;
  job         *j __attribute__((cleanup(job_destroy)))         = NULL;
  run         *r __attribute__((cleanup(run_destroy)))         = NULL;
  const int    n_overrides                                     = command_overrides(line, overrides);
  if (n_overrides < 0) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(line->positional[0], n_overrides, overrides, d, &j));
  if (j) job_log_notices(j);
  if (j) PetscCall(run_build(&j, &(run_options){.comm = line->comm, .dir = "", .is_check = true}, d, &r));
  PetscCall(find_more_errors(line, line->positional[0], n_overrides, overrides, d));
  PetscCall(diagnostics_close(d, stderr));
  (void)warning_list_log(run_scene(r)->warnings, 0);
  if (command_value(line, "--resolved")) {
    fputs(run_job(r)->resolved, stdout);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(scene_describe(run_scene(r), stdout));
  PetscCall(scene_describe_contacts(run_scene(r), stdout));
  run_estimate_print(r, stdout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* clang-format off */
const command command_run_entry = {"run", "JOB.yaml", "run a job",
  "Reads and checks the job. If there is any error, all errors are reported and nothing is written. Otherwise runs the job.\n"
  "In a batch script use `stickslip run JOB.yaml --continue`.\n"
  "After Ctrl-C, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU or SIGHUP the program finishes the step, writes a checkpoint and exits with code 75;\n"
  "a second Ctrl-C or SIGTERM abandons the step.",
  1, 1, run_options_table, command_run};
const command command_resume_entry = {"resume", "DIR", "continue a run from its newest valid checkpoint",
  "The results are bit-identical to those of an uninterrupted run. A damaged checkpoint is reported, and the previous one is used.",
  1, 1, resume_options_table, command_resume};
const command command_check_entry = {"check", "JOB.yaml", "report all errors of a job, and describe its scene",
  "Reads the job and builds the scene. Writes nothing.", 1, 1, check_options_table, command_check};
/* clang-format on */
