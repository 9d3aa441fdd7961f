/* What a run did in its steps altogether, for summary.txt. */
#ifndef SS_APP_RUN_RUN_TALLY_H
#define SS_APP_RUN_RUN_TALLY_H
#include <stdio.h>
#include "sim/step/formulation.h"

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
