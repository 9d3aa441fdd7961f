#include "app/run/history_columns.h"
#include <math.h>

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

/* The angle between friction and what is opposite to the slip: the root of the mean of sin^2(angle/2) over all contacts that have slid, each
 * with the energy |r_T| |u_T| that friction can take up there, since the run began; as an angle. No unit of force, length or time is in it
 * that could be chosen, and what does 1e-12 of the work the wrong way round shows as 2e-6. */
static double astray(const step_report *report)
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
  values[HISTORY_friction_astray]      = astray(report);
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
