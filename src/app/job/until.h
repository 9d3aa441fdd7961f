/* Conditions that end a run: `until:` of a job, expressions in the names of measures. app/run evaluates them after every step
 * with the last recorded values. */
#ifndef SS_APP_JOB_UNTIL_H
#define SS_APP_JOB_UNTIL_H
#include "core/diagnostics.h"
#include "core/warning_list.h"
#include "sim/measure/clock.h"
#include "sim/measure/measure.h"
#include "sim/measure/named_state.h"

/* One condition of a job. */
typedef struct {
  const char *when;        /* expression in the names of measures, t and step */
  double      hold, after; /* [s] keys `for` (time for which it must be true) and `after` (time before which it counts as false) */
} until_condition;
extern const key_table until_table;

typedef struct until until;
/* `list` and `measured`: until: and measure: of a job. Errors about the conditions go to `d`. */
PetscErrorCode until_check(const key_list *list, const key_list *measured, diagnostics *d);
/* Create the conditions of a job that passed until_check. The times for which conditions have been true, and the condition that was
 * met, are stored in `m`. Therefore a resumed run ends at the same step as an uninterrupted run. If a condition is not a finite number
 * although all its measures are finite, the warning "until-not-finite" is added to `warnings`. Borrows all arguments. */
PetscErrorCode until_create(const key_list *list, const key_list *measured, const measures *values, named_state *m, warning_list *warnings,
                            until **out);
void           until_destroy(until **u);
/* Evaluate the conditions after a step. Call it after the measures that are due have been recorded. *is_met: the run ends. */
PetscErrorCode until_step(until *u, const sim_clock *now, bool *is_met);
/* Text of the condition that ended the run, in this start or before a resume: "kinetic < 1e-6 for 0.1 s". False: no condition was
 * met, or the job does not contain it any more. */
bool until_met(const until *u, size_t size, char *text);
#endif
