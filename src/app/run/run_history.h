/* Tables of the step reports of a run: one row of history.csv per step, and the totals of summary.txt over all steps.
 *
 * The columns are the quantities of the tables below and of sim/step/step_report.h that the formulation and the scene provide. Their
 * order is the same for all runs. Called by run.c and by the commands that print the reference. */
#ifndef SS_APP_RUN_RUN_HISTORY_H
#define SS_APP_RUN_RUN_HISTORY_H
#include <stdio.h>
#include "io/history.h"
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"

/* Name, unit, rule and group as in step_report.h; value as an expression of the row `r`; help. RUN_COLUMN_TABLE: columns before those
 * of the step report; RUN_LAST_COLUMN_TABLE: columns after them. */
/* clang-format off */
#define RUN_COLUMN_TABLE(X)                                                                                                        \
  X(step, "1", LAST, RUN, r->step, "number of the step, from 1")                                                                   \
  X(time, "s", LAST, RUN, r->time, "simulated time at the end of the step")                                                        \
  X(dt, "s", LAST, RUN, r->dt, "length of the step")                                                                               \
  X(kinetic_energy, "J", LAST, RUN, r->sum.kinetic, "kinetic energy of all bodies")                                                \
  X(elastic_energy, "J", LAST, RUN, r->sum.elastic, "elastic energy of all bodies")                                                \
  X(potential_energy, "J", LAST, RUN, r->sum.potential, "energy of all bodies in gravity, zero at the origin")                     \
  X(momentum_x, "N s", LAST, RUN, r->sum.momentum[0], "momentum of all bodies, x")                                                 \
  X(momentum_y, "N s", LAST, RUN, r->sum.momentum[1], "momentum of all bodies, y")                                                               \
  X(momentum_z, "N s", LAST, RUN, r->sum.momentum[2], "momentum of all bodies, z")                                                               \
  X(angular_momentum_x, "N m s", LAST, RUN, r->sum.angular_momentum[0], "angular momentum of all bodies about the origin, x")      \
  X(angular_momentum_y, "N m s", LAST, RUN, r->sum.angular_momentum[1], "angular momentum of all bodies about the origin, y")                                             \
  X(angular_momentum_z, "N m s", LAST, RUN, r->sum.angular_momentum[2], "angular momentum of all bodies about the origin, z")
#define RUN_LAST_COLUMN_TABLE(X)                                                                                                   \
  X(retries, "1", SUM, RUN, r->retries, "failed attempts, each repeated with half the step length")                                \
  X(seconds, "s", SUM, RUN, r->seconds, "wall time of the step")
/* clang-format on */

enum {
#define X(name, unit, rule, group, value, help) HISTORY_##name,
  RUN_COLUMN_TABLE(X)
#undef X
#define X(name, type, unit, rule, group, help) HISTORY_##name,
      CONTACT_SUMMARY_TABLE(X) STEP_REPORT_TABLE(X)
#undef X
#define X(name, unit, rule, group, value, help) HISTORY_##name,
          RUN_LAST_COLUMN_TABLE(X)
#undef X
              HISTORY_N_QUANTITIES
};
extern const report_quantity history_quantities[HISTORY_N_QUANTITIES]; /* includes those that are never a column */
const report_quantity       *history_find(const char *name);           /* NULL: no such column */
/* Groups that provide the columns of a run. */
int history_groups(const scene *s, const formulation_ops *ops);

/* Raise yield_overshoot and step_rotation of a report to the maxima over the bodies. Called after each substep except the last, if
 * these columns are written; history_values includes the last substep. */
PetscErrorCode run_history_add_plasticity(const scene *s, step_report *report);
/* Values of all quantities after the step that ended at time t, from the sums over its bodies (scene_totals) and its report. */
void history_values(const body_totals *sum, int64_t step, double t, double dt, const step_report *report, int64_t retries, double seconds,
                    double values[HISTORY_N_QUANTITIES]);
/* Open history.csv with the columns of these groups; see history_open. */
PetscErrorCode run_history_open(const char *path, int groups, int64_t resume_step, history **out);
/* Append the columns of these groups of `values`. */
PetscErrorCode run_history_row(history *h, int groups, const double values[HISTORY_N_QUANTITIES]);

/* Set friction_work and friction_angle_rms of a report. done, deficit [J]: sums of friction_work_done and friction_work_deficit since
 * the start of the run. */
void run_history_add_friction(double done, double deficit, step_report *report);

/* Totals over the steps of this start, for summary.txt. */
typedef struct {
  double  user_seconds;                      /* CPU time of this process at the first step */
  double  seconds;                           /* simulated time */
  int64_t n_steps, n_retries, n_unconverged; /* n_unconverged: steps above solver.newton.tolerance; max_residual: their largest residual */
  double  max_residual;
  int64_t most_newton, contact_steps; /* maximum of outer iterations in a step; number of steps with a contact problem */
  int64_t contacts, most_contacts;    /* sum over steps; maximum */
  step_report all;                    /* merged over all steps */
} run_counters;

void run_counters_begin(run_counters *t);
void run_counters_add(run_counters *t, double dt, const step_report *report, int64_t n_retries);
/* Print the counters, then the sum or maximum over the steps of each quantity that the formulation reports, if it is not 0. CPU time is
 * also printed per 1/24 s of simulated time (one frame of a film). */
void run_counters_print(const run_counters *t, const formulation_ops *ops, FILE *out);
#endif
