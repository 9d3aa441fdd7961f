/* The command sweep and its actions run, status, retry, gather and report: parameter studies. `sweep` reads a sweep file and
 * creates the sweep folder (app/sweep/sweep_folder.h). The actions work on an existing folder. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "io/sealed_file.h"
#include "app/command/command_line.h"
#include "app/report/page.h"
#include "app/report/report_run.h"
#include "app/run/allocation.h"
#include "app/run/run_result.h"
#include "app/sweep/sweep_folder.h"
#include "app/sweep/sweep_local.h"
#include "app/sweep/sweep_check.h"
#include "app/sweep/sweep_plan.h"
#include "app/sweep/sweep_report.h"
#include "app/sweep/sweep_results.h"
#include "app/sweep/sweep_slurm.h"

/* Options of actions that run cases on this machine, besides --threads. */
#define SWEEP_LOCAL_OPTIONS                                                                                                                \
  {"-j", "N", false, "number of simultaneous cases; default: resources.concurrent, or limited by the number of CPUs; `sweep run`: 1"},     \
      {"--picture", NULL, false, "draw a picture at the end of each case"},                                                                \
      {"--strict", NULL, false, "exit code 5 if a case finishes with a bad entry in its quality block"},                                   \
  {                                                                                                                                        \
    "--fresh", NULL, false, "start a new process for each case, instead of forking this one"                                               \
  }

/* Options of actions that submit to SLURM. */
#define SWEEP_SLURM_OPTIONS                                                                                                                \
  {"--submit", NULL, false, "submit the cases as a SLURM job array"},                                                                      \
      {"--script", NULL, false, "print the batch script of --submit without submitting it"},                                               \
      {"--cores", "N", false, "SLURM: cores per case; default: resources.cores, or 1"},                                                    \
      {"--memory", "M", false, "SLURM: memory per case, e.g. 2G"},                                                                         \
      {"--time", "T", false, "SLURM: time limit per task, e.g. 1:00:00; tasks that reach it are requeued and continue"},                   \
      {"--partition", "NAME", false, "SLURM: partition"}, {"--account", "NAME", false, "SLURM: account"},                                  \
      {"--concurrent", "N", false, "SLURM: number of simultaneous tasks"},                                                                 \
      {"--cases-per-task", "N", false, "SLURM: cases that one task runs in sequence"},                                                     \
  {                                                                                                                                        \
    "--sbatch", "OPTION", true, "SLURM: another option of sbatch, e.g. --sbatch=--qos=night"                                               \
  }

/* --- options of the command line ------------------------------------------------------------------------------------ */

/* Positional arguments after the folder: case numbers. */
static bool read_numbers(const command_line *line, int64_t *n, int64_t numbers[COMMAND_MAX_VALUES])
{
  *n = 0;
  for (int i = 1; i < line->n_positional; ++i) {
    char *end;
    errno             = 0;
    const long long v = strtoll(line->positional[i], &end, 10);
    if (errno || end == line->positional[i] || *end || v < 1) {
      fprintf(stderr, "stickslip: %s: expected the number of a case, counted from 1\n", line->positional[i]);
      return false;
    }
    numbers[(*n)++] = v;
  }
  return true;
}

/* Prints a message and returns false if an option is malformed. `n_at_once`: default of -j. */
static bool read_local_options(const command_line *line, int64_t n_at_once, sweep_local_options *o)
{
  memset(o, 0, sizeof *o);
  o->has_picture = command_value(line, "--picture");
  o->is_strict   = command_value(line, "--strict");
  o->is_fresh    = command_value(line, "--fresh");
  o->execute     = line->execute;
  return command_integer(line, "-j", 1, 100000, n_at_once, &o->n_at_once) && command_integer(line, "--threads", 1, 4096, 0, &o->threads);
}

static bool uses_slurm(const command_line *line) { return command_value(line, "--submit") || command_value(line, "--script"); }

/* Prints a message and returns true if one of `options` is given without the option that it requires: it would have no effect. */
static bool has_unused_option(const command_line *line, size_t n, const char *const *options, bool has_other, const char *other)
{
  for (size_t i = 0; i < n && !has_other; ++i) {
    if (!command_value(line, options[i])) continue;
    fprintf(stderr, "stickslip sweep: %s requires %s\n", options[i], other);
    return true;
  }
  return false;
}

/* Prints a message and returns false, with *code set, if options contradict each other or have no effect. */
static bool check_sweep_options(const command_line *line, exit_code *code)
{
  static const char *const needs_local[] = {"-j", "--fresh"};
  static const char *const needs_slurm[] = {"--cores",   "--memory",     "--time",           "--partition",
                                            "--account", "--concurrent", "--cases-per-task", "--sbatch"};
  const bool               is_local = command_value(line, "--local"), is_slurm = uses_slurm(line);
  *code = SS_EXIT_BAD_INPUT;
  if (has_unused_option(line, sizeof needs_local / sizeof *needs_local, needs_local, is_local, "--local")) return false;
  if (has_unused_option(line, sizeof needs_slurm / sizeof *needs_slurm, needs_slurm, is_slurm, "--submit or --script")) return false;
  if (is_local + (command_value(line, "--submit") != NULL) + (command_value(line, "--script") != NULL) > 1) {
    fprintf(stderr, "stickslip sweep: --local, --submit and --script contradict each other; give one of them\n");
    return false;
  }
  *code = SS_EXIT_OK;
  return true;
}

static PetscErrorCode write_default_report(const char *dir) { return sweep_report(dir, NULL); }

/* Writes results.csv, results.h5 and, if gnuplot is installed, report.html. */
static PetscErrorCode gather_all(const char *dir)
{
  int64_t n_cases, n_finished;

  PetscFunctionBegin;
  PetscCall(sweep_gather(dir, &n_cases, &n_finished));
  const bool has_page = page_try_write(dir, "sweep report", write_default_report);
  log_info("%s/results.csv%s results.h5: %lld cases, %lld of them finished", dir,
           has_page ? ", report.html (open in a browser) and" : " and", (long long)n_cases, (long long)n_finished);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --local: runs all waiting and stopped cases of the sweep folder, then gathers the results. */
static PetscErrorCode run_locally(const command_line *line, const char *dir, exit_code *code)
{
  sweep_local_options o;

  PetscFunctionBegin;
  if (!read_local_options(line, 0, &o)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(sweep_local(dir, &o, code));
  PetscCall(gather_all(dir));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints a message and returns false if an option is malformed. */
static bool read_slurm_options(const command_line *line, sweep_slurm_options *o, const char **more)
{
  sweep_resources *r = &o->resources;
  memset(o, 0, sizeof *o);
  r->memory      = command_value(line, "--memory");
  r->time        = command_value(line, "--time");
  r->partition   = command_value(line, "--partition");
  r->account     = command_value(line, "--account");
  o->has_picture = command_value(line, "--picture");
  o->is_strict   = command_value(line, "--strict");
  o->n_more      = command_values(line, "--sbatch", more);
  o->more        = more;
  return command_integer(line, "--cores", 1, 4096, 0, &r->cores) && command_integer(line, "--concurrent", 1, 100000, 0, &r->concurrent) &&
         command_integer(line, "--cases-per-task", 1, 100000, 0, &r->cases_per_task);
}

/* --submit or --script: submits the waiting and stopped cases, or prints the batch script. */
static PetscErrorCode submit_or_print_script(const command_line *line, const char *dir, exit_code *code)
{
  const char         *more[COMMAND_MAX_VALUES];
  char               *script __attribute__((cleanup(memory_free))) = NULL;
  sweep_slurm_options o;

  PetscFunctionBegin;
  if (!read_slurm_options(line, &o, more)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (command_value(line, "--submit")) PetscCall(sweep_slurm_submit(dir, &o));
  else PetscCall(sweep_slurm_script(dir, &o, &script));
  if (script) fputs(script, stdout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- sweep -------------------------------------------------------------------------------------------------------- */

static const command_option sweep_options[] = {
    {"--out", "DIR", false, "sweep folder; default: sweep/NAME"},
    {"--set", "KEY=VALUE", true, "override a key of the base job for all cases"},
    {"--no-warn", "CODE", true, "ignore warnings with this code in all cases, see docs/reference/warnings.md"},
    {"--dry-run", NULL, false, "list the cases and their settings; write nothing"},
    {"--check", NULL, false, "build the scenes of all cases; without this option, of as many as possible within 10 s"},
    {"--local", NULL, false, "run the cases on this machine"},
    SWEEP_LOCAL_OPTIONS,
    SWEEP_SLURM_OPTIONS,
    {NULL, NULL, false, NULL}};

/* Do the cases set options of PETSc? Only scenes can check them. */
static bool sets_petsc_options(const sweep_plan *plan)
{
  for (int k = 0; plan->n_cases > 0 && k < plan->cases[0].n_overrides; ++k)
    if (strncmp(plan->cases[0].overrides[k], "solver.petsc", 12) == 0) return true;
  return false;
}

/* Wall time for the scenes of all cases without --check [s]. A scene of a few bodies takes 5 to 20 ms, so that 1000 cases are usually complete. */
static const double CHECK_SECONDS = 10.0;

/* Reads the sweep file of the command line. Prints its errors and returns PETSC_ERR_USER_INPUT. */
static PetscErrorCode read_plan(const command_line *line, sweep_plan **plan)
{
  const char  *overrides[COMMAND_MAX_VALUES];
  diagnostics *d;

  PetscFunctionBegin;
  const int n_overrides = command_overrides(line, overrides);
  if (n_overrides < 0) PetscFunctionReturn(PETSC_ERR_USER_INPUT); /* the message has been printed */
  PetscCall(diagnostics_create(&d));
  PetscCall(sweep_plan_read(line->positional[0], n_overrides, overrides, d, plan));
  if (*plan) {
    int64_t n_checked;
    PetscCall(
        sweep_check_scenes(*plan, command_value(line, "--check") || sets_petsc_options(*plan) ? INFINITY : CHECK_SECONDS, d, &n_checked));
    if (n_checked < (*plan)->n_cases)
      log_info("the scenes of %lld of %lld cases were checked within %g s; --check builds all", (long long)n_checked,
               (long long)(*plan)->n_cases, CHECK_SECONDS);
  }
  const PetscErrorCode code = diagnostics_close(d, stderr);
  diagnostics_destroy(&d);
  if (code) sweep_plan_destroy(plan);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --dry-run: prints the cases and how many of them the folder does not contain yet. */
static PetscErrorCode list_cases(const char *dir, const sweep_plan *plan, diagnostics *d)
{
  int64_t n_new;

  PetscFunctionBegin;
  PetscCall(sweep_plan_print(plan, stdout));
  PetscCall(sweep_folder_compare(dir, plan, d, &n_new));
  if (sweep_folder_exists(dir) && !diagnostics_count(d)) printf("%s exists: %lld cases would be added\n", dir, (long long)n_new);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode update_folder(const char *dir, const sweep_plan *plan, diagnostics *d)
{
  const bool exists = sweep_folder_exists(dir);
  int64_t    n_new;

  PetscFunctionBegin;
  PetscCall(sweep_folder_update(dir, plan, d, &n_new));
  if (diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!exists) log_info("%s: %lld cases", dir, (long long)n_new);
  else log_info("%s: %lld new cases, %lld existing cases", dir, (long long)n_new, (long long)(plan->n_cases - n_new));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates or extends the sweep folder, then runs or submits its cases if requested. */
static PetscErrorCode update_and_run(const command_line *line, const sweep_plan *plan, exit_code *code)
{
  char        *dir __attribute__((cleanup(memory_free))) = NULL;
  const char  *out                                       = command_value(line, "--out");
  diagnostics *d;

  PetscFunctionBegin;
  (void)code;
  PetscCall(file_format(&dir, "%s%s", out ? out : "sweep/", out ? "" : plan->name));
  PetscCall(diagnostics_create(&d));
  PetscErrorCode error = command_value(line, "--dry-run") ? list_cases(dir, plan, d) : update_folder(dir, plan, d);
  if (!error) error = diagnostics_close(d, stderr);
  diagnostics_destroy(&d);
  if (!error && command_value(line, "--local") && !command_value(line, "--dry-run")) error = run_locally(line, dir, code);
  if (!error && uses_slurm(line) && !command_value(line, "--dry-run")) error = submit_or_print_script(line, dir, code);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_sweep(const command_line *line, exit_code *code)
{
  sweep_plan *plan __attribute__((cleanup(sweep_plan_destroy))) = NULL;

  PetscFunctionBegin;
  if (!check_sweep_options(line, code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!sweep_folder_exists(line->positional[0]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s is a sweep folder; expected a sweep file. `stickslip sweep run %s` runs the cases of the folder", line->positional[0],
             line->positional[0]);
  team_set_threads(1); /* cases may be forked from this process, which then must not have OpenMP threads: see sweep_local.c */
  PetscCall(read_plan(line, &plan));
  PetscCall(update_and_run(line, plan, code));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* clang-format off */
const command command_sweep_entry = {"sweep", "FILE.yaml", "parameter study: list, run and gather the variations of a job",
  "Reads and checks a sweep file and the jobs of all cases. If there is any error, all errors are reported and nothing is written.\n"
  "Otherwise creates the sweep folder, or adds new cases to an existing one.", 1, 1, sweep_options, command_sweep};

/* --- run -------------------------------------------------------------------------------------------------------------- */

static const command_option run_options[] = {SWEEP_LOCAL_OPTIONS, {"--task", "N", false, "run the cases of task N of a job array, counted from 1"},
  {"--cases-per-task", "N", false, "with --task: value used for the array; default: resources.cases_per_task"},
  {"--requeue", NULL, false, "in a SLURM job: requeue the job at the time limit if a case has advanced"}, {NULL, NULL, false, NULL}};
/* clang-format on */

/* Completed steps of these cases, plus the number of finished or failed cases. This number grows as long as there is progress. */
static int64_t measure_progress(const char *dir, int64_t n, const int64_t *numbers)
{
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    char              folder[4400];
    document         *owner;
    const run_result *r;
    sweep_folder_case(dir, numbers[i], sizeof folder, folder);
    if (run_result_read(folder, &owner, &r)) {
      error_clear();
      continue;
    }
    if (r) sum += r->step + (run_status_is_finished(r->status) || r->status == RUN_FAILED);
    document_destroy(&owner);
  }
  return sum;
}

/* Runs the cases of a task. At the time limit, SLURM requeues the task if --requeue was given and a case has advanced. */
static PetscErrorCode run_task_cases(const command_line *line, const char *dir, const sweep_local_options *o, exit_code *code)
{
  PetscFunctionBegin;
  const bool    is_requeued = command_value(line, "--requeue");
  const int64_t before      = is_requeued ? measure_progress(dir, o->n, o->numbers) : 0;
  allocation_share_time();
  PetscCall(sweep_local(dir, o, code));
  if (!is_requeued || *code != SS_EXIT_REQUEUE) PetscFunctionReturn(PETSC_SUCCESS);
  if (o->signal && *o->signal == SIGTERM) log_info("the job is not requeued after SIGTERM");
  else if (measure_progress(dir, o->n, o->numbers) <= before) log_warn("the job is not requeued: no case has completed a step in it");
  else allocation_requeue();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_cases(const command_line *line, exit_code *code)
{
  sweep_local_options o;
  int                 signal;
  int64_t             given[COMMAND_MAX_VALUES], task, size, *of_task = NULL;
  const char         *dir = line->positional[0];

  PetscFunctionBegin;
  *code = SS_EXIT_BAD_INPUT;
  if (!read_local_options(line, 1, &o) || !read_numbers(line, &o.n, given) ||
      !command_integer(line, "--task", 1, INT64_MAX / 2, 0, &task) || !command_integer(line, "--cases-per-task", 1, 100000, 0, &size))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (task > 0 ? o.n > 0 : size > 0) {
    fprintf(stderr, "stickslip sweep run: expected either --task (optionally with --cases-per-task) or case numbers\n");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (command_value(line, "--requeue") && !allocation_can_requeue("sweep run")) PetscFunctionReturn(PETSC_SUCCESS);
  *code     = SS_EXIT_OK;
  o.numbers = given;
  o.signal  = &signal;
  if (task > 0) {
    PetscCall(sweep_task_numbers(dir, task, size, &o.n, &of_task));
    o.numbers = of_task;
  }
  const PetscErrorCode error = run_task_cases(line, dir, &o, code);
  memory_free(&of_task);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* clang-format off */
const command command_sweep_run_entry = {"sweep run", "DIR [NUMBER...]", "run cases of a sweep on this machine",
  "Runs the cases with the given numbers, or all waiting and stopped cases, in sequence or -j at a time. Cases continue from their\n"
  "checkpoints. Signals are forwarded to the cases, which write checkpoints; then the exit code is 75.",
  1, COMMAND_MAX_VALUES, run_options, run_cases};
/* clang-format on */

/* --- status, retry, gather --------------------------------------------------------------------------------------------- */

static const command_option status_options[] = {{"--cases", NULL, false, "print one line per case"}, {NULL, NULL, false, NULL}};
static PetscErrorCode       show_status(const command_line *line, exit_code *code)
{
  (void)code;
  PetscFunctionBegin;
  PetscCall(sweep_status(line->positional[0], command_value(line, "--cases"), stdout));
  PetscCall(sweep_slurm_status(line->positional[0], stdout));
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* clang-format off */
const command command_sweep_status_entry = {"sweep status", "DIR", "print the status of a sweep: counts, and why cases failed",
  "Only reads files, so the sweep may be running.", 1, 1, status_options, show_status};

static const command_option retry_options[] = {SWEEP_LOCAL_OPTIONS, {"--local", NULL, false, "run the cases now on this machine"}, SWEEP_SLURM_OPTIONS,
  {"--from-start", NULL, false, "delete the checkpoints of the failed cases"}, {NULL, NULL, false, NULL}};
/* clang-format on */
static PetscErrorCode retry_failed_cases(const command_line *line, exit_code *code)
{
  sweep_local_options o;
  int64_t             given[COMMAND_MAX_VALUES], n_marked;
  const char         *dir = line->positional[0];

  PetscFunctionBegin;
  if (!check_sweep_options(line, code)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!read_local_options(line, 0, &o) || !read_numbers(line, &o.n, given)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  o.numbers = given;
  PetscCall(sweep_retry(dir, o.n, given, command_value(line, "--from-start"), &n_marked));
  log_info("%s: %lld failed cases will run again%s", dir, (long long)n_marked,
           command_value(line, "--local") || uses_slurm(line) ? "" : "; start them with `stickslip sweep run`");
  if (uses_slurm(line)) PetscCall(submit_or_print_script(line, dir, code));
  if (command_value(line, "--local")) {
    PetscCall(sweep_local(dir, &o, code));
    PetscCall(gather_all(dir));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* clang-format off */
const command command_sweep_retry_entry = {"sweep retry", "DIR [NUMBER...]", "mark failed cases to be run again",
  "Marks the failed cases with the given numbers, or all failed cases. They continue from their newest checkpoints.\n"
  "Stopped, killed and waiting cases need no mark: the next run includes them, as do --local and --submit here.",
  1, COMMAND_MAX_VALUES, retry_options, retry_failed_cases};
/* clang-format on */

static const command_option no_options[] = {{NULL, NULL, false, NULL}};
static PetscErrorCode       gather_results(const command_line *line, exit_code *code)
{
  (void)code;
  return gather_all(line->positional[0]);
}
/* clang-format off */
const command command_sweep_gather_entry = {"sweep gather", "DIR", "write the results of all cases: results.csv, results.h5, report.html",
  "One row per case: parameters; last, smallest, largest and mean value of each measure; status, reason, times, versions. Missing values\n"
  "are empty, NaN in HDF5. Also writes the page of `sweep report` if gnuplot is installed. The sweep may be running.",
  1, 1, no_options, gather_results};
/* clang-format on */

/* --- sweep report ----------------------------------------------------------------------------------------------------- */

static const command_option sweep_report_options[] = {{"--out", "FILE.html", false, "output file; default: DIR/report.html"},
                                                      {"--cases", NULL, false, "also write a page for each case"},
                                                      {NULL, NULL, false, NULL}};

static PetscErrorCode report_cases(const char *dir)
{
  sweep_plan *plan __attribute__((cleanup(sweep_plan_destroy))) = NULL;
  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &plan));
  for (int64_t i = 0; i < plan->n_cases; ++i) {
    char folder[4300], job[4400];
    sweep_folder_case(dir, plan->cases[i].number, sizeof folder, folder);
    snprintf(job, sizeof job, "%s/job.yaml", folder);
    if (access(job, F_OK) == 0) PetscCall(report_run(folder, NULL, true));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_sweep_report(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char *dir = line->positional[0], *out = command_value(line, "--out");
  (void)code;
  if (command_value(line, "--cases")) PetscCall(report_cases(dir));
  PetscCall(sweep_report(dir, out));
  if (out) log_info("wrote %s", out);
  else log_info("wrote %s/report.html", dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* clang-format off */
const command command_sweep_report_entry = {"sweep report", "DIR", "write a web page about a sweep: measures against parameters, all cases",
  "Writes one HTML page that needs neither network nor other files: number of cases by status, each measure against each parameter (lines\n"
  "for cases that differ in one parameter only, points for samples, coloured tables for two parameters), times, and a table of all cases\n"
  "with links. The sweep may be running. The diagrams are drawn by gnuplot (package gnuplot-nox).", 1, 1,
  sweep_report_options, command_sweep_report};
/* clang-format on */
