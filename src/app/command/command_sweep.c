/* sweep and its actions run, status, retry, gather, report: a job in many variations. `sweep` reads the sweep file and makes the folder; the
 * actions work on the folder once it is there. */
#include <errno.h>
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
#include "app/sweep/sweep_plan.h"
#include "app/sweep/sweep_report.h"
#include "app/sweep/sweep_results.h"
#include "app/sweep/sweep_slurm.h"

/* Options of whatever runs cases on this machine; --threads is every command's. */
#define SWEEP_LOCAL_OPTIONS                                                                                                         \
  {"-j", "N", false, "cases at a time; default: resources.concurrent, or as many as the CPUs allow"},                               \
  {"--picture", NULL, false, "a still at the end of each case"},                                                                    \
  {"--fresh", NULL, false, "start the program anew for every case, instead of forking it"}

/* Options of whatever submits to SLURM. */
#define SWEEP_SLURM_OPTIONS                                                                                                         \
  {"--submit", NULL, false, "run them as a SLURM job array"},                                                                       \
  {"--script", NULL, false, "print the script that --submit would submit"},                                                         \
  {"--cores", "N", false, "for SLURM: of a case; default: resources.cores, or 1"},                                                  \
  {"--memory", "M", false, "for SLURM: of a case, e.g. 2G"},                                                                        \
  {"--time", "T", false, "for SLURM: of a task, e.g. 1:00:00; tasks that run out of it are requeued and go on"},                    \
  {"--partition", "NAME", false, "for SLURM"},                                                                                      \
  {"--account", "NAME", false, "for SLURM"},                                                                                        \
  {"--concurrent", "N", false, "for SLURM: tasks at a time"},                                                                       \
  {"--cases-per-task", "N", false, "for SLURM: cases that a task runs one after the other"},                                        \
  {"--sbatch", "OPTION", true, "for SLURM: any other option of sbatch, --sbatch=--qos=night"}

/* --- what the command line says --------------------------------------------------------------------------------------- */

/* Positional arguments after the folder: numbers of cases. */
static bool read_numbers(const command_line *line, int64_t *n, int64_t numbers[COMMAND_MAX_VALUES])
{
  *n = 0;
  for (int i = 1; i < line->n_positional; ++i) {
    char *end;
    errno             = 0;
    const long long v = strtoll(line->positional[i], &end, 10);
    if (errno || end == line->positional[i] || *end || v < 1) {
      fprintf(stderr, "stickslip: %s: expected the number of a case, from 1\n", line->positional[i]);
      return false;
    }
    numbers[(*n)++] = v;
  }
  return true;
}

/* False after saying what is wrong. `n_at_once`: unless -j says otherwise. */
static bool read_options(const command_line *line, int64_t n_at_once, sweep_local_options *o)
{
  memset(o, 0, sizeof *o);
  o->has_picture = command_value(line, "--picture");
  o->is_fresh    = command_value(line, "--fresh");
  o->execute     = line->execute;
  return command_integer(line, "-j", 1, 100000, n_at_once, &o->n_at_once) && command_integer(line, "--threads", 1, 4096, 0, &o->threads);
}

static bool command_sweep_wants_slurm(const command_line *line) { return command_value(line, "--submit") || command_value(line, "--script"); }

/* An option without the one it belongs to would go unread. */
static bool is_alone(const command_line *line, size_t n, const char *const *options, bool has_other, const char *other)
{
  for (size_t i = 0; i < n && !has_other; ++i) {
    if (!command_value(line, options[i])) continue;
    fprintf(stderr, "stickslip sweep: %s is for %s, which was not given\n", options[i], other);
    return true;
  }
  return false;
}

static bool command_sweep_options_fit(const command_line *line, exit_code *code)
{
  static const char *const needs_local[] = {"-j", "--fresh"};
  static const char *const needs_slurm[] = {"--cores",   "--memory",     "--time",           "--partition",
                                            "--account", "--concurrent", "--cases-per-task", "--sbatch"};
  const bool is_local = command_value(line, "--local"), is_slurm = command_sweep_wants_slurm(line);
  *code = SS_EXIT_BAD_INPUT;
  if (is_alone(line, sizeof needs_local / sizeof *needs_local, needs_local, is_local, "--local")) return false;
  if (is_alone(line, sizeof needs_slurm / sizeof *needs_slurm, needs_slurm, is_slurm, "--submit or --script")) return false;
  if (is_local + (command_value(line, "--submit") != NULL) + (command_value(line, "--script") != NULL) > 1) {
    fprintf(stderr, "stickslip sweep: expected one of --local, --submit and --script\n");
    return false;
  }
  *code = SS_EXIT_OK;
  return true;
}

static PetscErrorCode page(const char *dir) { return sweep_report(dir, NULL); }

static PetscErrorCode gather(const char *dir)
{
  int64_t n_cases, n_finished;

  PetscFunctionBegin;
  PetscCall(sweep_gather(dir, &n_cases, &n_finished));
  const bool has_page = page_try_write(dir, "sweep report", page);
  log_info("%s/results.csv%s results.h5: %lld cases, %lld of them finished", dir, has_page ? ", report.html (open in a browser) and" : " and", (long long)n_cases, (long long)n_finished);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_sweep_local(const command_line *line, const char *dir, exit_code *code)
{
  sweep_local_options o;

  PetscFunctionBegin;
  if (!read_options(line, 0, &o)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(sweep_local(dir, &o, code));
  PetscCall(gather(dir));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* False after saying what is wrong. */
static bool read_slurm_options(const command_line *line, sweep_slurm_options *o, const char **more)
{
  sweep_resources *r = &o->resources;
  memset(o, 0, sizeof *o);
  r->memory      = command_value(line, "--memory");
  r->time        = command_value(line, "--time");
  r->partition   = command_value(line, "--partition");
  r->account     = command_value(line, "--account");
  o->has_picture = command_value(line, "--picture");
  o->n_more      = command_values(line, "--sbatch", more);
  o->more        = more;
  return command_integer(line, "--cores", 1, 4096, 0, &r->cores) && command_integer(line, "--concurrent", 1, 100000, 0, &r->concurrent) &&
         command_integer(line, "--cases-per-task", 1, 100000, 0, &r->cases_per_task);
}

static PetscErrorCode command_sweep_slurm(const command_line *line, const char *dir, exit_code *code)
{
  const char         *more[COMMAND_MAX_VALUES];
  char *script __attribute__((cleanup(memory_free))) = NULL;
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
  {"--out", "DIR", false, "folder of the sweep; default: sweep/NAME"},
  {"--set", "KEY=VALUE", true, "override a key of the base job, for all cases"},
  {"--dry-run", NULL, false, "list the cases with what each sets, and write nothing"},
  {"--check", NULL, false, "build the scene of every case, not only of the first, and say what is wrong"},
  {"--local", NULL, false, "run them on this machine"},
  SWEEP_LOCAL_OPTIONS,
  SWEEP_SLURM_OPTIONS,
  {NULL, NULL, false, NULL}};

/* The plan of the sweep file on the command line; what is wrong with it is an error. */
static PetscErrorCode read_plan(const command_line *line, sweep_plan **plan)
{
  const char  *overrides[COMMAND_MAX_VALUES];
  diagnostics *d;

  PetscFunctionBegin;
  PetscCall(diagnostics_create(&d));
  PetscCall(sweep_plan_read(line->positional[0], command_values(line, "--set", overrides), overrides, d, plan));
  if (*plan) PetscCall(sweep_plan_check_scenes(*plan, command_value(line, "--check") ? (*plan)->n_cases : 1, d));
  const PetscErrorCode code = diagnostics_close(d, stderr);
  diagnostics_destroy(&d);
  if (code) sweep_plan_destroy(plan);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print the cases, or write them into the folder. */
static PetscErrorCode list_cases(const char *dir, const sweep_plan *plan, diagnostics *d)
{
  int64_t n_new;

  PetscFunctionBegin;
  PetscCall(sweep_plan_print(plan, stdout));
  PetscCall(sweep_folder_compare(dir, plan, d, &n_new));
  if (sweep_folder_exists(dir) && !diagnostics_count(d)) printf("%s is there: %lld cases would be added to it\n", dir, (long long)n_new);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_folder(const char *dir, const sweep_plan *plan, diagnostics *d)
{
  const bool is_there = sweep_folder_exists(dir);
  int64_t    n_new;

  PetscFunctionBegin;
  PetscCall(sweep_folder_update(dir, plan, d, &n_new));
  if (diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!is_there) log_info("%s: %lld cases", dir, (long long)n_new);
  else log_info("%s: %lld new cases, %lld were there", dir, (long long)n_new, (long long)(plan->n_cases - n_new));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The folder, up to date; then what was asked for is done in it. */
static PetscErrorCode act(const command_line *line, const sweep_plan *plan, exit_code *code)
{
  char *dir __attribute__((cleanup(memory_free))) = NULL;
  const char  *out = command_value(line, "--out");
  diagnostics *d;

  PetscFunctionBegin;
  (void)code;
  PetscCall(file_format(&dir, "%s%s", out ? out : "sweep/", out ? "" : plan->name));
  PetscCall(diagnostics_create(&d));
  PetscErrorCode error = command_value(line, "--dry-run") ? list_cases(dir, plan, d) : make_folder(dir, plan, d);
  if (!error) error = diagnostics_close(d, stderr);
  diagnostics_destroy(&d);
  if (!error && command_value(line, "--local") && !command_value(line, "--dry-run")) error = command_sweep_local(line, dir, code);
  if (!error && command_sweep_wants_slurm(line) && !command_value(line, "--dry-run")) error = command_sweep_slurm(line, dir, code);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_sweep(const command_line *line, exit_code *code)
{
  sweep_plan *plan;

  PetscFunctionBegin;
  if (!command_sweep_options_fit(line, code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!sweep_folder_exists(line->positional[0]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s is the folder of a sweep, and a sweep file is wanted here; `stickslip sweep run %s` runs its cases", line->positional[0], line->positional[0]);
  team_set_threads(1); /* scenes are built to be checked, and cases may be forked from this process: sweep_local.c */
  PetscCall(read_plan(line, &plan));
  const PetscErrorCode error = act(line, plan, code);
  sweep_plan_destroy(&plan);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const command command_sweep_entry = {"sweep", "FILE.yaml", "vary a job: list, run and gather the cases of a parameter study",
  "Reads a sweep file, refuses it whole if anything is wrong with it or with the job of any case, and writes the folder of the sweep,\n"
  "or adds the cases that are new to it.", 1, 1, sweep_options, command_sweep};

/* --- run -------------------------------------------------------------------------------------------------------------- */

static const command_option run_options[] = {SWEEP_LOCAL_OPTIONS, {"--task", "N", false, "the cases of task N of a job array, from 1"},
  {"--cases-per-task", "N", false, "with --task: as the array was made; default: resources.cases_per_task"},
  {"--requeue", NULL, false, "in a SLURM job: when time is up have the job started again, if a case has advanced"}, {NULL, NULL, false, NULL}};

/* Steps done in these cases, and cases that will do no more: what grows as long as there is progress. */
static int64_t progress_of(const char *dir, int64_t n, const int64_t *numbers)
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
    if (r) sum += r->step + (r->status == RUN_FINISHED || r->status == RUN_FAILED);
    document_destroy(&owner);
  }
  return sum;
}

/* The cases of a task; when its time is up SLURM starts it again. */
static PetscErrorCode run_task(const command_line *line, const char *dir, const sweep_local_options *o, exit_code *code)
{
  PetscFunctionBegin;
  const bool    is_requeued = command_value(line, "--requeue");
  const int64_t before      = is_requeued ? progress_of(dir, o->n, o->numbers) : 0;
  allocation_share_time();
  PetscCall(sweep_local(dir, o, code));
  if (!is_requeued || *code != SS_EXIT_REQUEUE) PetscFunctionReturn(PETSC_SUCCESS);
  if (o->signal && *o->signal == SIGTERM) log_info("SIGTERM: not requeued");
  else if (progress_of(dir, o->n, o->numbers) <= before) log_warn("not requeued: no case has advanced in this job");
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
  if (!read_options(line, 1, &o) || !read_numbers(line, &o.n, given) || !command_integer(line, "--task", 1, INT64_MAX / 2, 0, &task) ||
      !command_integer(line, "--cases-per-task", 1, 100000, 0, &size))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (task > 0 ? o.n > 0 : size > 0) {
    fprintf(stderr, "stickslip sweep run: expected either --task, with --cases-per-task perhaps, or numbers of cases\n");
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
  const PetscErrorCode error = run_task(line, dir, &o, code);
  memory_free(&of_task);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_sweep_run_entry = {"sweep run", "DIR [NUMBER...]", "run cases of a sweep on this machine",
  "Runs the cases of these numbers, or all that are waiting or stopped, one after the other unless -j says otherwise. Cases continue from\n"
  "their checkpoints. A signal is passed on to them: they write checkpoints, and the sweep leaves with code 75.",
  1, COMMAND_MAX_VALUES, run_options, run_cases};

/* --- status, retry, gather --------------------------------------------------------------------------------------------- */

static const command_option status_options[] = {{"--cases", NULL, false, "a line for every case"}, {NULL, NULL, false, NULL}};
static PetscErrorCode show_status(const command_line *line, exit_code *code)
{
  (void)code;
  PetscFunctionBegin;
  PetscCall(sweep_status(line->positional[0], command_value(line, "--cases"), stdout));
  PetscCall(sweep_slurm_status(line->positional[0], stdout));
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_sweep_status_entry = {"sweep status", "DIR", "how a sweep stands: counts, and why cases failed",
  "Reads only; the sweep may be running.", 1, 1, status_options, show_status};

static const command_option retry_options[] = {SWEEP_LOCAL_OPTIONS, {"--local", NULL, false, "run them now, on this machine"}, SWEEP_SLURM_OPTIONS,
  {"--from-start", NULL, false, "throw away the checkpoints of failed cases"}, {NULL, NULL, false, NULL}};
static PetscErrorCode retry(const command_line *line, exit_code *code)
{
  sweep_local_options o;
  int64_t             given[COMMAND_MAX_VALUES], n_marked;
  const char         *dir = line->positional[0];

  PetscFunctionBegin;
  if (!command_sweep_options_fit(line, code)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!read_options(line, 0, &o) || !read_numbers(line, &o.n, given)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  o.numbers = given;
  PetscCall(sweep_retry(dir, o.n, given, command_value(line, "--from-start"), &n_marked));
  log_info("%s: %lld failed cases may run again%s", dir, (long long)n_marked, command_value(line, "--local") || command_sweep_wants_slurm(line) ? "" : "; `stickslip sweep run` does it");
  if (command_sweep_wants_slurm(line)) PetscCall(command_sweep_slurm(line, dir, code));
  if (command_value(line, "--local")) {
    PetscCall(sweep_local(dir, &o, code));
    PetscCall(gather(dir));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_sweep_retry_entry = {"sweep retry", "DIR [NUMBER...]", "let failed cases run again",
  "Of these numbers, or all. They continue from their newest checkpoint. Cases that were stopped, killed or never begun need no retry:\n"
  "the next run takes them; with --local or --submit they run as well.",
  1, COMMAND_MAX_VALUES, retry_options, retry};

static const command_option no_options[] = {{NULL, NULL, false, NULL}};
static PetscErrorCode gather_results(const command_line *line, exit_code *code)
{
  (void)code;
  return gather(line->positional[0]);
}
const command command_sweep_gather_entry = {"sweep gather", "DIR", "all results: results.csv, results.h5, report.html",
  "A row a case: parameters; last, smallest, largest and mean value of every measure; status, reason, times, versions. What a case does not\n"
  "have is empty, NaN in HDF5. The page of `sweep report` comes with it, where there is a gnuplot. May be done while the sweep is running.",
  1, 1, no_options, gather_results};

/* --- sweep report ----------------------------------------------------------------------------------------------------- */

static const command_option sweep_report_options[] = {{"--out", "FILE.html", false, "default: DIR/report.html"},
                                                      {"--cases", NULL, false, "a page of every case, too"},
                                                      {NULL, NULL, false, NULL}};

static PetscErrorCode report_cases(const char *dir)
{
  sweep_plan    *plan;
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &plan));
  for (int64_t i = 0; i < plan->n_cases && !code; ++i) {
    char folder[4300], job[4400];
    sweep_folder_case(dir, plan->cases[i].number, sizeof folder, folder);
    snprintf(job, sizeof job, "%s/job.yaml", folder);
    if (access(job, F_OK) == 0) code = report_run(folder, NULL, true);
  }
  sweep_plan_destroy(&plan);
  PetscCall(code);
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

const command command_sweep_report_entry = {"sweep report", "DIR", "a web page about a sweep: measures against parameters, all cases",
  "Writes one HTML page that needs neither network nor other files: how many cases are in which state, each measure against each parameter\n"
  "(lines where cases differ in one parameter alone, points for samples, coloured tables for two parameters), times, and a table of the\n"
  "cases with links to them. May be done while the sweep is running. The diagrams are drawn by gnuplot (package gnuplot-nox).", 1, 1,
  sweep_report_options, command_sweep_report};
