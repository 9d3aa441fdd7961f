#include "app/sweep/sweep_results.h"
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "io/checkpoint.h"
#include "io/run_lock.h"
#include "app/sweep/sweep_case.h"

enum { PATH_SIZE = 4300 };

const char *const case_state_names[] = {[CASE_WAITING] = "waiting", [CASE_RUNNING] = "running", [CASE_STOPPED] = "stopped",
                                        [CASE_FAILED] = "failed", [CASE_FINISHED] = "finished", NULL};

static PetscErrorCode read_case(const char *dir, sweep_results *r, int64_t i)
{
  char folder[PATH_SIZE];

  PetscFunctionBegin;
  const int64_t number = r->plan->cases[i].number;
  PetscCall(sweep_folder_state(dir, number, &r->state[i], r->why[i], sizeof r->why[i]));
  ++r->n_state[r->state[i]];
  sweep_folder_case(dir, number, sizeof folder, folder);
  if (run_result_read(folder, &r->owner[i], &r->result[i])) {
    log_warn("%s", error_message());
    error_clear();
    r->result[i] = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_all(const char *dir, sweep_results *r)
{
  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &r->plan));
  const int64_t n = r->plan->n_cases;
  PetscCall(memory_alloc("sweep results", n, sizeof *r->state, &r->state));
  PetscCall(memory_alloc("sweep results", n, sizeof *r->why, &r->why));
  PetscCall(memory_alloc("sweep results", n, sizeof *r->result, &r->result));
  PetscCall(memory_alloc("sweep results", n, sizeof *r->owner, &r->owner));
  for (int64_t i = 0; i < n; ++i) PetscCall(read_case(dir, r, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_results_read(const char *dir, sweep_results **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep results", 1, sizeof **out, out));
  const PetscErrorCode code = read_all(dir, *out);
  if (code) sweep_results_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sweep_results_destroy(sweep_results **r)
{
  if (!*r) return;
  for (int64_t i = 0; (*r)->owner && i < (*r)->plan->n_cases; ++i) document_destroy(&(*r)->owner[i]);
  memory_free(&(*r)->state);
  memory_free(&(*r)->why);
  memory_free(&(*r)->result);
  memory_free(&(*r)->owner);
  sweep_plan_destroy(&(*r)->plan);
  memory_free(r);
}

/* --- status ---------------------------------------------------------------------------------------------------------- */

static void print_counts(const sweep_results *r, const char *dir, FILE *out)
{
  static const char *const what[] = {[CASE_WAITING] = "not begun", [CASE_RUNNING] = "", [CASE_STOPPED] = "to be continued",
                                     [CASE_FAILED] = "`stickslip sweep retry` tries them again", [CASE_FINISHED] = ""};
  double seconds = 0;
  for (int64_t i = 0; i < r->plan->n_cases; ++i) seconds += r->result[i] ? r->result[i]->seconds : 0;
  fprintf(out, "%s: %lld cases of %s\n", dir, (long long)r->plan->n_cases, r->plan->name);
  for (int s = CASE_FINISHED; s >= CASE_WAITING; --s)
    if (r->n_state[s] > 0)
      fprintf(out, "  %-9s %6lld%s%s\n", case_state_names[s], (long long)r->n_state[s], *what[s] ? "  " : "", what[s]);
  const int64_t n_begun = r->plan->n_cases - r->n_state[CASE_WAITING];
  if (n_begun > 0) fprintf(out, "  %.1f s in runs so far, %.3g s a case begun\n", seconds, seconds / (double)n_begun);
}

static void print_failed(const sweep_results *r, const char *dir, FILE *out)
{
  for (int64_t i = 0; i < r->plan->n_cases; ++i) {
    const sweep_case *c = &r->plan->cases[i];
    char              words[512], last[512];
    if (r->state[i] != CASE_FAILED) continue;
    sweep_case_last_words(dir, c->number, sizeof last, last);
    fprintf(out, "\ncase %lld failed: %s\n  %s\n", (long long)c->number, sweep_case_words(r->plan, c, sizeof words, words), r->why[i]);
    if (*last && !strstr(r->why[i], last)) fprintf(out, "  log.txt ends: %s\n", last);
  }
}

static void print_cases(const sweep_results *r, FILE *out)
{
  fprintf(out, "\n%6s  %-8s  %9s  %9s  %s\n", "case", "status", "steps", "seconds", "parameters");
  for (int64_t i = 0; i < r->plan->n_cases; ++i) {
    const sweep_case *c = &r->plan->cases[i];
    char              words[512];
    fprintf(out, "%6lld  %-8s  %9lld  %9.2f  %s%s%s\n", (long long)c->number, case_state_names[r->state[i]],
            (long long)(r->result[i] ? r->result[i]->step : 0), r->result[i] ? r->result[i]->seconds : 0.0,
            sweep_case_words(r->plan, c, sizeof words, words), *r->why[i] ? "  " : "", r->why[i]);
  }
}

PetscErrorCode sweep_status(const char *dir, bool all, FILE *out)
{
  sweep_results *r __attribute__((cleanup(sweep_results_destroy))) = NULL;

  PetscFunctionBegin;
  PetscCall(sweep_results_read(dir, &r));
  print_counts(r, dir, out);
  if (all) print_cases(r, out);
  else print_failed(r, dir, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- retry ----------------------------------------------------------------------------------------------------------- */

/* Under the lock of the case, so that nobody is writing it meanwhile. */
static PetscErrorCode mark(const char *folder, const run_result *was, bool from_start)
{
  char path[PATH_SIZE + 16], reason[1200];

  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/checkpoints", folder);
  if (from_start) PetscCall(checkpoint_drop_all(path));
  run_result r = *was;
  snprintf(reason, sizeof reason, "to be tried again after: %.1000s", was->reason);
  r.status = RUN_STOPPED;
  r.reason = reason;
  PetscCall(run_result_write(folder, &r));
  snprintf(path, sizeof path, "%s/failure.txt", folder);
  unlink(path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_retry(const char *dir, int64_t n, const int64_t *numbers, bool from_start, int64_t *n_marked)
{
  sweep_results *r __attribute__((cleanup(sweep_results_destroy))) = NULL;

  PetscFunctionBegin;
  *n_marked = 0;
  PetscCall(sweep_results_read(dir, &r));
  for (int64_t i = 0; i < r->plan->n_cases; ++i) {
    char      folder[PATH_SIZE];
    run_lock *lock      = NULL;
    bool      is_wanted = n == 0;
    for (int64_t k = 0; k < n; ++k) is_wanted |= numbers[k] == r->plan->cases[i].number;
    if (!is_wanted || r->state[i] != CASE_FAILED || !r->result[i]) continue;
    sweep_folder_case(dir, r->plan->cases[i].number, sizeof folder, folder);
    PetscCall(run_lock_acquire(folder, &lock));
    const PetscErrorCode code = mark(folder, r->result[i], from_start);
    run_lock_release(&lock);
    PetscCall(code);
    ++*n_marked;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
