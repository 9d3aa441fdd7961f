/* The results of a sweep as one table. */
#include <math.h>
#include <string.h>
#include "core/key_text.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/sealed_file.h"
#include "io/table_file.h"
#include "app/sweep/sweep_results.h"

/* What a case says of itself. */
typedef enum { OF_REAL, OF_WHOLE, OF_TEXT } member_type;
static const struct {
  const char *name, *unit;
  member_type type;
  size_t      offset;
} members[] = {
#define MEMBER(name, unit, type) {#name, unit, type, offsetof(run_result, name)}
  MEMBER(reason, "", OF_TEXT),       MEMBER(exit_code, "", OF_WHOLE),  MEMBER(seconds, "s", OF_REAL),
  MEMBER(user_seconds, "s", OF_REAL), MEMBER(step, "", OF_WHOLE),      MEMBER(time, "s", OF_REAL),
  MEMBER(retries, "", OF_WHOLE),     MEMBER(newton, "", OF_WHOLE),     MEMBER(linear, "", OF_WHOLE),
  MEMBER(contacts, "", OF_WHOLE),    MEMBER(max_penetration, "m", OF_REAL), MEMBER(peak_memory, "byte", OF_REAL),
  MEMBER(threads, "", OF_WHOLE),     MEMBER(starts, "", OF_WHOLE),     MEMBER(program, "", OF_TEXT),
  MEMBER(host, "", OF_TEXT),         MEMBER(begun, "", OF_TEXT),       MEMBER(updated, "", OF_TEXT)};
enum { N_MEMBERS = sizeof members / sizeof *members };

/* Columns with the storage behind them. */
typedef struct {
  int            n;
  int64_t        n_rows, capacity;
  table_column  *columns;
  void         **arrays; /* [n] */
  char         **names;  /* [n] */
} results_table;

static void table_destroy(results_table *t)
{
  for (int k = 0; k < t->n; ++k) {
    memory_free(&t->arrays[k]);
    memory_free(&t->names[k]);
  }
  memory_free(&t->columns);
  memory_free(&t->arrays);
  memory_free(&t->names);
}

static bool is_taken(const results_table *t, const char *name)
{
  for (int m = 0; m < N_MEMBERS; ++m)
    if (strcmp(members[m].name, name) == 0) return true;
  for (int k = 0; k < t->n; ++k)
    if (strcmp(t->names[k], name) == 0) return true;
  return false;
}

/* A new column; its array, of 8-byte entries, is *array. A name that is taken, or is one of ours, gets `prefix`. */
static PetscErrorCode add_column(results_table *t, const char *prefix, const char *name, const char *unit, table_type type, void *array)
{
  PetscFunctionBegin;
  const int k = t->n;
  PetscCall(memory_resize("results", k + 1, sizeof *t->columns, &t->columns));
  PetscCall(memory_resize("results", k + 1, sizeof *t->arrays, &t->arrays));
  PetscCall(memory_resize("results", k + 1, sizeof *t->names, &t->names));
  t->arrays[k] = t->names[k] = NULL;
  PetscCall(file_format(&t->names[k], "%s%s", *prefix && is_taken(t, name) ? prefix : "", name));
  ++t->n;
  PetscCall(memory_alloc("results", t->n_rows, 8, &t->arrays[k]));
  t->columns[k] = (table_column){.name = t->names[k], .unit = unit, .type = type};
  if (type == TABLE_REAL) t->columns[k].real = t->arrays[k];
  if (type == TABLE_WHOLE) t->columns[k].whole = t->arrays[k];
  if (type == TABLE_TEXT) t->columns[k].text = t->arrays[k];
  *(void **)array = t->arrays[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whole numbers become reals: a case without a result has none of them, and NaN can say so. */
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
    const run_result_measure *m = r->result[i] ? run_result_find(r->result[i], name) : NULL;
    const double values[4] = {m ? m->last : NAN, m ? m->min : NAN, m ? m->max : NAN, m ? m->mean : NAN};
    for (int k = 0; k < 4; ++k) array[k][i] = values[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every measure that any case has, in the order in which they first appear. */
static PetscErrorCode add_measures(results_table *t, const sweep_results *r)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < t->n_rows; ++i)
    for (int m = 0; r->result[i] && m < r->result[i]->measures.n; ++m) {
      const key_item *item  = &r->result[i]->measures.item[m];
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
    status[i] = case_state_names[r->state[i]];
  }
  for (int p = 0; p < r->plan->n_parameters; ++p) PetscCall(add_parameter(t, r, p));
  PetscCall(add_measures(t, r));
  for (int m = 0; m < N_MEMBERS; ++m) PetscCall(add_member(t, r, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_gather(const char *dir, int64_t *n_cases, int64_t *n_finished)
{
  char path[4300];
  sweep_results *r __attribute__((cleanup(sweep_results_destroy))) = NULL;
  results_table t __attribute__((cleanup(table_destroy)))          = {0};

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
