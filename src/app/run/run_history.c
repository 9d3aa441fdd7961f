/* Implementation of the columns of history.csv and the counters of summary.txt. */
#include "app/run/run_history.h"
#include <math.h>
#include <string.h>
#include "core/timer.h"

/* --- history.csv -------------------------------------------------------------------------------------------------- */

const char *const history_names[] = {
#define X(name, unit) #name,
  HISTORY_COLUMN_TABLE(X)
#undef X
};
const char *const history_units[] = {
#define X(name, unit) unit,
  HISTORY_COLUMN_TABLE(X)
#undef X
};

/* Mean angle between the friction force and the direction opposite to slip, over all sliding contacts since the start of the
 * run: 2 asin(sqrt(mean of sin^2(angle/2))), weighted with the largest work |r_T| |u_T| that friction can do at a contact. The
 * weight makes the angle independent of units. Friction that does 1e-12 of its work in the wrong direction gives an angle of
 * 2e-6. */
static double friction_direction_error(const step_report *report)
{
  const double lost = report->friction_astray, all = report->friction_work + lost;
  if (!(lost > 0.0)) return 0.0;
  return 2.0 * asin(fmin(1.0, sqrt(lost / (2.0 * fmax(all, 0.5 * lost)))));
}

PetscErrorCode history_values(const scene *s, int64_t step, double t, double dt, const step_report *report, int64_t retries,
                              double seconds, double values[HISTORY_N_COLUMNS])
{
  PetscFunctionBegin;
  body_totals sum;
  PetscCall(scene_totals(s, &sum));
  values[HISTORY_step]             = (double)step;
  values[HISTORY_time]             = t;
  values[HISTORY_dt]               = dt;
  values[HISTORY_kinetic_energy]   = sum.kinetic;
  values[HISTORY_elastic_energy]   = sum.elastic;
  values[HISTORY_potential_energy] = sum.potential;
  values[HISTORY_contact_energy]   = report->contact.stored_energy;
  values[HISTORY_friction_work]    = report->friction_work;
  for (int k = 0; k < 3; ++k) {
    values[HISTORY_momentum_x + k]         = sum.momentum[k];
    values[HISTORY_angular_momentum_x + k] = sum.angular_momentum[k];
  }
  values[HISTORY_contacts]             = (double)report->contact.n_active;
  values[HISTORY_sliding]              = (double)report->contact.n_sliding;
  values[HISTORY_penetration]          = report->contact.max_penetration;
  values[HISTORY_cone_violation]       = report->contact.max_cone_violation;
  values[HISTORY_friction_angle_error] = report->contact.power_loss_angle;
  values[HISTORY_slip_angle_error]     = report->contact.slip_angle;
  values[HISTORY_friction_astray]      = friction_direction_error(report);
  values[HISTORY_natural_map]          = report->contact.natural_map;
  values[HISTORY_natural_map_curved]   = report->contact.natural_map_curved;
  values[HISTORY_creep]                = report->contact.creep;
  values[HISTORY_creep_bound]          = report->contact.creep_bound;
  values[HISTORY_relaxations]          = (double)report->contact.relaxations.n;
  values[HISTORY_relaxations_moved_on] = (double)(report->contact.relaxations.n - report->contact.relaxations.n_at_start);
  values[HISTORY_relaxation_places]    = (double)report->contact.relaxations.longest;
  values[HISTORY_newton_iterations]    = (double)report->newton_iterations;
  values[HISTORY_linear_iterations]    = (double)report->linear_iterations;
  values[HISTORY_inner_iterations]     = (double)report->inner_iterations;
  values[HISTORY_evaluations]          = (double)report->evaluations;
  values[HISTORY_fallbacks]            = (double)report->fallbacks;
  values[HISTORY_residual]             = report->residual;
  values[HISTORY_gradient]             = report->gradient;
  values[HISTORY_contact_candidates]      = (double)report->friction.n_contacts;
  values[HISTORY_over_constraint]         = report->friction.over_constraint;
  values[HISTORY_friction_method]         = (double)report->friction.method;
  values[HISTORY_friction_iterations]     = (double)report->friction.iterations;
  values[HISTORY_friction_error]          = report->friction.scaled;
  values[HISTORY_friction_error_absolute] = report->friction.absolute;
  values[HISTORY_friction_error_siconos]  = report->friction.siconos;
  const continuum_report *c = &report->continuum;
  values[HISTORY_pressures]               = (double)c->cells;
  values[HISTORY_stresses]                = (double)c->stresses;
  values[HISTORY_stress_iterations]       = (double)c->stress_iterations;
  values[HISTORY_contact_iterations]      = (double)c->contact_iterations;
  values[HISTORY_coupling_error]          = c->error;
  values[HISTORY_yield]                   = c->yield;
  values[HISTORY_complementarity]         = c->complementarity;
  values[HISTORY_contact_complementarity] = c->contact_complementarity;
  values[HISTORY_volume_rate]             = c->volume_rate;
  values[HISTORY_volume]                  = c->volume;
  values[HISTORY_excess]                  = c->excess;
  values[HISTORY_transfer_iterations]  = (double)report->transfer.iterations;
  values[HISTORY_transfer_points]      = (double)report->transfer.points;
  values[HISTORY_transfer_left]        = report->transfer.left;
  for (int k = 0; k < 3; ++k) values[HISTORY_spin_x + k] = report->transfer.spin[k];
  values[HISTORY_meetings]             = (double)report->transfer.meetings;
  values[HISTORY_zone_nodes]           = (double)report->transfer.zone_nodes;
  values[HISTORY_overshoot]            = sum.overshoot;
  values[HISTORY_turn]                 = sum.turn;
  values[HISTORY_retries]              = (double)retries;
  values[HISTORY_seconds]              = seconds;
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
  t->newton += report->newton_iterations;
  t->linear += report->linear_iterations;
  t->evaluations += report->evaluations;
  t->friction += report->friction.iterations;
  t->solved_steps += report->friction.n_contacts > 0;
  if (report->newton_iterations > t->most_newton) t->most_newton = report->newton_iterations;
  t->contacts += c->n_active;
  if (c->n_active > t->most_contacts) t->most_contacts = c->n_active;
  t->max_penetration = fmax(t->max_penetration, c->max_penetration);
  t->n_unconverged += report->is_unsolved;
  if (report->is_unsolved) t->max_residual = fmax(t->max_residual, report->residual);
  relax_statistics_merge(&t->relaxations, &c->relaxations);
}

static void print_relaxations(const relax_statistics *s, FILE *out)
{
  char text[32];
  if (s->n == 0) return;
  fprintf(out, "%-22s %lld, %.4f %% ended in their first place, longest %lld places, %lld stopped at the limit\n", "relaxations", (long long)s->n,
          100.0 * (double)s->n_at_start / (double)s->n, (long long)s->longest, (long long)s->n_capped);
  for (int i = 0; i < s->n_chains; ++i) {
    relax_chain_text(s->kind[i].chain, text);
    fprintf(out, "  %-20s %lld\n", text, (long long)s->kind[i].n);
  }
  if (s->n_other > 0) fprintf(out, "  %-20s %lld\n", "other", (long long)s->n_other);
}

void run_counters_print(const run_counters *t, const char *outer, const char *inner, FILE *out)
{
  if (t->n_steps == 0) return;
  const double n = (double)t->n_steps, user = timer_user_seconds() - t->user_seconds;
  fprintf(out, "%-22s %.6g s in %lld steps, %lld retries\n", "simulated", t->seconds, (long long)t->n_steps, (long long)t->n_retries);
  fprintf(out, "%-22s %.3f s, %.4g s per 1/24 s of simulated time\n", "user CPU time", user, user / (24.0 * t->seconds));
  char         name[40];
  snprintf(name, sizeof name, "%s iterations", outer);
  fprintf(out, "%-22s %.3f per step, maximum %lld\n", name, (double)t->newton / n, (long long)t->most_newton);
  snprintf(name, sizeof name, "%s iterations", inner);
  if (t->solved_steps > 0) fprintf(out, "%-22s %.2f per step with contacts\n", name, (double)t->friction / (double)t->solved_steps);
  else fprintf(out, "%-22s %.2f per step\n", name, (double)t->linear / n);
  fprintf(out, "%-22s %.2f per step\n", "evaluations", (double)t->evaluations / n);
  if (t->n_unconverged > 0)
    fprintf(out, "%-22s %lld steps accepted with a residual above solver.newton.tolerance, at most %.3g\n", "not converged",
            (long long)t->n_unconverged, t->max_residual);
  fprintf(out, "%-22s %.1f average over steps, maximum %lld\n", "contacts", (double)t->contacts / n, (long long)t->most_contacts);
  fprintf(out, "%-22s %.4g m\n", "largest penetration", t->max_penetration);
  print_relaxations(&t->relaxations, out);
  fputc('\n', out);
}
