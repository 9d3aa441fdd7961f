/* Conditions that end a run: `until:` in a job, in what it measures. Looked at after every step, with the values last recorded. */
#ifndef SS_APP_JOB_UNTIL_H
#define SS_APP_JOB_UNTIL_H
#include "core/diagnostics.h"
#include "sim/measure/clock.h"
#include "sim/measure/measure.h"
#include "sim/measure/memo.h"

/* One condition of a job. */
typedef struct {
  const char *when;        /* expression in the names of measures, t and step */
  double      hold, after; /* s */
} until_condition;
extern const key_table until_table;

typedef struct until until;
/* `list` and `measured`: until: and measure: of a job. Complaints about the conditions go to `d`. */
PetscErrorCode until_check(const key_list *list, const key_list *measured, diagnostics *d);
/* Of a job that passed until_check. Since when a condition holds, and that one was met, is kept in `m`: a resumed run ends where an
 * uninterrupted one does. Borrows everything. */
PetscErrorCode until_create(const key_list *list, const key_list *measured, const measures *values, memo *m, until **out);
void           until_destroy(until **u);
/* After a step, when what is due has been recorded. True if the run is to end. */
PetscErrorCode until_step(until *u, const sim_clock *now, bool *is_met);
/* The condition that was met, in this start or an earlier one, and is still in the job: "kinetic < 1e-6 for 0.1 s". False: none. */
bool until_met(const until *u, size_t size, char *text);
#endif
