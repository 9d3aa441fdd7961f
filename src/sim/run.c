#include "sim/run.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <errno.h>
#include "core/field_snapshot.h"
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "io/checkpoint.h"
#include "io/frames.h"
#include "io/history.h"
#include "io/run_lock.h"
#include "sim/formulation.h"
#include "sim/history_columns.h"
#include "sim/measure.h"
#include "sim/scene.h"

/* The clockwork's own state, a one-row group of the field table. Times are never accumulated: base_time + (step - base_step) dt,
 * where the base is the start of the run, or the last resume that changed time.step. */
typedef struct {
  int64_t *step;  /* whole steps done */
  int64_t *base_step;
  double  *base_time, *dt;
  int64_t *level; /* the last step was taken in 2^level parts */
  int64_t *frame; /* frames written */
  int64_t *retries;
} run_state;

struct run {
  job           *job;
  scene         *scene;
  formulation   *formulation;
  field_table   *fields;
  measures      *measures;
  frames        *frames;
  const char   **frame_fields; /* names of output.fields */
  history       *history;
  run_lock      *lock;
  field_snapshot *snapshot; /* the state at the start of a step that is taken in parts */
  char           dir[4096], checkpoint_dir[4200];
  run_state      state;
  int64_t        one; /* row count of the state group */
  int64_t        max_steps;
  double         wall_start, last_checkpoint_wall;
  int64_t        last_checkpoint_step;
};

static double run_time(const run *r) { return *r->state.base_time + (double)(*r->state.step - *r->state.base_step) * *r->state.dt; }

/* --- signals ------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t signal_caught;

static void on_signal(int number)
{
  /* A second Ctrl-C means now: the last checkpoint stays good whatever is under way. */
  if (signal_caught && number == SIGINT) _exit(SS_EXIT_REQUEUE);
  signal_caught = number;
}

void run_install_signals(void)
{
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  action.sa_flags     = SA_RESTART;
  const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) sigaction(numbers[i], &action, NULL);
}

/* --- building ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode make_directory(const char *path)
{
  PetscFunctionBegin;
  char copy[4300];
  PetscCheck(strlen(path) < sizeof copy, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: path too long", path);
  strcpy(copy, path);
  for (char *p = copy + 1;; ++p) {
    if (*p && *p != '/') continue;
    const char kept = *p;
    *p              = '\0';
    PetscCheck(mkdir(copy, 0777) == 0 || errno == EEXIST, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
               "%s: cannot make the directory: %s; choose another place with --out", copy, strerror(errno));
    if (!kept) break;
    *p = kept;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode register_state(run *r)
{
  PetscFunctionBegin;
  field_group *g;
  r->one = 1;
  PetscCall(memory_alloc("run state", 1, sizeof(int64_t), &r->state.step));
  PetscCall(memory_alloc("run state", 1, sizeof(int64_t), &r->state.base_step));
  PetscCall(memory_alloc("run state", 1, sizeof(double), &r->state.base_time));
  PetscCall(memory_alloc("run state", 1, sizeof(double), &r->state.dt));
  *r->state.dt = r->job->time->step;
  PetscCall(memory_alloc("run state", 1, sizeof(int64_t), &r->state.level));
  PetscCall(memory_alloc("run state", 1, sizeof(int64_t), &r->state.frame));
  PetscCall(memory_alloc("run state", 1, sizeof(int64_t), &r->state.retries));
  PetscCall(field_table_add_group(r->fields, "run", FIELD_GROUP_PLAIN, &r->one, r, &g));
  PetscCall(field_table_add(r->fields, g, "step", "1", FIELD_I64, 1, &r->state.step, FIELD_CHECKPOINT, "whole steps done"));
  PetscCall(field_table_add(r->fields, g, "base_step", "1", FIELD_I64, 1, &r->state.base_step, FIELD_CHECKPOINT, "step at which the present time step began"));
  PetscCall(field_table_add(r->fields, g, "base_time", "s", FIELD_F64, 1, &r->state.base_time, FIELD_CHECKPOINT, "time at base_step"));
  PetscCall(field_table_add(r->fields, g, "time_step", "s", FIELD_F64, 1, &r->state.dt, FIELD_CHECKPOINT, "time step in use"));
  PetscCall(field_table_add(r->fields, g, "level", "1", FIELD_I64, 1, &r->state.level, FIELD_CHECKPOINT, "halvings of the last step"));
  PetscCall(field_table_add(r->fields, g, "frame", "1", FIELD_I64, 1, &r->state.frame, FIELD_CHECKPOINT, "frames written"));
  PetscCall(field_table_add(r->fields, g, "retries", "1", FIELD_I64, 1, &r->state.retries, FIELD_CHECKPOINT, "steps that were retried"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

/* Names under output.fields must be fields of something. */
static PetscErrorCode check_frame_fields(const run *r, diagnostics *d)
{
  PetscFunctionBegin;
  const key_list *names = &r->job->output->fields;
  for (int i = 0; i < names->n; ++i) {
    const char *known[256];
    int         n       = 0;
    bool        is_known = false;
    for (int k = 0; k < field_table_n_groups(r->fields); ++k) {
      const field_group *g = field_table_group(r->fields, k);
      for (int m = 0; m < g->n_fields; ++m) {
        if (!(g->fields[m].flags & FIELD_FRAME)) continue;
        is_known |= strcmp(g->fields[m].name, names->item[i].value) == 0;
        if (n < 256) known[n++] = g->fields[m].name;
      }
    }
    if (is_known) continue;
    const char *nearest = diagnostics_nearest(names->item[i].value, n, known);
    diagnostics_add(d, names->item[i].node->mark, "output.fields", "no frame has a field \"%s\"%s%s%s", (const char *)names->item[i].value,
                    nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
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
  if (options->dir) snprintf(r->dir, sizeof r->dir, "%s", options->dir);
  else snprintf(r->dir, sizeof r->dir, "run/%s", r->job->name);
  snprintf(r->checkpoint_dir, sizeof r->checkpoint_dir, "%s/checkpoints", r->dir);
  PetscCall(set_petsc_options(r->job->solver->petsc, "-"));
  PetscCall(scene_create(r->job, d, &r->scene));
  if (r->scene) PetscCall(measures_check(r->scene, d));
  if (!r->scene || diagnostics_count(d)) {
    run_destroy(&r);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(penalty_formulation.create(r->scene, &r->formulation));
  r->fields = r->scene->fields;
  PetscCall(r->formulation->ops->fields(r->formulation, r->fields));
  PetscCall(register_state(r));
  PetscCall(check_frame_fields(r, d));
  PetscCall(field_snapshot_create(&r->snapshot));
  *out = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_text(const char *path, const char *text)
{
  PetscFunctionBegin;
  char beside[4300];
  snprintf(beside, sizeof beside, "%s.tmp", path);
  FILE *f = fopen(beside, "w");
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: cannot write: %s", beside, strerror(errno));
  const bool is_written = fputs(text, f) >= 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
  PetscCheck(fclose(f) == 0 && is_written && rename(beside, path) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "%s: cannot write: %s; is the disk full?", path, strerror(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The caller holds the lock. */
static PetscErrorCode open_outputs(run *r, int64_t resume_step)
{
  PetscFunctionBegin;
  char path[4300];
  PetscCall(make_directory(r->checkpoint_dir));
  snprintf(path, sizeof path, "%s/job.yaml", r->dir);
  PetscCall(write_text(path, r->job->resolved));
  snprintf(path, sizeof path, "%s/history.csv", r->dir);
  PetscCall(history_open(path, HISTORY_N_COLUMNS, history_names, history_units, resume_step, &r->history));
  const key_list *names = &r->job->output->fields;
  PetscCall(memory_alloc("frame fields", names->n, sizeof(char *), &r->frame_fields));
  for (int i = 0; i < names->n; ++i) r->frame_fields[i] = names->item[i].value;
  const frames_options options = {r->job->name, r->job->output->precision == 1, names->n, r->frame_fields};
  PetscCall(frames_open(r->dir, *r->state.frame, &options, &r->frames));
  snprintf(path, sizeof path, "%s/measure", r->dir);
  if (r->job->measure.n) PetscCall(make_directory(path));
  PetscCall(measures_open(r->scene, r->formulation, r->dir, resume_step, &r->measures));
  r->wall_start = r->last_checkpoint_wall = timer_now();
  r->last_checkpoint_step                 = resume_step;
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
  PetscCheck(!is_used || options->force, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s already holds a run; continue it with `stickslip resume %s`, choose another place with --out, or start over with --force",
             r->dir, r->dir);
  PetscCall(run_lock_acquire(r->dir, &r->lock));
  if (is_used) PetscCall(checkpoint_drop_after(r->checkpoint_dir, -1));
  PetscCall(open_outputs(r, -1));
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
  PetscCheck(access(options->dir, F_OK) == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: no such run directory; start the run with `stickslip run`",
             options->dir);
  /* First of all: nobody else may be writing what is about to be read and cut back. */
  PetscCall(run_lock_acquire(options->dir, &lock));
  PetscCall(checkpoint_newest(dir, &newest));
  PetscCheck(newest, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: no valid checkpoint to resume from; start the run with `stickslip run`", dir);
  PetscCall(checkpoint_read_head(newest, &origin));
  PetscCheck(origin.job_text, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: holds no job to resume", newest);
  PetscCall(job_read_text(newest, origin.job_text, n_overrides, overrides, d, &j));
  *out = NULL;
  if (j) PetscCall(run_build(&j, options, d, out));
  if (!*out) run_lock_release(&lock);
  if (*out) {
    (*out)->lock = lock;
    int64_t step;
    double  time;
    PetscCall(checkpoint_read(newest, (*out)->job->name, (*out)->fields, &step, &time));
    PetscCall(checkpoint_drop_after(dir, step));
    run *r = *out;
    if (*r->state.dt != r->job->time->step) {
      *r->state.base_time = run_time(r);
      *r->state.base_step = *r->state.step;
      *r->state.dt        = r->job->time->step;
    }
    PetscCall(scene_set_time(r->scene, run_time(r)));
    PetscCall(open_outputs(*out, *(*out)->state.step));
    log_info("resumed from %s at step %lld", newest, (long long)*(*out)->state.step);
  }
  memory_free(&newest);
  checkpoint_origin_destroy(&origin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void run_destroy(run **r)
{
  if (!*r) return;
  (void)measures_close(&(*r)->measures);
  (void)history_close(&(*r)->history);
  frames_close(&(*r)->frames);
  memory_free(&(*r)->frame_fields);
  if ((*r)->formulation) (*r)->formulation->ops->destroy(&(*r)->formulation);
  scene_destroy(&(*r)->scene);
  field_snapshot_destroy(&(*r)->snapshot);
  memory_free(&(*r)->state.step);
  memory_free(&(*r)->state.base_step);
  memory_free(&(*r)->state.base_time);
  memory_free(&(*r)->state.dt);
  memory_free(&(*r)->state.level);
  memory_free(&(*r)->state.frame);
  memory_free(&(*r)->state.retries);
  run_lock_release(&(*r)->lock);
  job_destroy(&(*r)->job);
  memory_free(r);
}

const char *run_directory(const run *r) { return r->dir; }

/* --- output -------------------------------------------------------------------------------------------------------- */

static PetscErrorCode write_checkpoint(run *r)
{
  PetscFunctionBegin;
  timer_begin(TIMER_CHECKPOINT);
  const checkpoint_head head = {r->job->name, r->formulation->ops->name, r->job->resolved, *r->state.step, run_time(r)};
  PetscCall(history_flush(r->history));
  PetscCall(measures_flush(r->measures));
  PetscCall(checkpoint_write(r->checkpoint_dir, &head, r->fields, (int)r->job->output->keep));
  r->last_checkpoint_wall = timer_now();
  r->last_checkpoint_step = *r->state.step;
  timer_end(TIMER_CHECKPOINT);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_frame(run *r)
{
  PetscFunctionBegin;
  timer_begin(TIMER_FRAME);
  PetscCall(frames_write(r->frames, *r->state.frame, *r->state.step, run_time(r), r->fields));
  ++*r->state.frame;
  timer_end(TIMER_FRAME);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is `every` (simulated seconds) due at the end of this step? Counted in steps: no drift. */
static bool is_due(const run *r, double every)
{
  if (!(every > 0)) return false;
  int64_t steps = (int64_t)llround(every / r->job->time->step);
  if (steps < 1) steps = 1;
  return (*r->state.step - *r->state.base_step) % steps == 0;
}

static PetscErrorCode write_outputs(run *r, const step_report *report, int64_t retries, double seconds)
{
  PetscFunctionBegin;
  const job_output *o = r->job->output;
  timer_begin(TIMER_FRAME);
  if (*r->state.step % o->history_every == 0) {
    double values[HISTORY_N_COLUMNS];
    PetscCall(history_values(r->scene, *r->state.step, run_time(r), r->job->time->step, report, retries, seconds, values));
    PetscCall(history_row(r->history, values));
  }
  PetscCall(measures_record(r->measures, *r->state.step, run_time(r), report));
  timer_end(TIMER_FRAME);
  if (is_due(r, r->job->time->frame)) PetscCall(write_frame(r));
  const bool is_wall_due = o->checkpoint_wall > 0 && timer_now() - r->last_checkpoint_wall >= o->checkpoint_wall;
  if (is_due(r, o->checkpoint) || is_wall_due) PetscCall(write_checkpoint(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- stepping ------------------------------------------------------------------------------------------------------ */

static void add_report(step_report *sum, const step_report *part)
{
  const step_report before = *sum;
  *sum                     = *part; /* contact state and residual: of the last part */
  sum->newton_iterations += before.newton_iterations;
  sum->linear_iterations += before.linear_iterations;
  sum->evaluations += before.evaluations;
  sum->fallbacks += before.fallbacks;
  sum->contact.max_cone_violation = fmax(before.contact.max_cone_violation, part->contact.max_cone_violation);
  sum->contact.slip_angle         = fmax(before.contact.slip_angle, part->contact.slip_angle);
  sum->contact.power_loss_angle   = fmax(before.contact.power_loss_angle, part->contact.power_loss_angle);
  sum->contact.natural_map        = fmax(before.contact.natural_map, part->contact.natural_map);
  sum->contact.natural_map_curved = fmax(before.contact.natural_map_curved, part->contact.natural_map_curved);
}

/* One whole step, in 2^level equal parts; a part that fails is halved again, within the job's limit. The next step starts one
 * level lower. The position inside the step is kept in units of the smallest part, so it is exact. */
static PetscErrorCode take_step(run *r, step_verdict *verdict, step_report *report, int64_t *retries)
{
  PetscFunctionBegin;
  const double  t0 = run_time(r), dt = r->job->time->step;
  const int64_t max_level = r->job->time->retry->halvings, whole = (int64_t)1 << max_level;
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
  const double  wall = timer_now() - r->wall_start, eta = step > first ? wall / (double)(step - first) * (double)(last - step) : 0.0;
  log_progress("t %.4g/%.4g s  step %lld/%lld  frame %lld  contacts %lld  newton %lld  gmres %lld  %.3g s/step  ETA %lld:%02lld:%02lld",
               run_time(r), r->job->time->end, (long long)step, (long long)last, (long long)*r->state.frame,
               (long long)report->contact.n_active, (long long)report->newton_iterations, (long long)report->linear_iterations,
               step > first ? wall / (double)(step - first) : 0.0, (long long)eta / 3600, (long long)eta / 60 % 60, (long long)eta % 60);
}

static PetscErrorCode report_failure(run *r, const step_verdict *verdict)
{
  PetscFunctionBegin;
  char path[4300], text[8192];
  snprintf(text, sizeof text,
           "step %lld (t = %g s, dt = %g s) failed at the smallest part allowed, dt/%lld: %s%s%s%s\n"
           "the state before this step is in the newest checkpoint; a smaller time.step, more time.retry.halvings or a softer\n"
           "contact.stiffness may carry it on: stickslip resume %s --set time.step=...\n",
           (long long)*r->state.step + 1, run_time(r), r->job->time->step, (long long)((int64_t)1 << r->job->time->retry->halvings),
           step_code_text(verdict->code), verdict->body ? " in body " : "", verdict->body ? verdict->body : "",
           verdict->where >= 0 ? " (see below)" : "", r->dir);
  size_t n = strlen(text);
  if (verdict->where >= 0) snprintf(text + n, sizeof text - n, "first offending point: %lld\n", (long long)verdict->where);
  snprintf(path, sizeof path, "%s/failure.txt", r->dir);
  PetscCall(write_text(path, text));
  log_warn("%s", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_summary(run *r, int64_t steps)
{
  PetscFunctionBegin;
  char path[4300];
  snprintf(path, sizeof path, "%s/summary.txt", r->dir);
  FILE *f = fopen(path, "w");
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: cannot write: %s", path, strerror(errno));
  fprintf(f, "stickslip %s, job %s, %lld steps in %.3f s on %d threads, %lld retries, peak memory %.1f MB\n\n", STICKSLIP_VERSION, r->job->name,
          (long long)steps, timer_now() - r->wall_start, team_threads(), (long long)*r->state.retries, (double)memory_peak() / 1e6);
  timer_table(f);
  fclose(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_loop(run *r, exit_code *code)
{
  PetscFunctionBegin;
  const double  dt    = r->job->time->step;
  const int64_t first = *r->state.step;
  const double  left  = (r->job->time->end - *r->state.base_time) / dt * (1 - 1e-12);
  const int64_t last  = left > 0 ? *r->state.base_step + (int64_t)ceil(left) : first;
  int64_t       stop  = r->max_steps > 0 && first + r->max_steps < last ? first + r->max_steps : last;
  step_report   report = {0};
  *code                = SS_EXIT_OK;
  timer_reset();
  if (*r->state.frame == 0) {
    PetscCall(write_frame(r));
    PetscCall(measures_record(r->measures, 0, 0.0, &report));
  }
  while (*r->state.step < stop && !signal_caught) {
    step_verdict verdict = {STEP_OK, NULL, -1};
    int64_t      retries;
    const double begun = timer_now();
    PetscCall(take_step(r, &verdict, &report, &retries));
    if (verdict.code != STEP_OK) {
      log_progress_end();
      if (r->last_checkpoint_step != *r->state.step) PetscCall(write_checkpoint(r));
      PetscCall(report_failure(r, &verdict));
      *code = SS_EXIT_STEP_FAILED;
      break;
    }
    ++*r->state.step;
    PetscCall(scene_emit(r->scene, run_time(r), dt));
    PetscCall(write_outputs(r, &report, retries, timer_now() - begun));
    show_progress(r, first, last, &report);
  }
  log_progress_end();
  if (*code == SS_EXIT_OK) {
    if (*r->state.step == last && !is_due(r, r->job->time->frame)) PetscCall(write_frame(r));
    if (r->last_checkpoint_step != *r->state.step) PetscCall(write_checkpoint(r));
    if (*r->state.step < last && signal_caught) {
      log_info("stopped by signal %d after step %lld; continue with `stickslip resume %s`", (int)signal_caught, (long long)*r->state.step, r->dir);
      *code = SS_EXIT_REQUEUE;
    }
  }
  PetscCall(write_summary(r, *r->state.step - first));
  PetscFunctionReturn(PETSC_SUCCESS);
}
