/* Measures: named quantities of a run, each a table measure/NAME.csv of step, time and value. */
#ifndef SS_SIM_MEASURE_MEASURE_H
#define SS_SIM_MEASURE_MEASURE_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "sim/measure/clock.h"
#include "sim/measure/measure_statistics.h"
#include "sim/measure/memo.h"
#include "sim/step/formulation.h"

extern const key_table measure_table; /* measure.NAME in a job */

typedef struct measures measures;
/* Does any of them compare with initial positions, so that bodies have to keep these? `list`: measure: of a job, by measure_table. */
bool measures_need_origins(const key_list *list);
/* Complaints about what the job asks to be measured go to `d`. */
PetscErrorCode measures_check(const scene *s, const key_list *list, diagnostics *d);
/* Of a scene as it is before its first step, restored or not: what is measured against the start is taken now. The job must have passed
 * measures_check. Borrows everything. */
PetscErrorCode measures_create(scene *s, const key_list *list, formulation *f, memo *m, measures **out);
/* With the state in place: open or continue the tables in DIR/measure; with resume_step >= 0 later rows are cut off. */
PetscErrorCode measures_open(measures *m, const char *dir, int64_t resume_step, const sim_clock *now);
/* At the end of every step, and once at the start: record what is due. */
PetscErrorCode measures_record(measures *m, const sim_clock *now, const step_report *report);
PetscErrorCode measures_flush(measures *m);
/* The i-th of the job's measures: what it came to so far, resumes included, and its unit (may be NULL). */
const measure_statistics *measures_statistics(const measures *m, int i, const char **unit);
PetscErrorCode measures_destroy(measures **m);
#endif
