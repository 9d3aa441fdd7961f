/* Tables of the step reports of a run: one row of history.csv per step, and the counters of summary.txt over all steps.
 * One X-macro table declares names, units and order of the columns of history.csv. Called by run.c. */
#ifndef SS_APP_RUN_RUN_HISTORY_H
#define SS_APP_RUN_RUN_HISTORY_H
#include <stdio.h>
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"

#define HISTORY_COLUMN_TABLE(X)                      \
  X(step, "1") X(time, "s") X(dt, "s")               \
  X(kinetic_energy, "J") X(elastic_energy, "J")      \
  X(potential_energy, "J") X(contact_energy, "J") X(friction_work, "J") \
  X(momentum_x, "N s") X(momentum_y, "N s") X(momentum_z, "N s") \
  X(angular_momentum_x, "N m s") X(angular_momentum_y, "N m s") X(angular_momentum_z, "N m s") \
  X(contacts, "1") X(sliding, "1") X(penetration, "m") \
  X(cone_violation, "1") X(friction_angle_error, "rad") X(slip_angle_error, "rad") X(friction_astray, "rad") \
  X(natural_map, "1") X(natural_map_curved, "1") X(creep, "m/s") X(creep_bound, "m/s") \
  X(relaxations, "1") X(relaxations_moved_on, "1") X(relaxation_places, "1") \
  X(newton_iterations, "1") X(linear_iterations, "1") X(inner_iterations, "1") X(evaluations, "1") X(fallbacks, "1") \
  X(residual, "1") X(gradient, "1")                  \
  X(contact_candidates, "1") X(over_constraint, "1") X(friction_method, "1") X(friction_iterations, "1") \
  X(friction_error, "1") X(friction_error_absolute, "1") X(friction_error_siconos, "1") \
  X(pressures, "1") X(stresses, "1") X(stress_iterations, "1") X(contact_iterations, "1") \
  X(coupling_error, "1") X(yield, "1") X(complementarity, "W") X(contact_complementarity, "W") \
  X(volume_rate, "m^3/s") X(volume, "m^3") X(excess, "1") \
  X(transfer_iterations, "1") X(transfer_points, "1") X(transfer_left, "m/s") \
  X(spin_x, "N m s") X(spin_y, "N m s") X(spin_z, "N m s") X(meetings, "1") X(zone_nodes, "1") \
  X(overshoot, "1") X(turn, "rad") \
  X(retries, "1") X(seconds, "s")

enum {
#define X(name, unit) HISTORY_##name,
  HISTORY_COLUMN_TABLE(X)
#undef X
  HISTORY_N_COLUMNS
};
extern const char *const history_names[];
extern const char *const history_units[];

/* Fills a row of history.csv from the scene (energies, momenta) and the report of the step that ended at time t. */
PetscErrorCode history_values(const scene *s, int64_t step, double t, double dt, const step_report *report, int64_t retries,
                              double seconds, double values[HISTORY_N_COLUMNS]);

/* Totals over the steps of this start, for summary.txt. */
typedef struct {
  double           user_seconds; /* CPU time of this process at the first step */
  double           seconds;      /* simulated time */
  int64_t          n_steps, n_retries;
  int64_t          newton, linear, evaluations, most_newton;
  int64_t          friction;                /* iterations of the friction solver */
  int64_t          solved_steps;            /* steps in which it had contacts to solve */
  int64_t          contacts, most_contacts; /* sum over steps; maximum */
  double           max_penetration;         /* m */
  int64_t          n_unconverged;           /* steps accepted with a residual above solver.newton.tolerance */
  double           max_residual;            /* largest of these residuals */
  relax_statistics relaxations;
} run_counters;

void run_counters_begin(run_counters *t);
void run_counters_add(run_counters *t, double dt, const step_report *report, int64_t n_retries);
/* Prints one line per counter. outer, inner: names of the formulation's iterations. CPU time is also given per 1/24 s of
 * simulated time, a frame of a film. */
void run_counters_print(const run_counters *t, const char *outer, const char *inner, FILE *out);
#endif
