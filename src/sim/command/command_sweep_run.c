/* sweep run, status, retry, gather: what is done with the folder of a sweep once it is there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "core/memory.h"
#include "sim/command/command.h"
#include "sim/command/command_list.h"
#include "sim/command/command_sweep_run.h"
#include "sim/sweep/sweep_local.h"
#include "sim/sweep/sweep_results.h"

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
  return command_integer(line, "-j", 1, 100000, n_at_once, &o->n_at_once) && command_integer(line, "--threads", 1, 4096, 0, &o->threads);
}

bool command_sweep_options_fit(const command_line *line, exit_code *code)
{
  static const char *const needs_local[] = {"-j", "--fresh"};
  for (size_t i = 0; i < sizeof needs_local / sizeof *needs_local; ++i) {
    if (!command_value(line, needs_local[i]) || command_value(line, "--local")) continue;
    fprintf(stderr, "stickslip sweep: %s is for --local, which was not given\n", needs_local[i]);
    *code = SS_EXIT_BAD_INPUT;
    return false;
  }
  return true;
}

static PetscErrorCode gather(const char *dir)
{
  int64_t n_cases, n_finished;

  PetscFunctionBegin;
  PetscCall(sweep_gather(dir, &n_cases, &n_finished));
  log_info("%s/results.csv and results.h5: %lld cases, %lld of them finished", dir, (long long)n_cases, (long long)n_finished);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode command_sweep_local(const command_line *line, const char *dir, exit_code *code)
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

/* --- run -------------------------------------------------------------------------------------------------------------- */

static const command_option run_options[] = {SWEEP_LOCAL_OPTIONS, {"--task", "N", false, "the cases of task N of a job array, from 1"}, {NULL, NULL, false, NULL}};

static PetscErrorCode run_cases(const command_line *line, exit_code *code)
{
  sweep_local_options o;
  int64_t             given[COMMAND_MAX_VALUES], task, *of_task = NULL;
  const char         *dir = line->positional[0];

  PetscFunctionBegin;
  *code = SS_EXIT_BAD_INPUT;
  if (!read_options(line, 1, &o) || !read_numbers(line, &o.n, given) || !command_integer(line, "--task", 1, INT64_MAX / 2, 0, &task))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (task > 0 && o.n > 0) {
    fprintf(stderr, "stickslip sweep run: expected either --task or numbers of cases\n");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *code     = SS_EXIT_OK;
  o.numbers = given;
  if (task > 0) {
    PetscCall(sweep_task_numbers(dir, task, &o.n, &of_task));
    o.numbers = of_task;
  }
  const PetscErrorCode error = sweep_local(dir, &o, code);
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
  return sweep_status(line->positional[0], command_value(line, "--cases"), stdout);
}
const command command_sweep_status_entry = {"sweep status", "DIR", "how a sweep stands: counts, and why cases failed",
  "Reads only; the sweep may be running.", 1, 1, status_options, show_status};

static const command_option retry_options[] = {SWEEP_LOCAL_OPTIONS, {"--local", NULL, false, "run them now, on this machine"},
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
  log_info("%s: %lld failed cases may run again%s", dir, (long long)n_marked, command_value(line, "--local") ? "" : "; `stickslip sweep run` does it");
  if (command_value(line, "--local")) {
    PetscCall(sweep_local(dir, &o, code));
    PetscCall(gather(dir));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
const command command_sweep_retry_entry = {"sweep retry", "DIR [NUMBER...]", "let failed cases run again",
  "Of these numbers, or all. They continue from their newest checkpoint. Cases that were stopped, killed or never begun need no retry:\n"
  "the next run takes them; with --local they run now as well.",
  1, COMMAND_MAX_VALUES, retry_options, retry};

static const command_option no_options[] = {{NULL, NULL, false, NULL}};
static PetscErrorCode gather_results(const command_line *line, exit_code *code)
{
  (void)code;
  return gather(line->positional[0]);
}
const command command_sweep_gather_entry = {"sweep gather", "DIR", "one table of all results: results.csv and results.h5",
  "A row a case: parameters; last, smallest, largest and mean value of every measure; status, reason, times, versions. What a case does not\n"
  "have is empty, NaN in HDF5. May be done while the sweep is running.",
  1, 1, no_options, gather_results};
