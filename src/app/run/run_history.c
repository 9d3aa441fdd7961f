/* Implementation of the columns of history.csv and the totals of summary.txt. */
#include "app/run/run_history.h"
#include <math.h>
#include <string.h>
#include "core/timer.h"

/* --- history.csv -------------------------------------------------------------------------------------------------- */

enum { IS_INDEX_int64_t = 0, IS_INDEX_double = 0, IS_INDEX_report_index = 1 };

const report_quantity history_quantities[HISTORY_N_QUANTITIES] = {
#define X(name, unit, rule, group, value, help) {#name, unit, help, REPORT_##rule, REPORT_##group, false},
    RUN_COLUMN_TABLE(X)
#undef X
#define X(name, type, unit, rule, group, help) {#name, unit, help, REPORT_##rule, REPORT_##group, IS_INDEX_##type},
        CONTACT_SUMMARY_TABLE(X) STEP_REPORT_TABLE(X)
#undef X
#define X(name, unit, rule, group, value, help) {#name, unit, help, REPORT_##rule, REPORT_##group, false},
            RUN_LAST_COLUMN_TABLE(X)
#undef X
};

const report_quantity *history_find(const char *name)
{
  for (int i = 0; i < HISTORY_N_QUANTITIES; ++i)
    if (history_quantities[i].group != REPORT_INTERNAL && strcmp(history_quantities[i].name, name) == 0) return &history_quantities[i];
  return NULL;
}

int history_groups(const scene *s, const formulation_ops *ops)
{
  int groups = ops->report | REPORT_RUN;
  if (ops->not_reported) groups &= ~ops->not_reported(s);
  for (int i = 0; i < s->n_materials; ++i)
    if (s->materials[i]->law && s->materials[i]->law->step) groups |= REPORT_PLASTICITY;
  return groups;
}

/* Root mean square angle between the friction force and the direction opposite to slip, over all sliding contacts since the start
 * of the run: 2 asin(sqrt(mean of sin^2(angle/2))), weighted with the largest work |r_T| |u_T| that friction can do at a contact.
 * The weight makes the angle independent of units. Friction that does 1e-12 of its work in the wrong direction gives 2e-6. */
void run_history_add_friction(double done, double deficit, step_report *report)
{
  report->friction_work      = done;
  report->friction_angle_rms = deficit > 0.0 ? 2.0 * asin(fmin(1.0, sqrt(deficit / (2.0 * fmax(done + deficit, 0.5 * deficit))))) : 0.0;
}

PetscErrorCode run_history_add_plasticity(const scene *s, step_report *report)
{
  PetscFunctionBegin;
  body_totals sum;
  PetscCall(scene_totals(s, &sum));
  report->yield_overshoot = fmax(report->yield_overshoot, sum.overshoot);
  report->step_rotation   = fmax(report->step_rotation, sum.turn);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  double      step, time, dt, retries, seconds;
  body_totals sum;
} history_row_data;

PetscErrorCode history_values(const scene *s, int64_t step, double t, double dt, const step_report *report, int64_t retries, double seconds,
                              double values[HISTORY_N_QUANTITIES])
{
  PetscFunctionBegin;
  history_row_data        row = {.step = (double)step, .time = t, .dt = dt, .retries = (double)retries, .seconds = seconds};
  const history_row_data *r   = &row;
  PetscCall(scene_totals(s, &row.sum));
#define X(name, unit, rule, group, value, help) values[HISTORY_##name] = value;
  RUN_COLUMN_TABLE(X)
  RUN_LAST_COLUMN_TABLE(X)
#undef X
  step_report_values(report, values + HISTORY_contacts);
  values[HISTORY_yield_overshoot] = fmax(report->yield_overshoot, row.sum.overshoot);
  values[HISTORY_step_rotation]   = fmax(report->step_rotation, row.sum.turn);
  for (int i = 0; i < HISTORY_N_QUANTITIES; ++i)
    if (history_quantities[i].is_index && values[i] < 0.0) values[i] = HISTORY_EMPTY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_history_open(const char *path, int groups, int64_t resume_step, history **out)
{
  const char *names[HISTORY_N_QUANTITIES], *units[HISTORY_N_QUANTITIES];
  int         n = 0;
  PetscFunctionBegin;
  for (int i = 0; i < HISTORY_N_QUANTITIES; ++i)
    if (history_quantities[i].group & groups) names[n] = history_quantities[i].name, units[n++] = history_quantities[i].unit;
  PetscCall(history_open(path, n, names, units, resume_step, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_history_row(history *h, int groups, const double values[HISTORY_N_QUANTITIES])
{
  double row[HISTORY_N_QUANTITIES];
  int    n = 0;
  PetscFunctionBegin;
  for (int i = 0; i < HISTORY_N_QUANTITIES; ++i)
    if (history_quantities[i].group & groups) row[n++] = values[i];
  PetscCall(history_row(h, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- summary.txt -------------------------------------------------------------------------------------------------- */

void run_counters_begin(run_counters *t)
{
  memset(t, 0, sizeof *t);
  t->user_seconds = timer_user_seconds();
}

void run_counters_add(run_counters *t, double dt, const step_report *report, int64_t n_retries)
{
  const contact_summary *c = &report->contact;
  ++t->n_steps;
  t->n_retries += n_retries;
  t->seconds += dt;
  t->contact_steps += report->contact_candidates > 0;
  if (report->newton_iterations > t->most_newton) t->most_newton = report->newton_iterations;
  t->contacts += c->contacts;
  if (c->contacts > t->most_contacts) t->most_contacts = c->contacts;
  t->n_unconverged += report->unconverged > 0;
  if (report->unconverged > 0) t->max_residual = fmax(t->max_residual, report->residual);
  step_report_merge(&t->all, report);
}

static void print_relaxations(const relax_statistics *s, FILE *out)
{
  char text[32];
  if (s->n == 0) return;
  fprintf(out, "%-22s %lld, %.4f %% ended in their first place, longest %lld places, %lld stopped at the limit\n", "relaxations",
          (long long)s->n, 100.0 * (double)s->n_at_start / (double)s->n, (long long)s->longest, (long long)s->n_capped);
  for (int i = 0; i < s->n_chains; ++i) {
    relax_chain_text(s->kind[i].chain, text);
    fprintf(out, "  %-20s %lld\n", text, (long long)s->kind[i].n);
  }
  if (s->n_other > 0) fprintf(out, "  %-20s %lld\n", "other", (long long)s->n_other);
}

/* Sums and maxima over the steps: "  evaluations  sum  11  5.5 per step". */
static void print_totals(const run_counters *t, int groups, FILE *out)
{
  double values[REPORT_N_QUANTITIES];
  char   name[80];
  step_report_values(&t->all, values);
  fprintf(out, "over all steps\n");
  for (int i = 0; i < REPORT_N_QUANTITIES; ++i) {
    const report_quantity *q = &report_quantities[i];
    if (!(q->group & groups) || q->rule == REPORT_LAST || values[i] == 0.0) continue;
    snprintf(name, sizeof name, strcmp(q->unit, "1") == 0 ? "%s" : "%s [%s]", q->name, q->unit);
    fprintf(out, "  %-28s %-8s %.9g", name, report_rule_names[q->rule], values[i]);
    if (q->rule != REPORT_MAX) fprintf(out, ", %.4g per step", values[i] / (double)t->n_steps);
    fputc('\n', out);
  }
}

void run_counters_print(const run_counters *t, const formulation_ops *ops, FILE *out)
{
  if (t->n_steps == 0) return;
  const double n = (double)t->n_steps, user = timer_user_seconds() - t->user_seconds;
  fprintf(out, "%-22s %.6g s in %lld steps, %lld retries\n", "simulated", t->seconds, (long long)t->n_steps, (long long)t->n_retries);
  fprintf(out, "%-22s %.3f s, %.4g s per 1/24 s of simulated time\n", "user CPU time", user, user / (24.0 * t->seconds));
  char name[40];
  snprintf(name, sizeof name, "%s iterations", ops->outer);
  fprintf(out, "%-22s %.3f per step, maximum %lld\n", name, (double)t->all.newton_iterations / n, (long long)t->most_newton);
  snprintf(name, sizeof name, "%s iterations", ops->inner);
  if (ops->report & REPORT_FRICTION_SOLVER)
    fprintf(out, "%-22s %.2f per step with contacts\n", name, (double)t->all.friction_iterations / fmax(1.0, (double)t->contact_steps));
  else fprintf(out, "%-22s %.2f per step\n", name, (double)t->all.linear_iterations / n);
  if (t->n_unconverged > 0)
    fprintf(out, "%-22s %lld steps accepted with a residual above solver.newton.tolerance, at most %.3g\n", "not converged",
            (long long)t->n_unconverged, t->max_residual);
  fprintf(out, "%-22s %.1f average over steps, maximum %lld\n", "contacts", (double)t->contacts / n, (long long)t->most_contacts);
  print_relaxations(&t->all.contact.relaxation_chains, out);
  print_totals(t, ops->report, out);
  fputc('\n', out);
}
