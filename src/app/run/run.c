/* Implementation of a run: state, result.yaml, time limits, checkpoints, outputs, the loop over time steps, start and resume. A
 * failed step is repeated in 2^level equal substeps. */
#include "app/run/run.h"
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/field_table.h"
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "core/stop.h"
#include "core/team.h"
#include "core/timer.h"
#include "core/version.h"
#include "io/checkpoint.h"
#include "io/checkpoint_background.h"
#include "io/frames.h"
#include "io/history.h"
#include "io/run_lock.h"
#include "io/sealed_file.h"
#include "io/yaml.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_plausibility.h"
#include "sim/step/formulation.h"
#include "sim/step/petsc_options.h"
#include "sim/step/static_equilibrium.h"
#include "app/run/allocation.h"
#include "app/run/quality_monitor.h"
#include "app/run/run_history.h"
#include "app/run/run_overlaps.h"
#include "app/run/run_result.h"
#include "app/run/run_tolerance.h"
#include "app/job/job.h"
#include "app/job/until.h"
#include "sim/formulations.h"

/* --- state -------------------------------------------------------------------------------------------------------- */

/* Counters and times of the run, stored in checkpoints as a group of one row of the field table. A resumed run continues from
 * them. The simulated time is base_time + (step - base_step) dt, so that rounding errors do not accumulate. The base is the
 * start of the run or the last resume that changed time.step. Columns: member, name in a checkpoint, type, unit, help. */
/* clang-format off */
#define RUN_STATE_TABLE(X)                                                                       \
  X(step, "step", int64_t, FIELD_I64, "1", "number of completed steps")                                   \
  X(base_step, "base_step", int64_t, FIELD_I64, "1", "step at which the current time.step was set") \
  X(base_time, "base_time", double, FIELD_F64, "s", "time at base_step")                         \
  X(dt, "time_step", double, FIELD_F64, "s", "time step in use")                                 \
  X(level, "level", int64_t, FIELD_I64, "1", "the last step was done in 2^level substeps")         \
  X(frame, "frame", int64_t, FIELD_I64, "1", "frames written")                                   \
  X(frame_step, "frame_step", int64_t, FIELD_I64, "1", "step of the last frame")                 \
  X(retries, "retries", int64_t, FIELD_I64, "1", "repeated attempts of steps")                      \
  X(newton, "newton", int64_t, FIELD_I64, "1", "Newton iterations so far")                       \
  X(linear, "linear", int64_t, FIELD_I64, "1", "iterations of the linear solver so far")         \
  X(contacts, "contacts", int64_t, FIELD_I64, "1", "active contacts after the last step")        \
  X(friction_work, "friction_work", double, FIELD_F64, "J", "energy dissipated by friction so far") \
  X(friction_work_deficit, "friction_work_deficit", double, FIELD_F64, "J", "additional dissipation if friction had been exactly opposite to the slip") \
  X(max_penetration, "max_penetration", double, FIELD_F64, "m", "largest penetration depth so far")
/* clang-format on */

typedef struct {
#define X(member, name, type, field_type, unit, help) type *member;
  RUN_STATE_TABLE(X)
#undef X
} run_state;

typedef struct {
  double  end;    /* end of the allocation on timer_now()'s clock; INFINITY: unknown */
  double  step;   /* [s] wall time of a step: recent maximum, reduced by 10 % per step */
  int64_t memory; /* [byte] memory of the allocation; 0: unknown, or the warning has been logged */
} run_limits;

/* Open files of the run directory, and the times of the last checkpoint. */
typedef struct {
  frames                *frames;
  const char           **frame_fields; /* names of output.fields */
  history               *history;
  double                 wall_start, last_checkpoint_wall, last_stages_wall;
  double                 checkpoint_seconds; /* [s] duration of the last checkpoint; 0: none yet */
  int64_t                last_checkpoint_step;
  double                 checkpoint_share; /* share of the wall time since the previous checkpoint that was spent writing the last one */
  checkpoint_background *background;       /* checkpoint being written by a child process, or NULL */
} run_output;

/* Totals of the previous starts of this run, from result.yaml. */
typedef struct {
  bool    is_finished; /* the previous start finished, at `step` */
  bool    is_bad;      /* with a bad entry in its quality block */
  int64_t step, starts;
  double  seconds, user_seconds, peak_resident_memory;
  char    begun[RUN_DATE]; /* date of the first start */
} run_past;

struct run {
  job             *job;
  scene           *scene;
  formulation     *formulation;
  field_table     *fields;
  named_state     *named_state;
  measures        *measures;
  until           *until;
  quality_monitor *monitor;
  bool             is_strict;
  run_lock        *lock;
  run_output       output;
  field_snapshot  *snapshot;    /* state at the start of a step that is done in substeps */
  contact_forces   mean_forces; /* between bodies, means over a step that was done in substeps */
  char             dir[4096], checkpoint_dir[4200];
  run_state        state;
  run_past         past;
  run_stages       past_stages; /* times by stage of the previous starts */
  run_counters     counters;    /* counters since this start or resume */
  run_limits       limits;
  bool             is_changed; /* the job differs from that of the previous start */
  int64_t          max_steps, memory_before;
  int              history_groups; /* of the columns of history.csv */
};

/* Simulated time now [s]. */
static double    run_state_time(const run_state *s) { return *s->base_time + (double)(*s->step - *s->base_step) * *s->dt; }
static double    run_time(const run *r) { return run_state_time(&r->state); }
static sim_clock run_clock(const run *r) { return (sim_clock){*r->state.step, run_time(r), *r->state.dt}; }

static const int64_t one_row = 1;

/* Allocates all members as zeros and registers them as the group "run". The table keeps the address of `s`. */
static PetscErrorCode run_state_create(run_state *s, field_table *table)
{
  PetscFunctionBegin;
  field_group *g;
  PetscCall(field_table_add_group(table, "run", FIELD_GROUP_PLAIN, &one_row, s, &g));
#define X(member, name, type, field_type, unit, help)                                                                                      \
  PetscCall(memory_alloc("run state", 1, sizeof(type), &s->member));                                                                       \
  PetscCall(field_table_add(table, g, name, unit, field_type, 1, &s->member, FIELD_CHECKPOINT, help));
  RUN_STATE_TABLE(X)
#undef X
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void run_state_destroy(run_state *s)
{
#define X(member, name, type, field_type, unit, help) memory_free(&s->member);
  RUN_STATE_TABLE(X)
#undef X
}

/* --- result.yaml -------------------------------------------------------------------------------------------------- */

/* Reads the totals of the previous starts from result.yaml and stages.csv. A damaged file gives a warning and is ignored. */
static PetscErrorCode run_read_past(run *r)
{
  document         *owner;
  const run_result *was;

  PetscFunctionBegin;
  PetscCall(run_stages_read(r->dir, &r->past_stages));
  if (run_result_read(r->dir, &owner, &was)) {
    log_warn("%s; wall time, CPU time and the number of starts are counted from this start", error_message());
    error_clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!was) PetscFunctionReturn(PETSC_SUCCESS);
  r->past = (run_past){.is_finished          = run_status_is_finished(was->status),
                       .is_bad               = was->status == RUN_SEE_QUALITY,
                       .step                 = was->step,
                       .starts               = was->starts,
                       .seconds              = was->seconds,
                       .user_seconds         = was->user_seconds,
                       .peak_resident_memory = was->peak_resident_memory};
  snprintf(r->past.begun, RUN_DATE, "%s", was->begun);
  document_destroy(&owner);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Results of all measures of the job; names are borrowed. The caller frees items and values with memory_free. */
static PetscErrorCode collect_measures(const run *r, key_item **items, run_result_measure **values)
{
  const key_list *named = &r->job->measure;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("result", ARRAY(*items, named->n), ARRAY(*values, named->n)));
  for (int i = 0; i < named->n; ++i) {
    run_result_measure       *v = &(*values)[i];
    const measure_statistics *s = measures_statistics(r->measures, i, &v->unit);
    v->n = s->n, v->last = s->last, v->min = s->min, v->max = s->max, v->mean = measure_statistics_mean(s);
    v->time_of_min = s->time_of_min, v->time_of_max = s->time_of_max;
    (*items)[i] = (key_item){.name = named->item[i].name, .value = v};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces result.yaml. `reason`: why the run ended, "" while it is running. */
static PetscErrorCode run_write_result(const run *r, run_status status, int code, const char *reason)
{
  quality_texts       texts                                        = {0};
  run_quality         quality                                      = {0};
  char                host[256]                                    = "", now[RUN_DATE], line[512], program[VERSION_TEXT + 16];
  key_item           *items __attribute__((cleanup(memory_free)))  = NULL;
  run_result_measure *values __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  snprintf(program, sizeof program, "stickslip %s", version_text());
  (void)gethostname(host, sizeof host - 1);
  run_result_now(now);
  snprintf(line, sizeof line, "%.*s", (int)strcspn(reason, "\n"), reason);
  PetscCall(collect_measures(r, &items, &values));
  PetscErrorCode   error  = quality_monitor_result(r->monitor, *r->state.step, &texts, &quality);
  const run_past  *past   = &r->past;
  const run_state *s      = &r->state;
  const run_result result = {.result               = RUN_RESULT_FORMAT,
                             .status               = status,
                             .job                  = r->job->scene.name,
                             .reason               = line,
                             .exit_code            = code,
                             .program              = program,
                             .host                 = host,
                             .threads              = team_threads(),
                             .starts               = past->starts + 1,
                             .begun                = r->past.begun,
                             .updated              = now,
                             .step                 = *s->step,
                             .retries              = *s->retries,
                             .time                 = run_time(r),
                             .seconds              = past->seconds + timer_now() - r->output.wall_start,
                             .user_seconds         = past->user_seconds + timer_user_seconds(),
                             .peak_resident_memory = fmax(past->peak_resident_memory, (double)memory_peak_resident()),
                             .newton               = *s->newton,
                             .linear               = *s->linear,
                             .contacts             = *s->contacts,
                             .max_penetration      = *s->max_penetration,
                             .quality              = &quality,
                             .measures             = {r->job->measure.n, items}};
  if (!error) error = run_result_write(r->dir, &result);
  memory_free(&texts.warning);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_begin_result(run *r)
{
  PetscFunctionBegin;
  if (!*r->past.begun) run_result_now(r->past.begun);
  PetscCall(run_write_result(r, RUN_RUNNING, -1, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- when to leave the allocation --------------------------------------------------------------------------------- */

enum { STEPS_IN_RESERVE = 3 };
#define FIRST_CHECKPOINT_SPEED 100e6 /* [byte/s] assumed until a checkpoint has been timed: a slow network file system */

static double expected_checkpoint_seconds(const run *r)
{
  const double measured = r->output.checkpoint_seconds;
  return measured > 0 ? 1.5 * measured : (double)memory_live() / FIRST_CHECKPOINT_SPEED;
}

/* Sets the times at which an unfinished step is abandoned, so that a checkpoint of the state before it can still be written. */
static void set_time_limits(const run *r)
{
  const double reserve = expected_checkpoint_seconds(r) + ALLOCATION_SPARE;
  stop_set_grace(fmax(0.0, ALLOCATION_KILL_WAIT - reserve));
  stop_set_deadline(r->limits.end - reserve);
}

/* Warns once if the peak resident memory exceeds 90 % of the allocation. */
static void warn_if_memory_is_short(run *r)
{
  struct rusage u;
  if (r->limits.memory == 0 || getrusage(RUSAGE_SELF, &u)) return;
  const double peak = 1024.0 * (double)u.ru_maxrss, allocated = (double)r->limits.memory;
  if (peak < 0.9 * allocated) return;
  log_warn(
      "the peak resident memory is %.3g GB of the allocated %.3g GB; the run is killed if it exceeds them; request more with sbatch --mem",
      1e-9 * peak, 1e-9 * allocated);
  r->limits.memory = 0;
}

/* Called before the first step: reads the time and memory of the allocation. */
static void run_init_limits(run *r)
{
  allocation a;
  allocation_read(&a);
  const double remaining = allocation_time_left(&a);
  r->limits              = (run_limits){.end = timer_now() + remaining, .memory = a.memory};
  if (isfinite(remaining)) log_info("SLURM job %s: %.0f s remaining", a.job, remaining);
  set_time_limits(r);
  warn_if_memory_is_short(r);
}

/* Called after each step. `seconds`: its wall time including outputs. */
static void run_update_limits(run *r, double seconds)
{
  r->limits.step = fmax(seconds, 0.9 * r->limits.step);
  set_time_limits(r);
  warn_if_memory_is_short(r);
}

/* True, with the reason in `why`, after a signal or if the remaining time is too short for more steps and a checkpoint. Called
 * before each step and after an abandoned one. */
static bool run_must_stop(const run *r, size_t size, char *why)
{
  const int    number    = stop_signal();
  const double remaining = r->limits.end - timer_now();
  if (number) {
    snprintf(why, size, "signal %d", number);
    return true;
  }
  if (remaining > STEPS_IN_RESERVE * r->limits.step + expected_checkpoint_seconds(r) + 2.0 * ALLOCATION_SPARE && !stop_is_urgent())
    return false;
  snprintf(why, size, "only %.0f s of the time limit remain", fmax(0.0, remaining));
  return true;
}

/* --- checkpoints -------------------------------------------------------------------------------------------------- */

/* [s] Interval between updates of stages.csv; short runs write it once. */
static const double STAGES_INTERVAL = 5.0;
/* checkpoint_in_background: auto uses a child process if the last checkpoint took more than this share of the wall time and more than
 * these seconds. Below that, fork and page copies cost more than they save. */
static const double CHILD_MIN_SHARE = 0.01, CHILD_MIN_SECONDS = 0.2;

static checkpoint_head make_checkpoint_head(const run *r)
{
  return (checkpoint_head){r->job->scene.name, r->formulation->ops->scene.name, r->job->resolved, *r->state.step, run_time(r)};
}

/* Writes the rows of history.csv and measure/ to disk. A checkpoint must not refer to rows that could still be lost. */
static PetscErrorCode flush_tables(run *r)
{
  PetscFunctionBegin;
  PetscCall(history_flush(r->output.history));
  PetscCall(measures_flush(r->measures));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Updates result.yaml and, every STAGES_INTERVAL, stages.csv. */
static PetscErrorCode write_status_files(run *r)
{
  PetscFunctionBegin;
  PetscCall(run_write_result(r, RUN_RUNNING, -1, ""));
  if (timer_now() - r->output.last_stages_wall > STAGES_INTERVAL) {
    PetscCall(run_stages_write(r->dir, &r->past_stages));
    r->output.last_stages_wall = timer_now();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_checkpoint_now(run *r)
{
  PetscFunctionBegin;
  run_output  *o     = &r->output;
  const double begun = timer_now(), since = begun - o->last_checkpoint_wall;
  timer_begin(TIMER_CHECKPOINT);
  const checkpoint_head head = make_checkpoint_head(r);
  PetscCall(flush_tables(r));
  PetscCall(checkpoint_write(r->checkpoint_dir, &head, r->fields, (int)r->job->output->keep));
  o->last_checkpoint_wall = timer_now();
  o->last_checkpoint_step = *r->state.step;
  o->checkpoint_seconds   = o->last_checkpoint_wall - begun;
  o->checkpoint_share     = o->checkpoint_seconds / (o->checkpoint_seconds + since);
  PetscCall(write_status_files(r));
  timer_end(TIMER_CHECKPOINT);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the job requests a checkpoint by a child process, and there is memory for it. */
static bool use_child_checkpoint(const run *r)
{
  const int mode = r->job->output->checkpoint_background;
  if (mode == JOB_CHECKPOINT_CHILD_NEVER) return false;
  if (mode == JOB_CHECKPOINT_CHILD_AUTO &&
      !(r->output.checkpoint_share > CHILD_MIN_SHARE && r->output.checkpoint_seconds > CHILD_MIN_SECONDS))
    return false;
  return checkpoint_background_has_room(r->limits.memory);
}

/* Checks whether the child process has finished its checkpoint (`wait`: waits for it). If it failed, writes the current state at
 * once. */
static PetscErrorCode poll_child_checkpoint(run *r, bool wait)
{
  PetscFunctionBegin;
  run_output               *o = &r->output;
  checkpoint_background_end end;
  if (!o->background) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_CHECKPOINT);
  PetscCall(checkpoint_background_poll(&o->background, wait, &end));
  timer_end(TIMER_CHECKPOINT);
  if (end.is_running) PetscFunctionReturn(PETSC_SUCCESS);
  if (end.is_written) {
    o->checkpoint_seconds = end.seconds; /* the duration that a checkpoint without child process would have */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  o->last_checkpoint_step = -1;
  PetscCall(write_checkpoint_now(r)); /* or returns the error that explains the failure */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes a checkpoint and result.yaml, unless the newest checkpoint is of this step. Waits for a child process that is writing
 * one. */
static PetscErrorCode run_write_checkpoint(run *r)
{
  PetscFunctionBegin;
  PetscCall(poll_child_checkpoint(r, true));
  if (r->output.last_checkpoint_step != *r->state.step) PetscCall(write_checkpoint_now(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, or starts a child process that writes the checkpoint while the computation continues. */
static PetscErrorCode run_write_due_checkpoint(run *r)
{
  PetscFunctionBegin;
  run_output *o = &r->output;
  PetscCall(poll_child_checkpoint(r, true));
  if (o->last_checkpoint_step == *r->state.step) PetscFunctionReturn(PETSC_SUCCESS);
  if (use_child_checkpoint(r)) {
    timer_begin(TIMER_CHECKPOINT);
    const checkpoint_head head = make_checkpoint_head(r);
    PetscCall(flush_tables(r));
    PetscCall(checkpoint_background_start(r->checkpoint_dir, &head, r->fields, (int)r->job->output->keep, &o->background));
    if (o->background) {
      o->last_checkpoint_wall = timer_now();
      o->last_checkpoint_step = *r->state.step;
      PetscCall(write_status_files(r));
    }
    timer_end(TIMER_CHECKPOINT);
  }
  if (!o->background) PetscCall(write_checkpoint_now(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- opening and closing --------------------------------------------------------------------------------------------- */

/* Frame fields of the groups with this geometry (-1: of all groups): names [256]. Returns their number. */
static int list_frame_fields(const run *r, int geometry, const char **names)
{
  int n = 0;
  for (int k = 0; k < field_table_n_groups(r->fields); ++k) {
    const field_group *g         = field_table_group(r->fields, k);
    const bool         is_listed = geometry < 0 || ((int)g->geometry == geometry && strncmp(g->name, "bodies/", 7) == 0);
    for (int m = 0; m < g->n_fields && is_listed; ++m)
      if (g->fields[m].flags & FIELD_FRAME && n < 256) names[n++] = g->fields[m].name;
  }
  return n;
}

static void check_field_name(const char *name, int n, const char *const *known, document_mark mark, const char *path, const char *what,
                             diagnostics *d)
{
  for (int k = 0; k < n; ++k)
    if (strcmp(known[k], name) == 0) return;
  const char *nearest = diagnostics_nearest(name, n, known);
  diagnostics_add(d, mark, path, "unknown %s \"%s\"%s%s%s", what, name, nearest ? "; did you mean \"" : "; see docs/reference/fields.md",
                  nearest ? nearest : "", nearest ? "\"?" : "");
}

/* Adds a diagnostic for each name under output.fields that is not the name of a frame field, and for picture.field if particles do not have it
 * in frames. The default of picture.field is accepted. */
static PetscErrorCode run_check_frame_fields(const run *r, diagnostics *d)
{
  const char *known[256], *points[256];
  PetscFunctionBegin;
  const key_list      *names   = &r->job->output->fields;
  const int            n_known = list_frame_fields(r, -1, known), n_points = list_frame_fields(r, FIELD_GROUP_POINTS, points);
  const document_node *colour = document_find(document_find(r->job->scene.root, "picture"), "field");
  for (int i = 0; i < names->n; ++i)
    check_field_name(names->item[i].value, n_known, known, names->item[i].node->mark, "output.fields", "frame field", d);
  if (colour && colour->text && strcmp(colour->text, "speed") == 0) colour = NULL;
  if (colour && colour->text && n_points > 0)
    check_field_name(colour->text, n_points, points, colour->mark, "picture.field", "particle field", d);
  if (colour && colour->text && n_points == 0)
    check_field_name(colour->text, n_known, known, colour->mark, "picture.field", "frame field", d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Deletes the contact problems (fclib/) of steps after the resumed one, or all of them at a new start. */
static void delete_contact_problems(const run *r, int64_t resume_step)
{
  char dir[4200], path[4500];
  snprintf(dir, sizeof dir, "%s/fclib", r->dir);
  DIR *d = opendir(dir);
  for (const struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d)) {
    long long step;
    int       end = 0;
    if (sscanf(entry->d_name, "step_%lld.hdf5%n", &step, &end) != 1 || end == 0 || entry->d_name[end] || step <= resume_step) continue;
    snprintf(path, sizeof path, "%s/%.250s", dir, entry->d_name);
    unlink(path);
  }
  if (d) closedir(d);
}

/* Continues the record of messages (core/log.h) in log.txt, unless stderr is that file, as for the cases of a sweep. */
static PetscErrorCode open_log(const run *r, bool is_replaced)
{
  char        path[4300];
  const char *why;
  struct stat file, messages;

  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/log.txt", r->dir);
  const int fd = regular_file_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &why);
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, why, file_advice(errno));
  const bool is_stderr =
      !fstat(fd, &file) && !fstat(STDERR_FILENO, &messages) && file.st_dev == messages.st_dev && file.st_ino == messages.st_ino;
  if (is_replaced && !is_stderr) (void)!ftruncate(fd, 0);
  FILE *out = is_stderr ? NULL : fdopen(fd, "a");
  if (!out) close(fd);
  log_record_to(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opens all output files below r->dir: new ones (resume_step -1), or truncated to the resumed step. The caller holds the lock. */
static PetscErrorCode run_open_outputs(run *r, int64_t resume_step)
{
  PetscFunctionBegin;
  run_output *o = &r->output;
  char        path[4300];
  PetscCall(file_make_directory(r->checkpoint_dir));
  snprintf(path, sizeof path, "%s/failure.txt", r->dir);
  unlink(path); /* the failed step is repeated now */
  delete_contact_problems(r, resume_step);
  snprintf(path, sizeof path, "%s/job.yaml", r->dir);
  PetscCall(file_replace_text(path, strlen(r->job->resolved), r->job->resolved));
  snprintf(path, sizeof path, "%s/history.csv", r->dir);
  PetscCall(run_history_open(path, r->history_groups, resume_step, &o->history));
  (void)history_is_whole(o->history, resume_step, r->job->output->history_every);
  const key_list *names = &r->job->output->fields;
  PetscCall(memory_alloc("frame fields", names->n, sizeof(char *), &o->frame_fields));
  for (int i = 0; i < names->n; ++i) o->frame_fields[i] = names->item[i].value;
  const frames_options options = {r->job->scene.name, r->job->output->precision == 1, names->n, o->frame_fields, r->fields};
  PetscCall(frames_open(r->dir, *r->state.frame, &options, &o->frames));
  const sim_clock now = run_clock(r);
  PetscCall(measures_open(r->measures, r->dir, resume_step, &now));
  PetscCall(run_machine_write(r->dir));
  if (resume_step < 0) { /* delete files of the previous run in this directory */
    snprintf(path, sizeof path, "%s/report.html", r->dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/stages.csv", r->dir);
    unlink(path);
  }
  o->wall_start = o->last_checkpoint_wall = o->last_stages_wall = timer_now();
  o->last_checkpoint_step                                       = resume_step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void run_close_outputs(run *r)
{
  run_output *o = &r->output;
  (void)history_close(&o->history);
  frames_close(&o->frames);
  memory_free(&o->frame_fields);
}

/* --- while it runs --------------------------------------------------------------------------------------------------- */

static PetscErrorCode run_write_frame(run *r)
{
  PetscFunctionBegin;
  timer_begin(TIMER_FRAME);
  PetscCall(frames_write(r->output.frames, *r->state.frame, *r->state.step, run_time(r), r->fields));
  ++*r->state.frame;
  *r->state.frame_step = *r->state.step;
  timer_end(TIMER_FRAME);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the final frame, unless a frame of this step exists. */
static PetscErrorCode run_write_last_frame(run *r)
{
  PetscFunctionBegin;
  if (*r->state.frame == 0 || *r->state.frame_step != *r->state.step) PetscCall(run_write_frame(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether an output at intervals of `every` (simulated seconds) is due at the end of this step. */
static bool run_is_due(const run *r, double every)
{
  const sim_clock now = run_clock(r);
  return sim_clock_is_due(&now, every);
}

/* Writes a frame and the measures of the initial state. */
static PetscErrorCode run_write_start(run *r)
{
  PetscFunctionBegin;
  const step_report nothing = {0};
  PetscCall(run_write_frame(r));
  const sim_clock now = run_clock(r);
  PetscCall(measures_record(r->measures, &now, &nothing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_contact_problem(const run *r)
{
  PetscFunctionBegin;
  char dir[4200], path[4300];
  snprintf(dir, sizeof dir, "%s/fclib", r->dir);
  snprintf(path, sizeof path, "%s/step_%09lld.hdf5", dir, (long long)*r->state.step);
  timer_begin(TIMER_FRAME);
  PetscCall(file_make_directory(dir));
  PetscCall(r->formulation->ops->write_problem(r->formulation, path));
  timer_end(TIMER_FRAME);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the outputs that are due at the end of a step. `seconds`: wall time of the step. Measures and conditions of until: are
 * evaluated before the checkpoint, because it stores them. */
static PetscErrorCode run_write_outputs(run *r, const step_report *report, const body_totals *sum, int64_t retries, double seconds)
{
  PetscFunctionBegin;
  const job_output *o = r->job->output;
  PetscCall(poll_child_checkpoint(r, false));
  timer_begin(TIMER_FRAME);
  if (*r->state.step % o->history_every == 0) {
    double values[HISTORY_N_QUANTITIES];
    history_values(sum, *r->state.step, run_time(r), r->job->scene.time->step, report, retries, seconds, values);
    PetscCall(run_history_row(r->output.history, r->history_groups, values));
  }
  const sim_clock now = run_clock(r);
  bool            is_met;
  PetscCall(measures_record(r->measures, &now, report));
  PetscCall(until_step(r->until, &now, &is_met));
  PetscCall(quality_monitor_store_warnings(r->monitor));
  timer_end(TIMER_FRAME);
  if (run_is_due(r, r->job->scene.time->frame)) PetscCall(run_write_frame(r));
  if (o->fclib > 0 && *r->state.step % o->fclib == 0 && r->formulation->ops->write_problem) PetscCall(write_contact_problem(r));
  const bool is_wall_due = o->checkpoint_wall > 0 && timer_now() - r->output.last_checkpoint_wall >= o->checkpoint_wall;
  if (run_is_due(r, o->checkpoint) || is_wall_due) PetscCall(run_write_due_checkpoint(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- at the end ------------------------------------------------------------------------------------------------------ */

/* One line: which step failed, and why. report: of the rejected attempt. */
static void run_failure_text(const run *r, const step_status *status, const step_report *report, size_t size, char *text)
{
  char why[400];
  run_explain_rejection(r->formulation->ops, r->job->scene.solver, status, report, sizeof why, why);
  snprintf(text, size, "step %lld (t = %g s, dt = %g s) failed with the smallest allowed substep, dt/%lld: %s",
           (long long)*r->state.step + 1, run_time(r), r->job->scene.time->step,
           (long long)((int64_t)1 << r->job->scene.time->retry->halvings), why);
}

static bool is_unconverged(const step_status *s) { return s->code == STEP_NOT_CONVERGED || s->code == STEP_FRICTION_NOT_CONVERGED; }

/* Writes failure.txt and a warning: the failed step, the place and possible remedies. */
static PetscErrorCode run_write_failure(const run *r, const step_status *status, const step_report *report)
{
  PetscFunctionBegin;
  char path[4300], what[800], unconverged[400] = "", text[8192];
  run_failure_text(r, status, report, sizeof what, what);
  if (status->code == STEP_NOT_CONVERGED)
    snprintf(unconverged, sizeof unconverged,
             "If the residual is the same in all substeps, it is probably at the level of rounding errors; then choose a larger %s.\n",
             run_tolerance_key(r->formulation->ops));
  const size_t used = strlen(unconverged);
  if (is_unconverged(status))
    snprintf(unconverged + used, sizeof unconverged - used, "%s",
             "time.retry.accept_unconverged=smallest_step accepts such steps and reports them in the quality block.\n");
  snprintf(text, sizeof text,
           "%s%s\nThe newest checkpoint contains the state before this step. A smaller time.step, more time.retry.halvings or %s\n"
           "may help: stickslip resume %s --set time.step=...\n%s",
           what, status->where >= 0 ? " (see below)" : "", r->formulation->ops->remedy, r->dir, unconverged);
  size_t n = strlen(text);
  if (status->where >= 0)
    snprintf(text + n, sizeof text - n, "index of the first point that violates the condition: %lld\n", (long long)status->where);
  snprintf(path, sizeof path, "%s/failure.txt", r->dir);
  PetscCall(file_replace_text(path, strlen(text), text));
  log_warn("%s", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The quality of all starts with its text: the lines of the quality block, or one line. quality_report_clear releases it, also after a failure. */
typedef struct {
  quality_texts texts;
  run_quality   quality;
  text_buffer   text;
} quality_report;

static void quality_report_clear(quality_report *q)
{
  text_clear(&q->text);
  memory_free(&q->texts.warning);
}

static PetscErrorCode quality_report_fill(const run *r, bool is_one_line, quality_report *out)
{
  PetscFunctionBegin;
  *out = (quality_report){0};
  PetscCall(quality_monitor_result(r->monitor, *r->state.step, &out->texts, &out->quality));
  if (is_one_line) run_quality_line(&out->quality, &out->text);
  else run_quality_print(&out->quality, "  ", &out->text);
  PetscFunctionReturn(out->text.code);
}

static PetscErrorCode print_quality(const run *r, FILE *out)
{
  quality_report q;
  PetscFunctionBegin;
  const PetscErrorCode code = quality_report_fill(r, false, &q);
  if (!code) fprintf(out, "quality of all starts\n%s\n", q.text.data ? q.text.data : "");
  quality_report_clear(&q);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes summary.txt (counters, quality, time by stage) and stages.csv. */
static PetscErrorCode run_write_summary(const run *r, int64_t n_steps)
{
  PetscFunctionBegin;
  char   path[4300], *text = NULL;
  size_t n = 0;
  snprintf(path, sizeof path, "%s/summary.txt", r->dir);
  FILE *f = open_memstream(&text, &n);
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory while writing summary.txt");
  fprintf(f,
          "stickslip %s, job %s, %lld steps in %.3f s on %d threads, %lld retries\n"
          "%-22s %.1f MB peak resident memory of the process, %.1f MB peak of tracked allocations\n\n",
          version_text(), r->job->scene.name, (long long)n_steps, timer_now() - r->output.wall_start, team_threads(),
          (long long)*r->state.retries, "memory", (double)memory_peak_resident() / 1e6, (double)memory_peak() / 1e6);
  run_counters_print(&r->counters, r->formulation->ops, f);
  PetscErrorCode code = print_quality(r, f);
  timer_table(f);
  fclose(f);
  if (!code) code = file_replace_text(path, n, text);
  free(text);
  PetscCall(code);
  PetscCall(run_stages_write(r->dir, &r->past_stages));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- time steps --------------------------------------------------------------------------------------------------- */

/* --- stepping ------------------------------------------------------------------------------------------------------ */

static void log_rejection(const run *r, double t, double h, const step_status *status, const step_report *report)
{
  char why[400];
  if (log_verbosity() < 1) return;
  run_explain_rejection(r->formulation->ops, r->job->scene.solver, status, report, sizeof why, why);
  log_debug("step %lld at t = %g s: %s; retrying with %g s", (long long)*r->state.step + 1, t, why, 0.5 * h);
}

/* A step that stalls above its tolerance, but below 10 times the tolerance, is halved up to this number of times before it is accepted. */
enum { STALL_LEVELS = 3 };

/* One time step in 2^level equal substeps. A failed substep is halved, at most time.retry.halvings times. The next step starts
 * one level lower. time.retry.accept_unconverged decides whether unconverged states are accepted. After a negative status *report is that of the
 * rejected attempt. The position inside the step is an integer number of smallest substeps, so it is exact. */
static PetscErrorCode advance_one_step(run *r, step_status *status, step_report *report, int64_t *retries)
{
  PetscFunctionBegin;
  const double  t0 = run_time(r), dt = r->job->scene.time->step;
  const int     accept    = r->job->scene.time->retry->accept_unconverged;
  const int64_t max_level = r->job->scene.time->retry->halvings, whole = (int64_t)1 << max_level;
  int64_t       level = *r->state.level > 0 ? *r->state.level - 1 : 0, at = 0;
  memset(report, 0, sizeof *report);
  *retries = 0;
  quality_monitor_begin_step(r->monitor);
  if (level > max_level) level = max_level;
  r->formulation->mean_forces = NULL;
  r->mean_forces.n            = 0;
  while (at < whole) {
    const int64_t part = whole >> level;
    const double  t = t0 + dt * ((double)at / (double)whole), h = dt * ((double)part / (double)whole);
    step_report   one;
    if (at == 0 && level > 0) PetscCall(field_snapshot_take(r->snapshot, r->fields));
    r->formulation->accepts_unconverged = accept == RETRY_ACCEPT_ALWAYS || (accept == RETRY_ACCEPT_SMALLEST_STEP && level == max_level);
    r->formulation->repeats_stalled     = level < STALL_LEVELS && level < max_level && accept != RETRY_ACCEPT_ALWAYS;
    PetscCall(r->formulation->ops->step(r->formulation, t, h, status, &one));
    if (status->code == STEP_OK) {
      at += part;
      if (part < whole && r->formulation->forces)
        PetscCall(contact_forces_append(&r->mean_forces, r->formulation->forces, (double)part / (double)whole));
      PetscCall(run_overlaps_record(r->scene, r->formulation, t + h, h, &one));
      if (at < whole && (r->history_groups & REPORT_PLASTICITY)) PetscCall(run_history_add_plasticity(r->scene, &one));
      step_report_merge(report, &one);
      quality_monitor_substep(r->monitor, &one);
      continue;
    }
    if (status->code == STEP_INTERRUPTED) level = max_level; /* do not try again */
    else log_rejection(r, t, h, status, &one);
    ++*retries;
    if (level == max_level) {
      /* Undo completed substeps: the checkpoint must contain the state before this step. */
      if (at > 0) PetscCall(field_snapshot_restore(r->snapshot, r->fields));
      *report = one; /* for the message */
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    ++level;
  }
  *r->state.level = level;
  *r->state.retries += *retries;
  if (level > 0 && r->formulation->forces) r->formulation->mean_forces = &r->mean_forces;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void show_step_progress(const run *r, int64_t first, int64_t last, const step_report *report)
{
  const int64_t step = *r->state.step;
  const double  wall = timer_now() - r->output.wall_start, eta = wall / (double)(step - first) * (double)(last - step);
  log_progress("t %.4g/%.4g s  step %lld/%lld  frame %lld  contacts %lld  %s %lld  %s %lld  %.3g s/step  ETA %lld:%02lld:%02lld",
               run_time(r), r->job->scene.time->end, (long long)step, (long long)last, (long long)*r->state.frame,
               (long long)report->contact.contacts, r->formulation->ops->outer, (long long)report->newton_iterations,
               r->formulation->ops->inner, (long long)(report->linear_iterations + report->friction_iterations),
               wall / (double)(step - first), (long long)eta / 3600, (long long)eta / 60 % 60, (long long)eta % 60);
}

/* Adds the report of a step to the totals of the state, which checkpoints store. */
static void add_to_state_totals(run *r, step_report *report)
{
  run_state *s = &r->state;
  *s->newton += report->newton_iterations;
  *s->linear += report->linear_iterations;
  *s->contacts = report->contact.contacts;
  *s->friction_work += report->contact.friction_work_done;
  *s->friction_work_deficit += report->contact.friction_work_deficit;
  run_history_add_friction(*s->friction_work, *s->friction_work_deficit, report);
  *s->max_penetration = fmax(*s->max_penetration, report->contact.penetration);
  ++*s->step;
}

/* Called for the first unconverged step of a run; summary.txt counts all of them. */
static void warn_unconverged(const run *r, const step_report *report)
{
  log_progress_end();
  const formulation_ops *ops    = r->formulation->ops;
  const solver_options  *solver = r->job->scene.solver;
  log_warn("step %lld at t = %g s accepted although its residual %.3g %s%s%s exceeds %s %g; "
           "history.csv lists the residuals of all steps, and the quality block in result.yaml the number of such steps",
           (long long)*r->state.step, run_time(r), report->residual, run_residual_unit(ops, solver),
           report->residual_body ? " in body " : "", report->residual_body ? report->residual_body : "", run_tolerance_key(ops),
           run_tolerance(ops, solver));
}

/* How a run ended; the reason in one line. */
typedef struct {
  run_status status;
  exit_code  code;
  char       reason[800];
} run_end;

/* True at step `last`, or if a condition of until: is satisfied. `why`: "end of time" or "until: CONDITION". */
static bool run_is_over(const run *r, int64_t last, size_t size, char *why)
{
  char condition[400];
  snprintf(why, size, "end of time");
  if (!until_met(r->until, sizeof condition, condition)) return *r->state.step >= last;
  snprintf(why, size, "until: %s", condition);
  return true;
}

/* End of the loop without a failed step: writes the last frame and the checkpoint, and sets status and exit code. `why`: the
 * reason to stop early, or "". */
static PetscErrorCode finish_loop(run *r, int64_t last, const char *why, run_end *end)
{
  PetscFunctionBegin;
  *end            = (run_end){RUN_FINISHED, SS_EXIT_OK, ""};
  const bool over = run_is_over(r, last, sizeof end->reason, end->reason);
  if (over) PetscCall(run_write_last_frame(r));
  PetscCall(run_write_checkpoint(r));
  if (over) {
    if (*r->state.step < last) log_info("finished at t = %g s: %s", run_time(r), end->reason);
  } else if (*why) {
    log_info("%s: stopped after step %lld; continue with `stickslip resume %s`", why, (long long)*r->state.step, r->dir);
    if (stop_signal() == SIGUSR1 && r->counters.n_steps == 0 && isfinite(r->limits.end))
      log_warn("the warning signal came before the first step: the time limit of the job (--time) must exceed the lead time of the signal "
               "(--signal=B:USR1@SECONDS)");
    *end = (run_end){RUN_STOPPED, SS_EXIT_REQUEUE, ""};
    snprintf(end->reason, sizeof end->reason, "%s", why);
  } else {
    *end = (run_end){RUN_STOPPED, SS_EXIT_OK, ""};
    snprintf(end->reason, sizeof end->reason, "--steps %lld", (long long)r->max_steps);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print the quality of a finished run; a bad entry changes the status and, if the run is strict, the exit code. */
static PetscErrorCode check_quality(const run *r, run_end *end)
{
  quality_report q;
  PetscFunctionBegin;
  const PetscErrorCode code = quality_report_fill(r, true, &q);
  if (!code) {
    log_info("quality: %s", q.text.data ? q.text.data : "");
    for (int i = 0; i < q.quality.bad.n; ++i)
      log_alert("%s: %s", run_status_names[RUN_SEE_QUALITY], (const char *)q.quality.bad.item[i].value);
    if (q.quality.bad.n > 0) end->status = RUN_SEE_QUALITY, end->code = r->is_strict ? SS_EXIT_QUALITY : SS_EXIT_OK;
  }
  quality_report_clear(&q);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step at which time.end is reached, or exceeded by less than one step; at least the current step. */
static int64_t run_last_step(const run *r)
{
  const double  n_left = (r->job->scene.time->end - *r->state.base_time) / r->job->scene.time->step * (1 - 1e-12);
  const int64_t last   = *r->state.base_step + (n_left > 0 ? (int64_t)ceil(n_left) : 0);
  return last > *r->state.step ? last : *r->state.step;
}

/* time.start: at_rest: replaces the initial state by a static equilibrium, unless an earlier start has done it. If there is none, *end is set to a
 * failure; after a stop signal the initial state is kept, and the next start repeats the search. */
static PetscErrorCode start_at_rest(run *r, run_end *end)
{
  static_equilibrium e;
  char               path[4300], why[400] = "", text[2000];
  PetscFunctionBegin;
  if (r->job->scene.time->start != TIME_START_AT_REST || *r->state.step > 0 || quality_monitor_has_equilibrium(r->monitor))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(static_equilibrium_find(r->scene, r->formulation, r->fields, &e));
  if (e.result == STATIC_INTERRUPTED) PetscFunctionReturn(PETSC_SUCCESS);
  if (e.result == STATIC_FOUND) {
    quality_monitor_equilibrium(r->monitor, e.n_steps, e.velocity);
    log_info("initial equilibrium: %lld relaxation steps, remaining velocity %.2g m/s, residual acceleration %.2g m/s^2%s%s, displacement "
             "%.3g m",
             (long long)e.n_steps, e.velocity, e.acceleration, *e.body ? " of " : "", e.body, e.displacement);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (e.status.code != STEP_OK) run_explain_rejection(r->formulation->ops, r->job->scene.solver, &e.status, &e.report, sizeof why, why);
  *end = (run_end){RUN_FAILED, SS_EXIT_STEP_FAILED, ""};
  snprintf(end->reason, sizeof end->reason,
           "time.start: at_rest: no static equilibrium found after %lld relaxation steps: %s still accelerates with %.3g m/s^2, limit %.1g "
           "m/s^2, and bodies have moved by up to %.3g m%s%s",
           (long long)e.n_steps, *e.body ? e.body : "a body", e.acceleration, e.tolerance * r->job->scene.acceleration_scale,
           e.displacement, *why ? "; last step: " : "", why);
  snprintf(text, sizeof text,
           "%s\nAdd friction, a support or a hold that carries the body, move it closer to its place of rest, or remove time.start.\n",
           end->reason);
  snprintf(path, sizeof path, "%s/failure.txt", r->dir);
  PetscCall(file_replace_text(path, strlen(text), text));
  log_warn("%s", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_until_end(run *r, run_end *end)
{
  PetscFunctionBegin;
  const double  dt    = r->job->scene.time->step;
  const int64_t first = *r->state.step, last = run_last_step(r);
  const int64_t stop     = r->max_steps > 0 && first + r->max_steps < last ? first + r->max_steps : last;
  step_report   report   = {0};
  char          why[160] = "";
  PetscCall(run_begin_result(r));
  run_init_limits(r);
  *end = (run_end){RUN_FINISHED, SS_EXIT_OK, ""};
  PetscCall(start_at_rest(r, end));
  if (*r->state.frame == 0) PetscCall(run_write_start(r));
  if (*r->state.step == 0) PetscCall(quality_monitor_start(r->monitor));
  while (end->code == SS_EXIT_OK && !run_is_over(r, stop, sizeof end->reason, end->reason) && !run_must_stop(r, sizeof why, why)) {
    step_status  status = {STEP_OK, NULL, -1};
    int64_t      retries;
    const double begun = timer_now();
    PetscCall(advance_one_step(r, &status, &report, &retries));
    if (status.code == STEP_INTERRUPTED) continue; /* run_must_stop() returns the reason */
    if (status.code != STEP_OK) {
      log_progress_end();
      PetscCall(run_write_checkpoint(r));
      PetscCall(run_write_failure(r, &status, &report));
      *end = (run_end){RUN_FAILED, SS_EXIT_STEP_FAILED, ""};
      run_failure_text(r, &status, &report, sizeof end->reason, end->reason);
      break;
    }
    add_to_state_totals(r, &report);
    run_counters_add(&r->counters, dt, &report, retries);
    if (report.unconverged > 0 && r->counters.n_unconverged == 1) warn_unconverged(r, &report);
    body_totals sum;
    const int   known = warning_list_count(r->scene->warnings);
    PetscCall(scene_totals(r->scene, &sum));
    PetscCall(quality_monitor_end_step(r->monitor, dt, &report, &sum, retries));
    PetscCall(scene_emit(r->scene, run_time(r), dt));
    if (warning_list_count(r->scene->warnings) > known) log_progress_end(), (void)warning_list_log(r->scene->warnings, known);
    PetscCall(run_write_outputs(r, &report, &sum, retries, timer_now() - begun));
    run_update_limits(r, timer_now() - begun);
    show_step_progress(r, first, last, &report);
  }
  log_progress_end();
  if (end->code == SS_EXIT_OK) PetscCall(finish_loop(r, last, why, end));
  if (end->status == RUN_FINISHED) PetscCall(check_quality(r, end));
  PetscCall(run_write_summary(r, *r->state.step - first));
  PetscCall(run_write_result(r, end->status, end->code, end->reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_loop(run *r, exit_code *code)
{
  PetscFunctionBegin;
  run_end end = {RUN_FAILED, SS_EXIT_BUG, ""};
  timer_reset();
  run_counters_begin(&r->counters);
  const PetscErrorCode error = step_until_end(r, &end);
  if (error && r->output.background) { /* wait: this checkpoint is the newest one */
    checkpoint_background_end written;
    (void)checkpoint_background_poll(&r->output.background, true, &written);
  }
  /* Report the first error; ignore a second error while writing result.yaml. */
  if (error) (void)run_write_result(r, RUN_FAILED, (int)error_exit_code(error), error_message());
  *code = end.code;
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- start and resume --------------------------------------------------------------------------------------------- */

PetscErrorCode run_build(job **j, const run_options *options, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  run *r __attribute__((cleanup(run_destroy))) = NULL; /* freed on every path that does not pass it to the caller */
  *out                                         = NULL;
  PetscCall(memory_alloc("run", 1, sizeof *r, &r));
  r->job           = *j;
  *j               = NULL;
  r->memory_before = memory_live();
  r->max_steps     = options->max_steps;
  r->is_strict     = options->is_strict || r->job->quality == JOB_QUALITY_STRICT;
  if (options->dir) snprintf(r->dir, sizeof r->dir, "%s", options->dir);
  else snprintf(r->dir, sizeof r->dir, "run/%s", r->job->scene.name);
  snprintf(r->checkpoint_dir, sizeof r->checkpoint_dir, "%s/checkpoints", r->dir);
  PetscCall(scene_create(options->comm, &r->job->scene, d, &r->scene));
  if (r->scene) PetscCall(measures_check(r->scene, &r->job->measure, d));
  if (r->scene) PetscCall(petsc_options_check(formulations[r->job->formulation], r->scene, d));
  if (r->scene) PetscCall(static_equilibrium_check(r->scene, d));
  if (!r->scene || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(scene_check_plausibility(r->scene));
  PetscCall(job_store_stiffness(r->job, r->scene->auto_stiffness));
  if (!options->is_check) PetscCall(petsc_options_set(r->job->scene.solver->petsc));
  PetscCall(formulation_create(formulations[r->job->formulation], r->scene, &r->formulation));
  r->history_groups = history_groups(r->scene, r->formulation->ops);
  r->fields         = r->scene->fields;
  PetscCall(r->formulation->ops->fields(r->formulation, r->fields));
  PetscCall(run_state_create(&r->state, r->fields));
  PetscCall(quality_monitor_create(r->scene, r->formulation, r->fields, &r->monitor));
  *r->state.dt = r->job->scene.time->step;
  PetscCall(named_state_create(r->fields, &r->named_state));
  PetscCall(measures_create(r->scene, &r->job->measure, r->formulation, r->named_state, &r->measures));
  PetscCall(until_create(&r->job->until, &r->job->measure, r->measures, r->named_state, r->scene->warnings, &r->until));
  PetscCall(run_check_frame_fields(r, d));
  PetscCall(field_snapshot_create(&r->snapshot));
  *out = r;
  r    = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_create(job **j, const run_options *options, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  run *r __attribute__((cleanup(run_destroy))) = NULL;
  char path[4300];
  *out = NULL;
  PetscCall(run_build(j, options, d, &r));
  if (!r || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  snprintf(path, sizeof path, "%s/job.yaml", r->dir);
  const bool is_used = access(path, F_OK) == 0;
  PetscCheck(
      !is_used || options->force, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
      "%s already contains a run; continue it with `stickslip resume %s`, choose another directory with --out, or start again with --force",
      r->dir, r->dir);
  PetscCall(run_lock_acquire(r->dir, &r->lock));
  PetscCall(open_log(r, !options->keeps_log));
  if (is_used) PetscCall(checkpoint_drop_all(r->checkpoint_dir));
  PetscCall(run_open_outputs(r, -1));
  *out = r;
  r    = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A checkpoint contains its job. A checkpoint that was copied here by mistake would therefore run another job. The name in
 * job.yaml must match; if job.yaml is missing or damaged, the checkpoint is accepted with a warning. */
static PetscErrorCode check_job_name(const char *dir, const char *checkpoint, const char *job_name)
{
  PetscFunctionBegin;
  char         path[4300];
  document    *doc __attribute__((cleanup(document_destroy)))  = NULL;
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;
  snprintf(path, sizeof path, "%s/job.yaml", dir);
  PetscCall(document_create(&doc));
  PetscCall(diagnostics_create(&d));
  PetscCall(yaml_read_file(path, doc, d));
  const document_node *root = document_root(doc), *name = root && root->kind == DOCUMENT_MAPPING ? document_find(root, "name") : NULL;
  const bool           is_known = name && name->text && !diagnostics_count(d);
  if (!is_known) log_warn("%s is missing or damaged; continuing with the job stored in %s", path, checkpoint);
  PetscCheck(!is_known || strcmp(name->text, job_name) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s belongs to the job \"%s\", but %s to the job \"%s\"; move the checkpoint away to continue from an older one", checkpoint,
             job_name, path, name->text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- resume --------------------------------------------------------------------------------------------------------- */

/* The newest checkpoint of a run directory. */
typedef struct {
  run_lock         *lock;
  char             *newest; /* checkpoint; NULL: none */
  checkpoint_origin origin;
  char              checkpoint_dir[4300];
} found_run;

static PetscErrorCode find_newest_checkpoint(const char *dir, found_run *f)
{
  PetscFunctionBegin;
  memset(f, 0, sizeof *f);
  snprintf(f->checkpoint_dir, sizeof f->checkpoint_dir, "%s/checkpoints", dir);
  if (access(dir, F_OK)) PetscFunctionReturn(PETSC_SUCCESS);
  /* Lock first: no other process may write the files that are read and truncated below. */
  PetscCall(run_lock_acquire(dir, &f->lock));
  PetscCall(checkpoint_newest(f->checkpoint_dir, &f->newest));
  if (!f->newest) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(checkpoint_read_head(f->newest, &f->origin));
  PetscCheck(f->origin.job_text, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: contains no job, so it cannot be resumed; move it away to resume from an older checkpoint", f->newest);
  PetscCall(check_job_name(dir, f->newest, f->origin.job_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void found_run_destroy(found_run *f)
{
  run_lock_release(&f->lock);
  memory_free(&f->newest);
  checkpoint_origin_destroy(&f->origin);
}

/* Reads the state of the checkpoint into a newly built run. */
static PetscErrorCode restore_checkpoint(run *r, const found_run *f)
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
  PetscCall(run_overlaps_resume(r->scene, run_time(r)));
  PetscCall(run_read_past(r));
  PetscCall(run_open_outputs(r, *r->state.step));
  log_info("resumed from %s at step %lld", f->newest, (long long)*r->state.step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Continues with the job *j (takes ownership) in place of the stored job. accept_all: accept all differences. */
static PetscErrorCode continue_with_job(job **j, found_run *f, const run_options *options, bool accept_all, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  job *before __attribute__((cleanup(job_destroy))) = NULL;
  run *r __attribute__((cleanup(run_destroy)))      = NULL;
  int  n_changes                                    = 0;
  PetscCall(job_read_text(f->newest, f->origin.job_text, 0, NULL, d, &before));
  if (before) PetscCall(job_compare(before, *j, options->dir ? options->dir : "the run", accept_all, d, &n_changes));
  if (diagnostics_count(d) == 0) PetscCall(run_build(j, options, d, &r));
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  r->lock       = f->lock;
  r->is_changed = n_changes > 0;
  f->lock       = NULL;
  PetscCall(open_log(r, false));
  PetscCall(restore_checkpoint(r, f));
  r->formulation->has_changed_job = r->is_changed;
  *out                            = r;
  r                               = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_resume(const run_options *options, int n_overrides, const char *const *overrides, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  found_run f __attribute__((cleanup(found_run_destroy))) = {0};
  job      *j __attribute__((cleanup(job_destroy)))       = NULL;
  *out                                                    = NULL;
  PetscCheck(access(options->dir, F_OK) == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: no such run directory; start the run with `stickslip run`", options->dir);
  PetscCall(find_newest_checkpoint(options->dir, &f));
  PetscCheck(f.newest, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: no checkpoint to resume from; start again with `stickslip run JOB.yaml --out %s --force`", f.checkpoint_dir,
             options->dir);
  PetscCall(job_read_text(f.newest, f.origin.job_text, n_overrides, overrides, d, &j));
  if (j) PetscCall(continue_with_job(&j, &f, options, true, d, out)); /* overrides are intended changes */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_continue(job **j, const run_options *options, diagnostics *d, run **out)
{
  PetscFunctionBegin;
  found_run   f __attribute__((cleanup(found_run_destroy))) = {0};
  char        dir[4300];
  run_options o = *options;
  *out          = NULL;
  if (!o.dir) {
    snprintf(dir, sizeof dir, "run/%s", (*j)->scene.name);
    o.dir = dir;
  }
  PetscCall(find_newest_checkpoint(o.dir, &f));
  if (f.newest) {
    PetscCall(continue_with_job(j, &f, &o, o.accept_changes, d, out));
    job_destroy(j);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool run_is_finished(const run *r, size_t size, char *why)
{
  const bool is_over = run_is_over(r, run_last_step(r), size, why);
  return r->past.is_finished && r->past.step == *r->state.step && (!r->is_changed || is_over);
}

exit_code run_finished_code(const run *r) { return r->past.is_bad && r->is_strict ? SS_EXIT_QUALITY : SS_EXIT_OK; }

void run_destroy(run **r)
{
  if (!*r) return;
  run_close_outputs(*r);
  until_destroy(&(*r)->until);
  (void)measures_destroy(&(*r)->measures);
  named_state_destroy(&(*r)->named_state);
  quality_monitor_destroy(&(*r)->monitor);
  formulation_destroy(&(*r)->formulation);
  scene_destroy(&(*r)->scene);
  field_snapshot_destroy(&(*r)->snapshot);
  contact_forces_destroy(&(*r)->mean_forces);
  run_state_destroy(&(*r)->state);
  run_lock_release(&(*r)->lock);
  job_destroy(&(*r)->job);
  memory_free(r);
}

int64_t run_memory_before(const run *r) { return r->memory_before; }

int64_t run_steps(const run *r) { return r->counters.n_steps; }

const char *run_directory(const run *r) { return r->dir; }

const job *run_job(const run *r) { return r->job; }

const scene *run_scene(const run *r) { return r->scene; }
