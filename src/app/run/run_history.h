/* What the steps of a run reported: a row of history.csv for a step, and the counters of summary.txt for all steps. */
#ifndef SS_APP_RUN_RUN_HISTORY_H
#define SS_APP_RUN_RUN_HISTORY_H
#include <stdio.h>
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"

/* The columns of history.csv, one table for names, units and the order of the values. */

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

PetscErrorCode history_values(const scene *s, int64_t step, double t, double dt, const step_report *report, int64_t retries,
                              double seconds, double values[HISTORY_N_COLUMNS]);

/* What a run did in its steps altogether, for summary.txt. */

typedef struct {
  double           user_seconds; /* of this process, as the steps began */
  double           seconds;      /* simulated */
  int64_t          n_steps, n_retries;
  int64_t          newton, linear, evaluations, most_newton;
  int64_t          friction;                /* iterations of the solver for impulses; solved_steps: steps that asked it */
  int64_t          solved_steps;
  int64_t          contacts, most_contacts; /* the first summed over steps */
  double           max_penetration;         /* m */
  int64_t          n_unsolved;              /* steps taken with more left than solver.newton.tolerance, */
  double           most_left;               /* and the most of it */
  relax_statistics relaxations;
} run_tally;

void run_tally_begin(run_tally *t);
void run_tally_add(run_tally *t, double dt, const step_report *report, int64_t n_retries);
/* Lines of a name and its numbers; "for every 1/24 s simulated" is what films call a frame. */
/* outer, inner: what the formulation calls its iterations. */
void run_tally_print(const run_tally *t, const char *outer, const char *inner, FILE *out);
#endif
