/* run, resume, check: the life of a run from its job file. */
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "core/memory.h"
#include "sim/command/command.h"
#include "sim/command/command_list.h"
#include "sim/measure/measure.h"
#include "sim/picture/render.h"
#include "sim/run/run.h"
#include "sim/scene/scene.h"

static const command_option run_options_table[] = {
  {"--out", "DIR", false, "run directory; default: run/NAME"},
  {"--set", "KEY=VALUE", true, "override any key of the job: --set time.step=5e-4 --set contact.pairs[0].friction=0.3"},
  {"--force", NULL, false, "start over where a run already is"},
  {"--steps", "N", false, "stop after N more steps, as if the job ended there"},
  {"--no-picture", NULL, false, "no still at the end"},
  {NULL, NULL, false, NULL}};
static const command_option resume_options_table[] = {
  {"--set", "KEY=VALUE", true, "override a key of the embedded job, e.g. time.end"},
  {"--steps", "N", false, "stop after N more steps"},
  {"--no-picture", NULL, false, "no still at the end"},
  {NULL, NULL, false, NULL}};
static const command_option check_options_table[] = {
  {"--set", "KEY=VALUE", true, "override any key of the job"},
  {"--resolved", NULL, false, "print the job with every default written out"},
  {NULL, NULL, false, NULL}};

static bool read_options(const command_line *line, run_options *o, int *n_overrides, const char **overrides)
{
  memset(o, 0, sizeof *o);
  o->comm      = line->comm;
  *n_overrides = command_values(line, "--set", overrides);
  o->dir       = command_value(line, "--out");
  o->force     = command_value(line, "--force");
  return command_integer(line, "--steps", 1, INT64_MAX / 4, 0, &o->max_steps);
}

static void say_where(const char *dir, bool has_picture)
{
  log_info("results in %s: frames.xmf (open in ParaView), history.csv, summary.txt, checkpoints/%s", dir,
           has_picture ? ", and the picture still.png" : "");
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

/* Loop, then the picture: a run that fails still leaves what it has, and its own exit code. */
static PetscErrorCode finish(run *r, const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  PetscCall(run_loop(r, code));
  bool has_picture = false;
  if (*code == SS_EXIT_OK && !command_value(line, "--no-picture")) PetscCall(picture_of(run_directory(r), &has_picture));
  say_where(run_directory(r), has_picture);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What run and resume share: options, a diagnostics list, then the loop. `dir` NULL: read and start the job of the command line;
 * else continue there. */
static PetscErrorCode start(const command_line *line, const char *dir, exit_code *code)
{
  PetscFunctionBegin;
  run_options  o;
  const char  *overrides[COMMAND_MAX_VALUES];
  int          n_overrides;
  diagnostics *d;
  job         *j = NULL;
  run         *r = NULL;
  if (!read_options(line, &o, &n_overrides, overrides)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(diagnostics_create(&d));
  if (dir) {
    o.dir = dir;
    PetscCall(run_resume(&o, n_overrides, overrides, d, &r));
  } else {
    PetscCall(job_read(line->positional[0], n_overrides, overrides, d, &j));
    if (j) PetscCall(run_create(&j, &o, d, &r));
  }
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  PetscCall(finish(r, line, code));
  run_destroy(&r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_run(const command_line *line, exit_code *code) { return start(line, NULL, code); }
static PetscErrorCode command_resume(const command_line *line, exit_code *code) { return start(line, line->positional[0], code); }

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
  if (j) PetscCall(scene_create(line->comm, j, d, &s));
  if (s) PetscCall(measures_check(s, d));
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
  "Reads the job, refuses it whole if anything is wrong, and steps it to its end.\n"
  "Ctrl-C, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU or SIGHUP finish the step, write a checkpoint and leave with code 75; a second Ctrl-C or\n"
  "SIGTERM drops the step.",
  1, 1, run_options_table, command_run};
const command command_resume_entry = {"resume", "DIR", "continue a run from its newest valid checkpoint",
  "Continues bit for bit as if the run had never stopped. A damaged checkpoint is named and the one before it is taken.",
  1, 1, resume_options_table, command_resume};
const command command_check_entry = {"check", "JOB.yaml", "say everything that is wrong with a job, and what it would run",
  "Reads and builds the scene, writes nothing.", 1, 1, check_options_table, command_check};
