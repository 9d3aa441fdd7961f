/* How a run stands: what goes into its result.yaml. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "core/version.h"
#include "app/run/run_impl.h"

PetscErrorCode run_read_past(run *r)
{
  document         *owner;
  const run_result *was;

  PetscFunctionBegin;
  PetscCall(run_stages_read(r->dir, &r->past_stages));
  if (run_result_read(r->dir, &owner, &was)) {
    log_warn("%s; times and starts are counted from here on", error_message());
    error_clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!was) PetscFunctionReturn(PETSC_SUCCESS);
  r->past = (run_past){.is_finished = was->status == RUN_FINISHED, .step = was->step, .starts = was->starts, .seconds = was->seconds, .user_seconds = was->user_seconds, .peak_memory = was->peak_memory};
  snprintf(r->past.begun, RUN_DATE, "%s", was->begun);
  document_destroy(&owner);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void utc_now(char text[RUN_DATE])
{
  const time_t now = time(NULL);
  struct tm    utc;
  gmtime_r(&now, &utc);
  strftime(text, RUN_DATE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

PetscErrorCode run_begin_result(run *r)
{
  PetscFunctionBegin;
  if (!*r->past.begun) utc_now(r->past.begun);
  PetscCall(run_write_result(r, RUN_RUNNING, -1, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* [n of the job], borrowing the names: memory_free(items) and memory_free(values). */
static PetscErrorCode collect_measures(const run *r, key_item **items, run_result_measure **values)
{
  const key_list *named = &r->job->measure;
  PetscFunctionBegin;
  PetscCall(memory_alloc("result", named->n, sizeof **items, items));
  PetscCall(memory_alloc("result", named->n, sizeof **values, values));
  for (int i = 0; i < named->n; ++i) {
    run_result_measure       *v = &(*values)[i];
    const measure_statistics *s = measures_statistics(r->measures, i, &v->unit);
    v->n = s->n, v->last = s->last, v->min = s->min, v->max = s->max, v->mean = measure_statistics_mean(s);
    v->time_of_min = s->time_of_min, v->time_of_max = s->time_of_max;
    (*items)[i]    = (key_item){.name = named->item[i].name, .value = v};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_write_result(const run *r, run_status status, int code, const char *reason)
{
  char                host[256] = "", now[RUN_DATE], line[512], program[VERSION_TEXT + 16];
  key_item           *items __attribute__((cleanup(memory_free)))  = NULL;
  run_result_measure *values __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  snprintf(program, sizeof program, "stickslip %s", version_text());
  (void)gethostname(host, sizeof host - 1);
  utc_now(now);
  snprintf(line, sizeof line, "%.*s", (int)strcspn(reason, "\n"), reason);
  PetscCall(collect_measures(r, &items, &values));
  const run_past  *past   = &r->past;
  const run_state *s      = &r->state;
  const run_result result = {
    .result = RUN_RESULT_FORMAT, .status = status, .job = r->job->scene.name, .reason = line, .exit_code = code, .program = program,
    .host = host, .threads = team_threads(), .starts = past->starts + 1, .begun = r->past.begun, .updated = now,
    .step = *s->step, .retries = *s->retries, .time = run_time(r), .seconds = past->seconds + timer_now() - r->output.wall_start,
    .user_seconds = past->user_seconds + timer_user_seconds(), .peak_memory = fmax(past->peak_memory, (double)memory_peak_resident()),
    .newton = *s->newton, .linear = *s->linear, .contacts = *s->contacts, .max_penetration = *s->max_penetration,
    .measures = {r->job->measure.n, items}};
  PetscCall(run_result_write(r->dir, &result));
  PetscFunctionReturn(PETSC_SUCCESS);
}
