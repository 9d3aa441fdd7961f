/* Batch scripts, submission and queue state, with the commands sbatch, squeue and scontrol. */
#include "app/sweep/sweep_slurm.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/csv.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "io/run_lock.h"
#include "app/run/allocation.h"
#include "io/sealed_file.h"

enum { ARRAY_MAX = 1000 }; /* the largest index with the default MaxArraySize = 1001 */

/* --- earlier submissions --------------------------------------------------------------------------------------------- */

typedef struct {
  long long number, job, per_task;
} submission;

/* Reads submitted.csv; *n = 0 if it does not exist. */
static PetscErrorCode read_submissions(const char *dir, int64_t *n, submission **out)
{
  char     *path __attribute__((cleanup(memory_free))) = NULL, *text __attribute__((cleanup(memory_free))) = NULL;
  size_t    size;
  csv_table t __attribute__((cleanup(csv_clear))) = {0};

  PetscFunctionBegin;
  *n   = 0;
  *out = NULL;
  PetscCall(file_format(&path, "%s/slurm/submitted.csv", dir));
  PetscCall(file_read_text(path, &text, &size));
  if (!text) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(csv_read(path, text, &t));
  PetscCall(memory_alloc("submissions", t.n_rows, sizeof **out, out));
  for (int64_t i = 1; i < t.n_rows && t.n_columns == 3; ++i) {
    const char *const *cell = t.cell + i * t.n_columns;
    submission        *s    = &(*out)[*n];
    *s                      = (submission){atoll(cell[0]), atoll(cell[1]), atoll(cell[2])};
    if (s->number > 0 && s->job > 0 && s->per_task > 0) ++*n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode record_submission(const char *dir, int64_t n, const submission *before, const submission *s)
{
  char       *path __attribute__((cleanup(memory_free))) = NULL;
  text_buffer b                                          = {0};

  PetscFunctionBegin;
  PetscCall(file_format(&path, "%s/slurm/submitted.csv", dir));
  text_printf(&b, "number,job,cases_per_task\n");
  for (int64_t i = 0; i <= n; ++i) {
    const submission *k = i < n ? &before[i] : s;
    text_printf(&b, "%lld,%lld,%lld\n", k->number, k->job, k->per_task);
  }
  PetscCall(file_replace_with(path, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- queued tasks ----------------------------------------------------------------------------------------------- */

/* Calls `visit` for each task of a submission that is still in the queue. */
typedef void (*task_visit)(const submission *s, int64_t task, const char *state, const char *reason, void *context);
static PetscErrorCode visit_queue(const submission *s, task_visit visit, void *context)
{
  char      command[160], *output, *rest, state[32], reason[128];
  int       code;
  long long task;

  PetscFunctionBegin;
  snprintf(command, sizeof command, "timeout 20 squeue -h -r -j %lld -o '%%K %%T %%r' 2>/dev/null", s->job);
  PetscCall(shell_run(command, &code, &output));
  for (char *line = strtok_r(output, "\n", &rest); line && code == 0; line = strtok_r(NULL, "\n", &rest))
    if (sscanf(line, "%lld %31s %127[^\n]", &task, state, reason) == 3) visit(s, task, state, reason, context);
  memory_free(&output);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks the cases of queued tasks; index: case number - 1. */
typedef struct {
  int64_t n;
  bool   *is_queued;
} queued_cases;

static void mark_queued(const submission *s, int64_t task, const char *state, const char *reason, void *context)
{
  queued_cases *q = context;
  (void)state, (void)reason;
  for (int64_t i = (task - 1) * s->per_task; task > 0 && i < task * s->per_task && i < q->n; ++i) q->is_queued[i] = true;
}

/* --- cases to submit ------------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t per_task, n_tasks, n_pending, n_queued;
  bool   *is_pending; /* [n_tasks + 1] task from 1 */
} task_list;

static int64_t read_largest_index(void)
{
  char *output;
  int   code;
  if (shell_run("timeout 20 scontrol show config 2>/dev/null | sed -n 's/^MaxArraySize *= *//p'", &code, &output)) return ARRAY_MAX;
  const long long size = atoll(output);
  memory_free(&output);
  return size > 1 ? size - 1 : ARRAY_MAX;
}

static int64_t choose_cases_per_task(const sweep_plan *plan, const sweep_resources *r)
{
  const int64_t requested = r->cases_per_task > 0 ? r->cases_per_task : 1, most = read_largest_index(),
                least = (plan->n_cases + most - 1) / most;
  if (least > requested)
    log_info("%lld cases per task, because SLURM allows at most %lld tasks per array here", (long long)least, (long long)most);
  return least > requested ? least : requested;
}

static PetscErrorCode find_pending_tasks(const char *dir, const sweep_plan *plan, const queued_cases *q, task_list *t)
{
  char why[64];

  PetscFunctionBegin;
  t->n_tasks   = (plan->n_cases + t->per_task - 1) / t->per_task;
  t->n_pending = t->n_queued = 0;
  PetscCall(memory_alloc("sweep tasks", t->n_tasks + 1, sizeof *t->is_pending, &t->is_pending));
  for (int64_t i = 0; i < plan->n_cases; ++i) {
    case_state state;
    PetscCall(sweep_folder_state(dir, plan->cases[i].number, &state, why, sizeof why));
    if (state != CASE_WAITING && state != CASE_STOPPED) continue;
    if (q->is_queued[i]) {
      ++t->n_queued;
    } else {
      ++t->n_pending;
      t->is_pending[i / t->per_task + 1] = true;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "1-4,7,9-12" */
static void append_indices(text_buffer *b, const task_list *t)
{
  bool is_first = true;
  for (int64_t k = 1; k <= t->n_tasks; ++k) {
    if (!t->is_pending[k]) continue;
    int64_t last = k;
    while (last < t->n_tasks && t->is_pending[last + 1]) ++last;
    text_printf(b, "%s%lld", is_first ? "" : ",", (long long)k);
    if (last > k) text_printf(b, "-%lld", (long long)last);
    is_first = false;
    k        = last;
  }
}

/* --- the script ------------------------------------------------------------------------------------------------------ */

/* Resources of the sweep file, replaced by those of the command line. */
static sweep_resources merge_resources(const sweep_resources *file, const sweep_resources *given)
{
  sweep_resources r = *file;
  if (given->cores > 0) r.cores = given->cores;
  if (given->concurrent > 0) r.concurrent = given->concurrent;
  if (given->cases_per_task > 0) r.cases_per_task = given->cases_per_task;
  if (given->memory) r.memory = given->memory;
  if (given->time) r.time = given->time;
  if (given->partition) r.partition = given->partition;
  if (given->account) r.account = given->account;
  if (r.cores <= 0) r.cores = 1;
  return r;
}

/* #SBATCH lines use the quotes of a shell. */
static void append_directive(text_buffer *b, const char *option, const char *value)
{
  if (!value) return;
  text_printf(b, "#SBATCH %s", option);
  shell_append_word(b, value);
  text_put(b, "\n");
}

/* The absolute path, because tasks may start in another directory. */
static PetscErrorCode resolve_path(const char *dir, char out[PATH_MAX])
{
  PetscFunctionBegin;
  PetscCheck(realpath(dir, out), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: no such folder", dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void append_program(text_buffer *b)
{
  char          path[4096];
  const ssize_t n     = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
  shell_append_word(b, n > 0 ? path : "stickslip");
}

/* The text after the option of sbatch, "--time=5" or "-t 5"; NULL if it is another option. */
static const char *option_value(const char *option, const char *name, const char *letter)
{
  if (!strncmp(option, name, strlen(name)) && option[strlen(name)] == '=') return option + strlen(name) + 1;
  if (!letter || strncmp(option, letter, strlen(letter))) return NULL;
  const char *value = option + strlen(letter);
  return value + strspn(value, " =");
}

/* Compares the time limit with the lead time of the signal; later options replace earlier ones. */
static void check_time(const sweep_resources *r, const sweep_slurm_options *o)
{
  const char *time = r->time;
  double      lead = ALLOCATION_SIGNAL_LEAD;
  char        text[128];
  for (int i = 0; i < o->n_more; ++i) {
    const char *limit = option_value(o->more[i], "--time", "-t"), *signal = option_value(o->more[i], "--signal", NULL);
    if (limit) time = limit;
    if (signal) lead = allocation_parse_lead(signal);
  }
  if (!time) return;
  snprintf(text, sizeof text, "--time=%.100s", time);
  allocation_warn_lead(text, allocation_parse_request(time), lead);
}

static PetscErrorCode write_script(const char *dir, int64_t number, const sweep_plan *plan, const sweep_slurm_options *o,
                                   const task_list *t, text_buffer *b)
{
  const sweep_resources r = merge_resources(&plan->resources, &o->resources);
  char                  whole[PATH_MAX];
  char                 *log __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  check_time(&r, o);
  PetscCall(resolve_path(dir, whole));
  PetscCall(file_format(&log, "%s/slurm/%lld-%%a.log", whole, (long long)number));
  text_printf(b,
              "#!/bin/bash\n# %lld cases of the sweep %s in %s, %lld per task. The program replaces this shell (exec), so that "
              "it receives signals.\n",
              (long long)t->n_pending, plan->name, whole, (long long)t->per_task);
  append_directive(b, "--job-name=", plan->name);
  text_printf(b, "#SBATCH --array=");
  append_indices(b, t);
  if (r.concurrent > 0) text_printf(b, "%%%lld", (long long)r.concurrent);
  text_printf(b, "\n#SBATCH --ntasks=1 --cpus-per-task=%lld\n#SBATCH --signal=B:USR1@%d --requeue --open-mode=append\n", (long long)r.cores,
              ALLOCATION_SIGNAL_LEAD);
  append_directive(b, "--output=", log);
  append_directive(b, "--mem=", r.memory);
  append_directive(b, "--time=", r.time);
  append_directive(b, "--partition=", r.partition);
  append_directive(b, "--account=", r.account);
  for (int i = 0; i < o->n_more; ++i) append_directive(b, "", o->more[i]);
  text_printf(b, "exec ");
  append_program(b);
  text_printf(b, " sweep run ");
  shell_append_word(b, whole);
  text_printf(b, " --task \"$SLURM_ARRAY_TASK_ID\" --cases-per-task %lld --threads %lld --requeue%s%s\n", (long long)t->per_task,
              (long long)r.cores, o->has_picture ? " --picture" : "", o->is_strict ? " --strict" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- submitting ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode execute_sbatch(const text_buffer *command, long long *job)
{
  char *output;
  int   code;

  PetscFunctionBegin;
  PetscCall(command->code);
  PetscCall(shell_run(command->data, &code, &output));
  *job = code == 0 ? atoll(output) : 0;
  for (char *c = output; *c; ++c)
    if (*c == '\n') *c = c[1] ? ';' : '\0';
  if (*job > 0) {
    memory_free(&output);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "SLURM rejects the job: %s", *output ? output : "is sbatch installed?");
}

/* Submits a job that gathers the results after the last task has ended, successful or not. */
static PetscErrorCode submit_gather_job(const char *dir, const sweep_plan *plan, const sweep_slurm_options *o, long long job)
{
  const sweep_resources r       = merge_resources(&plan->resources, &o->resources);
  text_buffer           command = {0}, wrapped = {0};
  char                  whole[PATH_MAX];
  char                 *log __attribute__((cleanup(memory_free))) = NULL;
  long long             gather;

  PetscFunctionBegin;
  PetscCall(resolve_path(dir, whole));
  PetscCall(file_format(&log, "%s/slurm/gather.log", whole));
  text_printf(&wrapped, "exec ");
  append_program(&wrapped);
  text_printf(&wrapped, " sweep gather ");
  shell_append_word(&wrapped, whole);
  text_printf(&command, "sbatch --parsable --dependency=afterany:%lld --ntasks=1 --job-name=gather", job);
  const char *const option[] = {" --partition=", " --account=", " --output=", " --wrap="}, *const value[] = {r.partition, r.account, log,
                                                                                                             wrapped.data};
  for (int i = 0; i < 4; ++i) {
    if (!value[i]) continue;
    text_printf(&command, "%s", option[i]);
    shell_append_word(&command, value[i]);
  }
  text_printf(&command, " 2>&1");
  PetscErrorCode code = wrapped.code ? wrapped.code : execute_sbatch(&command, &gather);
  if (code) {
    log_warn("the results will not be gathered automatically: %s", error_message());
    error_clear();
  }
  text_clear(&command);
  text_clear(&wrapped);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode submit_script(const char *dir, int64_t number, const text_buffer *script, long long *job)
{
  char       *path __attribute__((cleanup(memory_free))) = NULL;
  text_buffer command                                    = {0};

  PetscFunctionBegin;
  PetscCall(file_format(&path, "%s/slurm/%lld.sh", dir, (long long)number));
  PetscCall(file_replace_text(path, (size_t)script->n, script->data));
  text_printf(&command, "sbatch --parsable ");
  shell_append_word(&command, path);
  text_printf(&command, " 2>&1");
  const PetscErrorCode code = execute_sbatch(&command, job);
  text_clear(&command);
  if (code) unlink(path);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Data of a submission and its batch script. */
typedef struct {
  sweep_plan *plan;
  task_list   tasks;
  int64_t     n_before, number;
  submission *before;
  text_buffer script; /* NULL: no case to submit */
} draft;

static void draft_destroy(draft *d)
{
  sweep_plan_destroy(&d->plan);
  MEMORY_FREE(&d->tasks.is_pending, &d->before);
  text_clear(&d->script);
}

static PetscErrorCode find_tasks(const char *dir, draft *d)
{
  queued_cases q = {.n = d->plan->n_cases};

  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep tasks", q.n, sizeof *q.is_queued, &q.is_queued));
  PetscErrorCode code = PETSC_SUCCESS;
  for (int64_t i = 0; i < d->n_before && !code; ++i) code = visit_queue(&d->before[i], mark_queued, &q);
  if (!code) code = find_pending_tasks(dir, d->plan, &q, &d->tasks);
  memory_free(&q.is_queued);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_draft(const char *dir, const sweep_slurm_options *o, draft *d)
{
  char            *folder __attribute__((cleanup(memory_free))) = NULL;
  const task_list *t                                            = &d->tasks;

  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &d->plan));
  const sweep_resources r = merge_resources(&d->plan->resources, &o->resources);
  d->tasks.per_task       = choose_cases_per_task(d->plan, &r);
  PetscCall(read_submissions(dir, &d->n_before, &d->before));
  PetscCall(find_tasks(dir, d));
  d->number = d->n_before > 0 ? d->before[d->n_before - 1].number + 1 : 1;
  PetscCall(file_format(&folder, "%s/slurm", dir));
  PetscCall(file_make_directory(folder)); /* SLURM does not create the folder of the logs */
  if (t->n_pending > 0) PetscCall(write_script(dir, d->number, d->plan, o, t, &d->script));
  else if (t->n_queued > 0) log_info("%s: nothing to submit: the remaining %lld cases are already queued", dir, (long long)t->n_queued);
  else log_info("%s: nothing to submit: no case is waiting or stopped; use `stickslip sweep retry` for failed cases", dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_slurm_script(const char *dir, const sweep_slurm_options *o, char **text)
{
  draft d __attribute__((cleanup(draft_destroy))) = {0};

  PetscFunctionBegin;
  PetscCall(make_draft(dir, o, &d));
  PetscCall(text_take(&d.script, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode submit_pending(const char *dir, const sweep_slurm_options *o)
{
  draft   d __attribute__((cleanup(draft_destroy))) = {0};
  int64_t n_tasks                                   = 0;

  PetscFunctionBegin;
  PetscCall(make_draft(dir, o, &d));
  PetscCall(d.script.code);
  if (!d.script.data) PetscFunctionReturn(PETSC_SUCCESS);
  submission s = {d.number, 0, d.tasks.per_task};
  PetscCall(submit_script(dir, s.number, &d.script, &s.job));
  PetscCall(record_submission(dir, d.n_before, d.before, &s));
  for (int64_t k = 1; k <= d.tasks.n_tasks; ++k) n_tasks += d.tasks.is_pending[k];
  log_info("%s: %lld cases as %lld tasks of SLURM job %lld%s; see `stickslip sweep status`", dir, (long long)d.tasks.n_pending,
           (long long)n_tasks, s.job, d.tasks.n_queued > 0 ? " (the others are already queued)" : "");
  PetscCall(submit_gather_job(dir, d.plan, o, s.job));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_slurm_submit(const char *dir, const sweep_slurm_options *o)
{
  run_lock *lock __attribute__((cleanup(run_lock_release))) = NULL;

  PetscFunctionBegin;
  PetscCall(run_lock_acquire(dir, &lock)); /* two simultaneous submissions would submit the same cases */
  PetscCall(submit_pending(dir, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- status ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t n_running, n_waiting;
  char    reason[128]; /* reason of a waiting task */
} queue_count;

static void count_task(const submission *s, int64_t task, const char *state, const char *reason, void *context)
{
  queue_count *c = context;
  (void)s, (void)task;
  if (strcmp(state, "PENDING") == 0) {
    ++c->n_waiting;
    snprintf(c->reason, sizeof c->reason, "%s", reason);
  } else ++c->n_running;
}

PetscErrorCode sweep_slurm_status(const char *dir, FILE *out)
{
  submission *s __attribute__((cleanup(memory_free))) = NULL;
  int64_t     n;

  PetscFunctionBegin;
  PetscCall(read_submissions(dir, &n, &s));
  for (int64_t i = 0; i < n; ++i) {
    queue_count c = {0};
    PetscCall(visit_queue(&s[i], count_task, &c));
    if (c.n_running + c.n_waiting == 0) continue;
    fprintf(out, "SLURM job %lld: %lld tasks running, %lld waiting", s[i].job, (long long)c.n_running, (long long)c.n_waiting);
    fprintf(out, c.n_waiting > 0 ? " (%s)\n" : "\n", c.reason);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
