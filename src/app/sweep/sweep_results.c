/* Reading the results of all cases; the commands status, retry and gather. */
#include "app/sweep/sweep_results.h"
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "core/key_text.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/checkpoint.h"
#include "io/run_lock.h"
#include "io/sealed_file.h"
#include "io/table_file.h"

enum { PATH_SIZE = 4300 };

const char *const case_state_names[] = {[CASE_WAITING] = "waiting", [CASE_RUNNING] = "running",   [CASE_STOPPED] = "stopped",
                                        [CASE_FAILED] = "failed",   [CASE_FINISHED] = "finished", NULL};

const char *sweep_results_status(const sweep_results *r, int64_t i)
{
  return r->state[i] == CASE_FINISHED && r->result[i] ? run_status_names[r->result[i]->status] : case_state_names[r->state[i]];
}

bool sweep_results_has_bad_quality(const sweep_results *r, int64_t i)
{
  return r->state[i] == CASE_FINISHED && r->result[i] && r->result[i]->status == RUN_SEE_QUALITY;
}

static PetscErrorCode read_case_result(const char *dir, sweep_results *r, int64_t i)
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

static PetscErrorCode read_all_cases(const char *dir, sweep_results *r)
{
  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &r->plan));
  const int64_t n = r->plan->n_cases;
  PetscCall(MEMORY_ALLOC("sweep results", ARRAY(r->state, n), ARRAY(r->why, n), ARRAY(r->result, n), ARRAY(r->owner, n)));
  for (int64_t i = 0; i < n; ++i) PetscCall(read_case_result(dir, r, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_results_read(const char *dir, sweep_results **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep results", 1, sizeof **out, out));
  const PetscErrorCode code = read_all_cases(dir, *out);
  if (code) sweep_results_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sweep_results_destroy(sweep_results **r)
{
  if (!*r) return;
  for (int64_t i = 0; (*r)->owner && i < (*r)->plan->n_cases; ++i) document_destroy(&(*r)->owner[i]);
  MEMORY_FREE(&(*r)->state, &(*r)->why, &(*r)->result, &(*r)->owner);
  sweep_plan_destroy(&(*r)->plan);
  memory_free(r);
}

/* --- status ---------------------------------------------------------------------------------------------------------- */

static void print_counts(const sweep_results *r, const char *dir, FILE *out)
{
  static const char *const what[]  = {[CASE_WAITING]  = "not started",
                                      [CASE_RUNNING]  = "",
                                      [CASE_STOPPED]  = "to be continued",
                                      [CASE_FAILED]   = "run them again with `stickslip sweep retry`",
                                      [CASE_FINISHED] = ""};
  double                   seconds = 0;
  for (int64_t i = 0; i < r->plan->n_cases; ++i) seconds += r->result[i] ? r->result[i]->seconds : 0;
  fprintf(out, "%s: %lld cases of %s\n", dir, (long long)r->plan->n_cases, r->plan->name);
  for (int s = CASE_FINISHED; s >= CASE_WAITING; --s)
    if (r->n_state[s] > 0) fprintf(out, "  %-9s %6lld%s%s\n", case_state_names[s], (long long)r->n_state[s], *what[s] ? "  " : "", what[s]);
  int64_t n_bad = 0;
  for (int64_t i = 0; i < r->plan->n_cases; ++i) n_bad += sweep_results_has_bad_quality(r, i);
  if (n_bad > 0) fprintf(out, "  %lld of the finished cases: see quality in their result.yaml\n", (long long)n_bad);
  const int64_t n_begun = r->plan->n_cases - r->n_state[CASE_WAITING];
  if (n_begun > 0) fprintf(out, "  %.1f s total wall time, %.3g s per started case\n", seconds, seconds / (double)n_begun);
}

static void print_failed(const sweep_results *r, const char *dir, FILE *out)
{
  for (int64_t i = 0; i < r->plan->n_cases; ++i) {
    const sweep_case *c = &r->plan->cases[i];
    char              words[512], last[512];
    if (r->state[i] != CASE_FAILED) continue;
    sweep_folder_error(dir, c->number, sizeof last, last);
    fprintf(out, "\ncase %lld failed: %s\n  %s\n", (long long)c->number, sweep_case_text(r->plan, c, sizeof words, words), r->why[i]);
    if (*last && !strstr(r->why[i], last)) fprintf(out, "  log.txt: %s\n", last);
  }
}

static void print_cases(const sweep_results *r, FILE *out)
{
  fprintf(out, "\n%6s  %-21s  %9s  %9s  %s\n", "case", "status", "steps", "seconds", "parameters");
  for (int64_t i = 0; i < r->plan->n_cases; ++i) {
    const sweep_case *c = &r->plan->cases[i];
    char              words[512];
    const char       *why = r->why[i];
    if (sweep_results_has_bad_quality(r, i) && r->result[i]->quality && r->result[i]->quality->bad.n > 0)
      why = r->result[i]->quality->bad.item[0].value;
    fprintf(out, "%6lld  %-21s  %9lld  %9.2f  %s%s%s\n", (long long)c->number, sweep_results_status(r, i),
            (long long)(r->result[i] ? r->result[i]->step : 0), r->result[i] ? r->result[i]->seconds : 0.0,
            sweep_case_text(r->plan, c, sizeof words, words), *why ? "  " : "", why);
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

/* Marks a failed case as stopped. The caller holds the lock of the case, so that no other process writes its result. */
static PetscErrorCode mark_for_retry(const char *folder, const run_result *was, bool from_start)
{
  char path[PATH_SIZE + 16], reason[1200];

  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/checkpoints", folder);
  if (from_start) PetscCall(checkpoint_drop_all(path));
  run_result r = *was;
  snprintf(reason, sizeof reason, "marked for retry after: %.1000s", was->reason);
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
    run_lock *lock        = NULL;
    bool      is_selected = n == 0;
    for (int64_t k = 0; k < n; ++k) is_selected |= numbers[k] == r->plan->cases[i].number;
    if (!is_selected || r->state[i] != CASE_FAILED || !r->result[i]) continue;
    sweep_folder_case(dir, r->plan->cases[i].number, sizeof folder, folder);
    PetscCall(run_lock_acquire(folder, &lock));
    const PetscErrorCode code = mark_for_retry(folder, r->result[i], from_start);
    run_lock_release(&lock);
    PetscCall(code);
    ++*n_marked;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- gather ------------------------------------------------------------------------------------------------------- */

/* Members of a result that become columns. */
typedef enum { OF_REAL, OF_WHOLE, OF_TEXT } member_type;
/* clang-format off */
static const struct {
  const char *name, *unit;
  member_type type;
  size_t      offset;
} members[] = {
#define MEMBER(name, unit, type) {#name, unit, type, offsetof(run_result, name)}
  MEMBER(reason, "", OF_TEXT),       MEMBER(exit_code, "", OF_WHOLE),  MEMBER(seconds, "s", OF_REAL),
  MEMBER(user_seconds, "s", OF_REAL), MEMBER(step, "", OF_WHOLE),      MEMBER(time, "s", OF_REAL),
  MEMBER(retries, "", OF_WHOLE),     MEMBER(newton, "", OF_WHOLE),     MEMBER(linear, "", OF_WHOLE),
  MEMBER(contacts, "", OF_WHOLE),    MEMBER(max_penetration, "m", OF_REAL), MEMBER(peak_resident_memory, "byte", OF_REAL),
  MEMBER(threads, "", OF_WHOLE),     MEMBER(starts, "", OF_WHOLE),     MEMBER(program, "", OF_TEXT),
  MEMBER(host, "", OF_TEXT),         MEMBER(begun, "", OF_TEXT),       MEMBER(updated, "", OF_TEXT)};
/* clang-format on */
enum { N_MEMBERS = sizeof members / sizeof *members };

/* Columns of the table and their storage. */
typedef struct {
  int           n;
  int64_t       n_rows, capacity;
  table_column *columns;
  void        **arrays; /* [n] */
  char        **names;  /* [n] */
} results_table;

static void table_destroy(results_table *t)
{
  for (int k = 0; k < t->n; ++k) MEMORY_FREE(&t->arrays[k], &t->names[k]);
  MEMORY_FREE(&t->columns, &t->arrays, &t->names);
}

static bool is_name_used(const results_table *t, const char *name)
{
  for (int m = 0; m < N_MEMBERS; ++m)
    if (strcmp(members[m].name, name) == 0) return true;
  for (int k = 0; k < t->n; ++k)
    if (strcmp(t->names[k], name) == 0) return true;
  return false;
}

/* Adds a column; *array: its entries of 8 bytes. If the name is already in use, `prefix` is prepended. */
static PetscErrorCode add_column(results_table *t, const char *prefix, const char *name, const char *unit, table_type type, void *array)
{
  PetscFunctionBegin;
  const int k = t->n;
  PetscCall(MEMORY_RESIZE("results", ARRAY(t->columns, k + 1), ARRAY(t->arrays, k + 1), ARRAY(t->names, k + 1)));
  t->arrays[k] = t->names[k] = NULL;
  PetscCall(file_format(&t->names[k], "%s%s", *prefix && is_name_used(t, name) ? prefix : "", name));
  ++t->n;
  PetscCall(memory_alloc("results", t->n_rows, 8, &t->arrays[k]));
  t->columns[k] = (table_column){.name = t->names[k], .unit = unit, .type = type};
  if (type == TABLE_REAL) t->columns[k].real = t->arrays[k];
  if (type == TABLE_WHOLE) t->columns[k].whole = t->arrays[k];
  if (type == TABLE_TEXT) t->columns[k].text = t->arrays[k];
  *(void **)array = t->arrays[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Integers are stored as reals, so that NaN can mark a case without a result. */
static PetscErrorCode add_member(results_table *t, const sweep_results *r, int m)
{
  void *array;

  PetscFunctionBegin;
  PetscCall(add_column(t, "", members[m].name, members[m].unit, members[m].type == OF_TEXT ? TABLE_TEXT : TABLE_REAL, &array));
  for (int64_t i = 0; i < t->n_rows; ++i) {
    const char *at = r->result[i] ? (const char *)r->result[i] + members[m].offset : NULL;
    if (members[m].type == OF_TEXT) ((const char **)array)[i] = at ? *(const char *const *)at : NULL;
    else if (!at) ((double *)array)[i] = NAN;
    else ((double *)array)[i] = members[m].type == OF_REAL ? *(const double *)at : (double)*(const int64_t *)at;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_parameter(results_table *t, const sweep_results *r, int p)
{
  void  *array;
  bool   is_number = true;
  double value;

  PetscFunctionBegin;
  for (int64_t i = 0; i < t->n_rows; ++i) is_number &= key_text_real(r->plan->cases[i].value[p], &value) == KEY_TEXT_OK;
  PetscCall(add_column(t, "parameter.", r->plan->parameter[p], "", is_number ? TABLE_REAL : TABLE_TEXT, &array));
  for (int64_t i = 0; i < t->n_rows; ++i)
    if (is_number) (void)key_text_real(r->plan->cases[i].value[p], &((double *)array)[i]);
    else ((const char **)array)[i] = r->plan->cases[i].value[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_measure(results_table *t, const sweep_results *r, const char *name, const char *unit)
{
  static const char *const what[4] = {"last", "min", "max", "mean"};
  double                  *array[4];

  PetscFunctionBegin;
  for (int k = 0; k < 4; ++k) {
    char full[256];
    snprintf(full, sizeof full, "%s.%s", name, what[k]);
    PetscCall(add_column(t, "measure.", full, unit, TABLE_REAL, &array[k]));
  }
  for (int64_t i = 0; i < t->n_rows; ++i) {
    const run_result_measure *m         = r->result[i] ? run_result_find(r->result[i], name) : NULL;
    const double              values[4] = {m ? m->last : NAN, m ? m->min : NAN, m ? m->max : NAN, m ? m->mean : NAN};
    for (int k = 0; k < 4; ++k) array[k][i] = values[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Measures of all cases in the order of their first appearance. */
static PetscErrorCode add_measures(results_table *t, const sweep_results *r)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < t->n_rows; ++i)
    for (int m = 0; r->result[i] && m < r->result[i]->measures.n; ++m) {
      const key_item *item   = &r->result[i]->measures.item[m];
      bool            is_new = true;
      for (int64_t k = 0; k < i && is_new; ++k) is_new = !r->result[k] || !run_result_find(r->result[k], item->name);
      if (is_new) PetscCall(add_measure(t, r, item->name, ((const run_result_measure *)item->value)->unit));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_table(results_table *t, const sweep_results *r)
{
  int64_t     *number;
  const char **id, **status;

  PetscFunctionBegin;
  t->n_rows = r->plan->n_cases;
  PetscCall(add_column(t, "", "number", "", TABLE_WHOLE, &number));
  PetscCall(add_column(t, "", "id", "", TABLE_TEXT, &id));
  PetscCall(add_column(t, "", "status", "", TABLE_TEXT, &status));
  for (int64_t i = 0; i < t->n_rows; ++i) {
    number[i] = r->plan->cases[i].number;
    id[i]     = r->plan->cases[i].id;
    status[i] = sweep_results_status(r, i);
  }
  for (int p = 0; p < r->plan->n_parameters; ++p) PetscCall(add_parameter(t, r, p));
  PetscCall(add_measures(t, r));
  for (int m = 0; m < N_MEMBERS; ++m) PetscCall(add_member(t, r, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_gather(const char *dir, int64_t *n_cases, int64_t *n_finished)
{
  char           path[4300];
  sweep_results *r __attribute__((cleanup(sweep_results_destroy))) = NULL;
  results_table  t __attribute__((cleanup(table_destroy)))         = {0};

  PetscFunctionBegin;
  PetscCall(sweep_results_read(dir, &r));
  PetscCall(fill_table(&t, r));
  snprintf(path, sizeof path, "%s/results.csv", dir);
  PetscCall(table_write_csv(path, t.n_rows, t.n, t.columns));
  snprintf(path, sizeof path, "%s/results.h5", dir);
  PetscCall(table_write_h5(path, r->plan->name, t.n_rows, t.n, t.columns));
  *n_cases    = r->plan->n_cases;
  *n_finished = r->n_state[CASE_FINISHED];
  PetscFunctionReturn(PETSC_SUCCESS);
}
