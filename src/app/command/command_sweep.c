/* sweep: a job in many variations. This file reads the sweep and makes its folder; what is done with the folder stands in other files. */
#include <string.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "io/sealed_file.h"
#include "app/command/command.h"
#include "app/command/command_list.h"
#include "app/command/command_sweep_run.h"
#include "app/sweep/sweep_folder.h"
#include "app/sweep/sweep_table.h"

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
  PetscCall(sweep_table_print(plan, stdout));
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
