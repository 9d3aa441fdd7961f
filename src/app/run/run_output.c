#include "app/run/run_impl.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "core/version.h"
#include "io/sealed_file.h"
#include "app/run/history_columns.h"
#include "app/run/run_machine.h"

/* --- opening and closing --------------------------------------------------------------------------------------------- */

PetscErrorCode run_check_frame_fields(const run *r, diagnostics *d)
{
  PetscFunctionBegin;
  const key_list *names = &r->job->output->fields;
  for (int i = 0; i < names->n; ++i) {
    const char *known[256];
    int         n        = 0;
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
    diagnostics_add(d, names->item[i].node->mark, "output.fields", "no frame has a field \"%s\"%s%s%s",
                    (const char *)names->item[i].value, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                    nearest ? "\"?" : "");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Contact problems of steps that are to come (again), or of the run that was here before. */
static void drop_problems(const run *r, int64_t resume_step)
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

PetscErrorCode run_open_outputs(run *r, int64_t resume_step)
{
  PetscFunctionBegin;
  run_output *o = &r->output;
  char        path[4300];
  PetscCall(file_make_directory(r->checkpoint_dir));
  snprintf(path, sizeof path, "%s/failure.txt", r->dir);
  unlink(path); /* of a step that is now tried again */
  drop_problems(r, resume_step);
  snprintf(path, sizeof path, "%s/job.yaml", r->dir);
  PetscCall(file_replace_text(path, strlen(r->job->resolved), r->job->resolved));
  snprintf(path, sizeof path, "%s/history.csv", r->dir);
  PetscCall(history_open(path, HISTORY_N_COLUMNS, history_names, history_units, resume_step, &o->history));
  (void)history_is_whole(o->history, resume_step, r->job->output->history_every);
  const key_list *names = &r->job->output->fields;
  PetscCall(memory_alloc("frame fields", names->n, sizeof(char *), &o->frame_fields));
  for (int i = 0; i < names->n; ++i) o->frame_fields[i] = names->item[i].value;
  const frames_options options = {r->job->scene.name, r->job->output->precision == 1, names->n, o->frame_fields};
  PetscCall(frames_open(r->dir, *r->state.frame, &options, &o->frames));
  const sim_clock now = run_clock(r);
  PetscCall(measures_open(r->measures, r->dir, resume_step, &now));
  PetscCall(run_machine_write(r->dir));
  if (resume_step < 0) { /* of the run that was here before */
    snprintf(path, sizeof path, "%s/report.html", r->dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/stages.csv", r->dir);
    unlink(path);
  }
  o->wall_start = o->last_checkpoint_wall = o->last_stages_wall = timer_now();
  o->last_checkpoint_step                 = resume_step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void run_close_outputs(run *r)
{
  run_output *o = &r->output;
  (void)history_close(&o->history);
  frames_close(&o->frames);
  memory_free(&o->frame_fields);
}

/* --- while it runs --------------------------------------------------------------------------------------------------- */

PetscErrorCode run_write_frame(run *r)
{
  PetscFunctionBegin;
  timer_begin(TIMER_FRAME);
  PetscCall(frames_write(r->output.frames, *r->state.frame, *r->state.step, run_time(r), r->fields));
  ++*r->state.frame;
  *r->state.frame_step = *r->state.step;
  timer_end(TIMER_FRAME);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_write_last_frame(run *r)
{
  PetscFunctionBegin;
  if (*r->state.frame == 0 || *r->state.frame_step != *r->state.step) PetscCall(run_write_frame(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool run_is_due(const run *r, double every)
{
  const sim_clock now = run_clock(r);
  return sim_clock_is_due(&now, every);
}

PetscErrorCode run_write_start(run *r)
{
  PetscFunctionBegin;
  const step_report nothing = {0};
  PetscCall(run_write_frame(r));
  const sim_clock now = run_clock(r);
  PetscCall(measures_record(r->measures, &now, &nothing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_problem(const run *r)
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

/* Measures, and what is to be decided on them, come before a checkpoint that holds both. */
PetscErrorCode run_write_outputs(run *r, const step_report *report, int64_t retries, double seconds)
{
  PetscFunctionBegin;
  const job_output *o = r->job->output;
  PetscCall(run_look_beside(r, false));
  timer_begin(TIMER_FRAME);
  if (*r->state.step % o->history_every == 0) {
    double values[HISTORY_N_COLUMNS];
    PetscCall(history_values(r->scene, *r->state.step, run_time(r), r->job->scene.time->step, report, retries, seconds, values));
    PetscCall(history_row(r->output.history, values));
  }
  const sim_clock now = run_clock(r);
  bool            is_met;
  PetscCall(measures_record(r->measures, &now, report));
  PetscCall(until_step(r->until, &now, &is_met));
  timer_end(TIMER_FRAME);
  if (run_is_due(r, r->job->scene.time->frame)) PetscCall(run_write_frame(r));
  if (o->fclib > 0 && *r->state.step % o->fclib == 0 && r->formulation->ops->write_problem) PetscCall(write_problem(r));
  const bool is_wall_due = o->checkpoint_wall > 0 && timer_now() - r->output.last_checkpoint_wall >= o->checkpoint_wall;
  if (run_is_due(r, o->checkpoint) || is_wall_due) PetscCall(run_write_due_checkpoint(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- at the end ------------------------------------------------------------------------------------------------------ */

void run_failure_text(const run *r, const step_verdict *verdict, size_t size, char *text)
{
  snprintf(text, size, "step %lld (t = %g s, dt = %g s) failed at the smallest part allowed, dt/%lld: %s%s%s",
           (long long)*r->state.step + 1, run_time(r), r->job->scene.time->step, (long long)((int64_t)1 << r->job->scene.time->retry->halvings),
           step_code_text(verdict->code), verdict->body ? " in body " : "", verdict->body ? verdict->body : "");
}

PetscErrorCode run_write_failure(const run *r, const step_verdict *verdict)
{
  PetscFunctionBegin;
  char path[4300], what[512], text[8192];
  run_failure_text(r, verdict, sizeof what, what);
  snprintf(text, sizeof text,
           "%s%s\nthe state before this step is in the newest checkpoint; a smaller time.step, more time.retry.halvings or %s\n"
           "may carry it on: stickslip resume %s --set time.step=...\n",
           what, verdict->where >= 0 ? " (see below)" : "", r->formulation->ops->remedy, r->dir);
  size_t n = strlen(text);
  if (verdict->where >= 0) snprintf(text + n, sizeof text - n, "first offending point: %lld\n", (long long)verdict->where);
  snprintf(path, sizeof path, "%s/failure.txt", r->dir);
  PetscCall(file_replace_text(path, strlen(text), text));
  log_warn("%s", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_write_summary(const run *r, int64_t n_steps)
{
  PetscFunctionBegin;
  char   path[4300], *text = NULL;
  size_t n = 0;
  snprintf(path, sizeof path, "%s/summary.txt", r->dir);
  FILE *f = open_memstream(&text, &n);
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: the summary");
  fprintf(f, "stickslip %s, job %s, %lld steps in %.3f s on %d threads, %lld retries, peak memory %.1f MB\n\n", version_text(),
          r->job->scene.name, (long long)n_steps, timer_now() - r->output.wall_start, team_threads(), (long long)*r->state.retries,
          (double)memory_peak() / 1e6);
  run_tally_print(&r->tally, r->formulation->ops->outer, r->formulation->ops->inner, f);
  timer_table(f);
  fclose(f);
  const PetscErrorCode code = file_replace_text(path, n, text);
  free(text);
  PetscCall(code);
  PetscCall(run_stages_write(r->dir, &r->past_stages));
  PetscFunctionReturn(PETSC_SUCCESS);
}
