#include "app/run/run_impl.h"
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "io/checkpoint.h"
#include "io/yaml.h"
#include "app/job/job.h"

/* PETSc options of the job: key by key, so that a mistake can be named; the command line, already there, wins. */
static PetscErrorCode set_petsc_options(const document_node *node, const char *prefix)
{
  PetscFunctionBegin;
  if (!node) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < node->n; ++i) {
    char                 name[512];
    const document_node *value = node->value[i];
    snprintf(name, sizeof name, "%s%s", prefix, node->key[i]);
    if (value->kind == DOCUMENT_MAPPING) {
      strncat(name, "_", sizeof name - strlen(name) - 1);
      PetscCall(set_petsc_options(value, name));
    } else {
      PetscBool is_set;
      PetscCall(PetscOptionsHasName(NULL, NULL, name, &is_set));
      if (!is_set) PetscCall(PetscOptionsSetValue(NULL, name, value->text));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything a run needs in memory; writes nothing. */
static PetscErrorCode run_build(job **j, const run_options *options, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  run *r;
  *out = NULL;
  PetscCall(memory_alloc("run", 1, sizeof *r, &r));
  r->job       = *j;
  *j           = NULL;
  r->max_steps = options->max_steps;
  if (options->dir)
    snprintf(r->dir, sizeof r->dir, "%s", options->dir);
  else
    snprintf(r->dir, sizeof r->dir, "run/%s", r->job->scene.name);
  snprintf(r->checkpoint_dir, sizeof r->checkpoint_dir, "%s/checkpoints", r->dir);
  PetscCall(set_petsc_options(r->job->scene.solver->petsc, "-"));
  PetscCall(scene_create(options->comm, &r->job->scene, d, &r->scene));
  if (r->scene) PetscCall(measures_check(r->scene, &r->job->measure, d));
  if (!r->scene || diagnostics_count(d)) {
    run_destroy(&r);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(formulation_create(formulations[r->job->formulation], r->scene, &r->formulation));
  r->fields = r->scene->fields;
  PetscCall(r->formulation->ops->fields(r->formulation, r->fields));
  PetscCall(run_state_create(&r->state, r->fields));
  *r->state.dt = r->job->scene.time->step;
  PetscCall(memo_create(r->fields, &r->memo));
  PetscCall(measures_create(r->scene, &r->job->measure, r->formulation, r->memo, &r->measures));
  PetscCall(until_create(&r->job->until, &r->job->measure, r->measures, r->memo, &r->until));
  PetscCall(run_check_frame_fields(r, d));
  PetscCall(field_snapshot_create(&r->snapshot));
  *out = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_create(job **j, const run_options *options, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  PetscCall(run_build(j, options, d, out));
  if (diagnostics_count(d)) run_destroy(out);
  if (!*out) PetscFunctionReturn(PETSC_SUCCESS);
  run *r = *out;
  char path[4300];
  snprintf(path, sizeof path, "%s/job.yaml", r->dir);
  const bool is_used = access(path, F_OK) == 0;
  PetscCheck(
      !is_used || options->force, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
      "%s already holds a run; continue it with `stickslip resume %s`, choose another place with --out, or start over with --force",
      r->dir, r->dir);
  PetscCall(run_lock_acquire(r->dir, &r->lock));
  if (is_used) PetscCall(checkpoint_drop_all(r->checkpoint_dir));
  PetscCall(run_open_outputs(r, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A checkpoint of another job, copied here by mistake, brings that job along: it would be run in this one's place. job.yaml tells whose
 * the directory is; without a readable one the checkpoint's word is taken. */
static PetscErrorCode check_belongs(const char *dir, const char *checkpoint, const char *job_name)
{
  PetscFunctionBegin;
  char         path[4300];
  document    *doc;
  diagnostics *d;
  snprintf(path, sizeof path, "%s/job.yaml", dir);
  PetscCall(document_create(&doc));
  PetscCall(diagnostics_create(&d));
  PetscCall(yaml_read_file(path, doc, d));
  const document_node *root = document_root(doc), *name = root && root->kind == DOCUMENT_MAPPING ? document_find(root, "name") : NULL;
  const bool           is_known = name && name->text && !diagnostics_count(d);
  if (!is_known) log_warn("%s is missing or damaged; going on with the job in %s", path, checkpoint);
  PetscCheck(!is_known || strcmp(name->text, job_name) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s belongs to the job \"%s\", but %s is of the job \"%s\"; move the checkpoint away to go on from an older one", checkpoint,
             job_name, path, name->text);
  diagnostics_destroy(&d);
  document_destroy(&doc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- going on ------------------------------------------------------------------------------------------------------ */

/* What a directory holds to go on from. */
typedef struct {
  run_lock         *lock;
  char             *newest; /* checkpoint; NULL: none */
  checkpoint_origin origin;
  char              checkpoint_dir[4300];
} found_run;

static PetscErrorCode find_run(const char *dir, found_run *f)
{
  PetscFunctionBegin;
  memset(f, 0, sizeof *f);
  snprintf(f->checkpoint_dir, sizeof f->checkpoint_dir, "%s/checkpoints", dir);
  if (access(dir, F_OK)) PetscFunctionReturn(PETSC_SUCCESS);
  /* First of all: nobody else may be writing what is about to be read and cut back. */
  PetscCall(run_lock_acquire(dir, &f->lock));
  PetscCall(checkpoint_newest(f->checkpoint_dir, &f->newest));
  if (!f->newest) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(checkpoint_read_head(f->newest, &f->origin));
  PetscCheck(f->origin.job_text, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: holds no job to resume", f->newest);
  PetscCall(check_belongs(dir, f->newest, f->origin.job_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void found_run_destroy(found_run *f)
{
  run_lock_release(&f->lock);
  memory_free(&f->newest);
  checkpoint_origin_destroy(&f->origin);
}

/* The state of the checkpoint in a run just built from the job. */
static PetscErrorCode restore(run *r, const found_run *f)
{
  PetscFunctionBegin;
  int64_t step;
  double  time;
  PetscCall(checkpoint_read(f->newest, r->job->scene.name, r->fields, &step, &time));
  PetscCall(checkpoint_continue_from(f->checkpoint_dir, step));
  if (*r->state.dt != r->job->scene.time->step) {
    *r->state.base_time = run_time(r);
    *r->state.base_step = *r->state.step;
    *r->state.dt        = r->job->scene.time->step;
  }
  PetscCall(scene_set_time(r->scene, run_time(r)));
  PetscCall(run_read_past(r));
  PetscCall(run_open_outputs(r, *r->state.step));
  log_info("resumed from %s at step %lld", f->newest, (long long)*r->state.step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Go on with this job, which is taken over, instead of the one that the checkpoint holds. accept_all: whatever differs. */
static PetscErrorCode go_on_with(job **j, found_run *f, const run_options *options, bool accept_all, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  job *before    = NULL;
  int  n_changes = 0;
  PetscCall(job_read_text(f->newest, f->origin.job_text, 0, NULL, d, &before));
  if (before) PetscCall(job_compare(before, *j, options->dir ? options->dir : "the run", accept_all, d, &n_changes));
  job_destroy(&before);
  if (diagnostics_count(d) == 0) PetscCall(run_build(j, options, d, out));
  if (!*out) PetscFunctionReturn(PETSC_SUCCESS);
  (*out)->lock       = f->lock;
  (*out)->is_changed = n_changes > 0;
  f->lock            = NULL;
  PetscCall(restore(*out, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_resume(const run_options *options, int n_overrides, const char *const *overrides, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  found_run f;
  job      *j = NULL;
  *out        = NULL;
  PetscCheck(access(options->dir, F_OK) == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: no such run directory; start the run with `stickslip run`", options->dir);
  PetscCall(find_run(options->dir, &f));
  PetscCheck(f.newest, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: no checkpoint to resume from; start the run over with `stickslip run JOB.yaml --out %s --force`", f.checkpoint_dir, options->dir);
  PetscCall(job_read_text(f.newest, f.origin.job_text, n_overrides, overrides, d, &j));
  if (j) PetscCall(go_on_with(&j, &f, options, true, d, out)); /* what --set says is meant */
  job_destroy(&j);
  found_run_destroy(&f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_continue(job **j, const run_options *options, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  found_run   f;
  char        dir[4300];
  run_options o = *options;
  *out          = NULL;
  if (!o.dir) {
    snprintf(dir, sizeof dir, "run/%s", (*j)->scene.name);
    o.dir = dir;
  }
  PetscCall(find_run(o.dir, &f));
  if (f.newest) {
    PetscCall(go_on_with(j, &f, &o, o.accept_changes, d, out));
    job_destroy(j);
  }
  found_run_destroy(&f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool run_is_finished(const run *r, size_t size, char *why)
{
  const bool is_over = run_is_over(r, run_last_step(r), size, why);
  return r->past.is_finished && r->past.step == *r->state.step && (!r->is_changed || is_over);
}

void run_destroy(run **r)
{
  if (!*r) return;
  run_close_outputs(*r);
  until_destroy(&(*r)->until);
  (void)measures_destroy(&(*r)->measures);
  memo_destroy(&(*r)->memo);
  formulation_destroy(&(*r)->formulation);
  scene_destroy(&(*r)->scene);
  field_snapshot_destroy(&(*r)->snapshot);
  run_state_destroy(&(*r)->state);
  run_lock_release(&(*r)->lock);
  job_destroy(&(*r)->job);
  memory_free(r);
}

int64_t run_steps(const run *r) { return r->tally.n_steps; }

const char *run_directory(const run *r) { return r->dir; }
