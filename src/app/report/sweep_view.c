#include "app/report/sweep_view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "app/report/page.h"

/* --- parameters ------------------------------------------------------------------------------------------------------- */

static bool number_of(const char *text, double *x)
{
  char *end;
  *x = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*x);
}

typedef struct {
  double      number;
  const char *text;
  int64_t     i_case;
} level_entry;

static int by_number(const void *a, const void *b)
{
  const level_entry *p = a, *q = b;
  if (p->number != q->number) return p->number < q->number ? -1 : 1;
  return (p->i_case > q->i_case) - (p->i_case < q->i_case);
}

static int by_text(const void *a, const void *b)
{
  const level_entry *p = a, *q = b;
  const int          order = strcmp(p->text, q->text);
  return order ? order : (p->i_case > q->i_case) - (p->i_case < q->i_case);
}

/* Entries in order, equal ones next to each other, become levels. */
static void levels_of_sorted(sweep_parameter *p, int64_t n, const level_entry *entry)
{
  for (int64_t i = 0; i < n; ++i) {
    const bool is_new = i == 0 || (p->is_numeric ? entry[i].number != entry[i - 1].number : strcmp(entry[i].text, entry[i - 1].text) != 0);
    if (is_new) {
      p->text[p->n_levels]     = entry[i].text;
      p->number[p->n_levels++] = entry[i].number;
    }
    p->level[entry[i].i_case] = p->n_levels - 1;
  }
}

static PetscErrorCode read_parameter(sweep_view *v, int k)
{
  sweep_parameter  *p    = &v->parameter[k];
  const sweep_plan *plan = v->results->plan;
  level_entry *entry __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  p->name       = plan->parameter[k];
  p->is_numeric = true;
  p->is_repeat  = k < plan->n_varied && strcmp(p->name, "repeat") == 0;
  PetscCall(memory_alloc("sweep levels", v->n_cases, sizeof *entry, &entry));
  PetscCall(memory_alloc("sweep levels", v->n_cases, sizeof *p->text, &p->text));
  PetscCall(memory_alloc("sweep levels", v->n_cases, sizeof *p->number, &p->number));
  PetscCall(memory_alloc("sweep levels", v->n_cases, sizeof *p->level, &p->level));
  for (int64_t i = 0; i < v->n_cases; ++i) {
    entry[i] = (level_entry){0.0, plan->cases[i].value[k], i};
    p->is_numeric &= number_of(entry[i].text, &entry[i].number);
  }
  qsort(entry, (size_t)v->n_cases, sizeof *entry, p->is_numeric ? by_number : by_text);
  levels_of_sorted(p, v->n_cases, entry);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- measures --------------------------------------------------------------------------------------------------------- */

static int find_measure(const sweep_view *v, const char *name)
{
  int k = 0;
  while (k < v->n_measures && strcmp(v->measure[k].name, name) != 0) ++k;
  return k;
}

static PetscErrorCode read_measures(sweep_view *v)
{
  int64_t capacity = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < v->n_cases; ++i) {
    const run_result *r = v->results->result[i];
    v->seconds[i]       = r ? r->seconds : NAN;
    for (int m = 0; r && m < r->measures.n; ++m) {
      const run_result_measure *value = r->measures.item[m].value;
      const int                 k     = find_measure(v, r->measures.item[m].name);
      if (k == v->n_measures) {
        PetscCall(memory_reserve("sweep measures", k + 1, sizeof *v->measure, &capacity, &v->measure));
        v->measure[k] = (sweep_measure){r->measures.item[m].name, value->unit ? value->unit : "", NULL};
        ++v->n_measures;
        PetscCall(memory_alloc("sweep measures", v->n_cases, sizeof(double), &v->measure[k].value));
        for (int64_t j = 0; j < v->n_cases; ++j) v->measure[k].value[j] = NAN;
      }
      if (v->results->state[i] == CASE_FINISHED) v->measure[k].value[i] = value->last;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_view(const char *dir, sweep_view *v)
{
  PetscFunctionBegin;
  PetscCall(sweep_results_read(dir, &v->results));
  v->n_cases      = v->results->plan->n_cases;
  v->n_parameters = v->results->plan->n_parameters;
  v->n_varied     = v->results->plan->n_varied;
  PetscCall(memory_alloc("sweep parameters", v->n_parameters, sizeof *v->parameter, &v->parameter));
  for (int k = 0; k < v->n_parameters; ++k) PetscCall(read_parameter(v, k));
  PetscCall(memory_alloc("sweep seconds", v->n_cases, sizeof *v->seconds, &v->seconds));
  PetscCall(read_measures(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_view_create(const char *dir, sweep_view **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep view", 1, sizeof **out, out));
  const PetscErrorCode code = read_view(dir, *out);
  if (code) sweep_view_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sweep_view_destroy(sweep_view **v)
{
  if (!*v) return;
  for (int k = 0; (*v)->parameter && k < (*v)->n_parameters; ++k) {
    memory_free(&(*v)->parameter[k].text);
    memory_free(&(*v)->parameter[k].number);
    memory_free(&(*v)->parameter[k].level);
  }
  for (int k = 0; k < (*v)->n_measures; ++k) memory_free(&(*v)->measure[k].value);
  memory_free(&(*v)->parameter);
  memory_free(&(*v)->measure);
  memory_free(&(*v)->seconds);
  sweep_results_destroy(&(*v)->results);
  memory_free(v);
}

/* --- groups ----------------------------------------------------------------------------------------------------------- */

/* Cases sorted by what else varies; equal ones are a group. */
typedef struct {
  const sweep_view *view;
  int64_t           i_case;
  int               parameter, other;
} group_entry;

static int by_others(const void *a, const void *b)
{
  const group_entry *p = a, *q = b;
  for (int k = 0; k < p->view->n_varied; ++k) {
    const sweep_parameter *x = &p->view->parameter[k];
    if (k == p->parameter || k == p->other || x->is_repeat) continue;
    if (x->level[p->i_case] != x->level[q->i_case]) return x->level[p->i_case] < x->level[q->i_case] ? -1 : 1;
  }
  return 0;
}

PetscErrorCode sweep_view_groups(const sweep_view *v, int parameter, int other, int *n_groups, int *group)
{
  group_entry *entry __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  *n_groups = 0;
  PetscCall(memory_alloc("sweep groups", v->n_cases, sizeof *entry, &entry));
  for (int64_t i = 0; i < v->n_cases; ++i) entry[i] = (group_entry){v, i, parameter, other};
  qsort(entry, (size_t)v->n_cases, sizeof *entry, by_others);
  for (int64_t i = 0; i < v->n_cases; ++i) {
    if (i == 0 || by_others(&entry[i - 1], &entry[i]) != 0) ++*n_groups;
    group[entry[i].i_case] = *n_groups - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool sweep_view_wants_log(int64_t n, const double *x, double decades)
{
  double lo = INFINITY, hi = -INFINITY;
  for (int64_t i = 0; i < n; ++i)
    if (isfinite(x[i])) lo = fmin(lo, x[i]), hi = fmax(hi, x[i]);
  return lo > 0 && isfinite(hi) && log10(hi / lo) >= decades;
}

const char *sweep_level_text(const sweep_parameter *p, int level, size_t size, char *text)
{
  if (p->is_numeric) page_number(p->number[level], size, text);
  else snprintf(text, size, "%s", p->text[level]);
  return text;
}
