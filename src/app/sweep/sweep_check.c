/* Implementation of sweep_check.h: order of the cases, and one scene at a time. */
#include "app/sweep/sweep_check.h"
#include <string.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/timer.h"
#include "sim/scene/scene.h"
#include "app/job/job.h"
#include "app/run/run.h"
#include "app/sweep/sweep_errors.h"

/* Add the errors of case i to `d` and its warnings to `warnings`. */
static PetscErrorCode check_scene(const sweep_plan *plan, int64_t i, diagnostics *d, diagnostics *warnings)
{
  const sweep_case *c = &plan->cases[i];
  job              *j;
  run              *r = NULL;

  PetscFunctionBegin;
  PetscCall(job_read_text(plan->base, plan->base_text, c->n_overrides, c->overrides, d, &j));
  if (j) PetscCall(run_build(&j, &(run_options){.comm = PETSC_COMM_SELF, .dir = "", .is_check = true}, d, &r));
  for (int k = 0; r && k < warning_list_count(run_scene(r)->warnings); ++k)
    diagnostics_add(warnings, (document_mark){0}, NULL, "%s", warning_list_text(run_scene(r)->warnings, k));
  run_destroy(&r);
  job_destroy(&j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cases among which new values of settings are searched; the time is proportional to the square. */
enum { MAX_COMPARED = 2000 };

/* order [n_cases]: cases that together contain every value of every setting, then all others, each in ascending order. */
static PetscErrorCode order_cases(const sweep_plan *plan, int64_t *order)
{
  const int64_t n     = plan->n_cases;
  int64_t       at    = 0;
  bool         *is_in = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("order of cases", n, sizeof *is_in, &is_in));
  for (int k = 0; k < plan->n_settings; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      bool is_new = true;
      for (int64_t m = 0; m < i && m < MAX_COMPARED && is_new; ++m)
        is_new = strcmp(plan->cases[m].overrides[k], plan->cases[i].overrides[k]) != 0;
      is_in[i] = is_in[i] || (is_new && i < MAX_COMPARED);
    }
  }
  if (n > 0) is_in[0] = true;
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t i = 0; i < n; ++i)
      if (is_in[i] == (pass == 0)) order[at++] = i;
  memory_free(&is_in);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_ordered(const sweep_plan *plan, const int64_t *order, double seconds, int64_t *n_checked, sweep_errors *c,
                                    sweep_errors *w)
{
  const double begun = timer_now();
  char         words[SWEEP_WORDS];
  PetscFunctionBegin;
  for (*n_checked = 0; *n_checked < plan->n_cases && (*n_checked == 0 || timer_now() - begun < seconds); ++*n_checked) {
    const int64_t i                                                      = order[*n_checked];
    diagnostics  *one __attribute__((cleanup(diagnostics_destroy)))      = NULL;
    diagnostics  *warnings __attribute__((cleanup(diagnostics_destroy))) = NULL;
    PetscCall(diagnostics_create(&one));
    PetscCall(diagnostics_create(&warnings));
    PetscCall(check_scene(plan, i, one, warnings));
    (void)sweep_case_text(plan, &plan->cases[i], sizeof words, words);
    PetscCall(sweep_errors_collect(c, one, i, words));
    PetscCall(sweep_errors_collect(w, warnings, i, words));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_check_scenes(const sweep_plan *plan, double seconds, diagnostics *d, int64_t *n_checked)
{
  sweep_errors c = {0}, w = {0};
  int64_t     *order __attribute__((cleanup(memory_free)))       = NULL;
  diagnostics *all __attribute__((cleanup(diagnostics_destroy))) = NULL;

  PetscFunctionBegin;
  PetscCall(diagnostics_create(&all));
  PetscCall(memory_alloc("order of cases", plan->n_cases, sizeof *order, &order));
  PetscCall(order_cases(plan, order));
  const PetscErrorCode code = check_ordered(plan, order, seconds, n_checked, &c, &w);
  sweep_errors_report(&c, plan->n_cases, d);
  sweep_errors_report(&w, plan->n_cases, all);
  for (int k = 0; k < diagnostics_count(all); ++k) log_warn("%s", diagnostics_text(all, k));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
