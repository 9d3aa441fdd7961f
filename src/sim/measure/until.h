/* Conditions on measures that end a run: the block `until:` of a job. Evaluated after each step with the last recorded values of
 * the measures. A condition must have been true for the time `for` without interruption. Called by job (check) and run
 * (evaluation). */
#ifndef SS_SIM_MEASURE_UNTIL_H
#define SS_SIM_MEASURE_UNTIL_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "sim/measure/clock.h"
#include "sim/measure/measure.h"
#include "sim/measure/memo.h"

/* until: */
typedef struct {
  const char *when;        /* expression in the names of measures, t and step */
  double      hold, after; /* s */
} job_until;
extern const key_table until_table;

typedef struct until until;
/* Checks the conditions of a job, whose measures are `measured`; adds errors to `d`. */
PetscErrorCode until_check(const key_list *conditions, const key_list *measured, diagnostics *d);
/* Creates the conditions of a job that passed until_check. `m` stores since when each condition is true and which one was
 * satisfied, so that a resumed run ends at the same step as an uninterrupted one. Borrows all arguments. */
PetscErrorCode until_create(const key_list *conditions, const key_list *measured, const measures *values, memo *m, until **out);
void           until_destroy(until **u);
/* Call after each step, after recording the measures. *is_met: the run must end. */
PetscErrorCode until_step(until *u, const sim_clock *now, bool *is_met);
/* The condition that was satisfied in this or an earlier start and is still in the job: "kinetic < 1e-6 for 0.1 s". False: none. */
bool until_met(const until *u, size_t size, char *text);
#endif
