#include "sim/run/run_impl.h"
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "io/checkpoint.h"
#include "io/yaml.h"

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
    snprintf(r->dir, sizeof r->dir, "run/%s", r->job->name);
  snprintf(r->checkpoint_dir, sizeof r->checkpoint_dir, "%s/checkpoints", r->dir);
  PetscCall(set_petsc_options(r->job->solver->petsc, "-"));
  PetscCall(scene_create(options->comm, r->job, d, &r->scene));
  if (r->scene) PetscCall(measures_check(r->scene, d));
  if (!r->scene || diagnostics_count(d)) {
    run_destroy(&r);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(formulations[r->job->formulation]->create(r->scene, &r->formulation));
  r->fields = r->scene->fields;
  PetscCall(r->formulation->ops->fields(r->formulation, r->fields));
  PetscCall(run_state_create(&r->state, r->fields));
  *r->state.dt = r->job->time->step;
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

PetscErrorCode run_resume(const run_options *options, int n_overrides, const char *const *overrides, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  char              dir[4300], *newest = NULL;
  checkpoint_origin origin;
  run_lock         *lock;
  job              *j;
  snprintf(dir, sizeof dir, "%s/checkpoints", options->dir);
  PetscCheck(access(options->dir, F_OK) == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: no such run directory; start the run with `stickslip run`", options->dir);
  /* First of all: nobody else may be writing what is about to be read and cut back. */
  PetscCall(run_lock_acquire(options->dir, &lock));
  PetscCall(checkpoint_newest(dir, &newest));
  PetscCheck(newest, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: no checkpoint to resume from; start the run over with `stickslip run JOB.yaml --out %s --force`", dir, options->dir);
  PetscCall(checkpoint_read_head(newest, &origin));
  PetscCheck(origin.job_text, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: holds no job to resume", newest);
  PetscCall(check_belongs(options->dir, newest, origin.job_name));
  PetscCall(job_read_text(newest, origin.job_text, n_overrides, overrides, d, &j));
  *out = NULL;
  if (j) PetscCall(run_build(&j, options, d, out));
  if (!*out) run_lock_release(&lock);
  if (*out) {
    (*out)->lock = lock;
    int64_t step;
    double  time;
    PetscCall(checkpoint_read(newest, (*out)->job->name, (*out)->fields, &step, &time));
    PetscCall(checkpoint_continue_from(dir, step));
    run *r = *out;
    if (*r->state.dt != r->job->time->step) {
      *r->state.base_time = run_time(r);
      *r->state.base_step = *r->state.step;
      *r->state.dt        = r->job->time->step;
    }
    PetscCall(scene_set_time(r->scene, run_time(r)));
    PetscCall(run_read_past(r));
    PetscCall(run_open_outputs(*out, *(*out)->state.step));
    log_info("resumed from %s at step %lld", newest, (long long)*(*out)->state.step);
  }
  memory_free(&newest);
  checkpoint_origin_destroy(&origin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void run_destroy(run **r)
{
  if (!*r) return;
  run_close_outputs(*r);
  if ((*r)->formulation) (*r)->formulation->ops->destroy(&(*r)->formulation);
  scene_destroy(&(*r)->scene);
  field_snapshot_destroy(&(*r)->snapshot);
  run_state_destroy(&(*r)->state);
  run_lock_release(&(*r)->lock);
  job_destroy(&(*r)->job);
  memory_free(r);
}

const char *run_directory(const run *r) { return r->dir; }
