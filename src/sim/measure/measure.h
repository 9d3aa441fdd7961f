/* Measures: named quantities of a run, each a two-column table measure/NAME.csv of time and value. */
#ifndef SS_SIM_MEASURE_H
#define SS_SIM_MEASURE_H
#include "core/key_table.h"
#include "sim/formulation.h"
#include "sim/measure/measure_statistics.h"

extern const key_table measure_table; /* measure.NAME in a job */

typedef struct measures measures;
/* Opens or continues the tables in DIR/measure; with resume_step >= 0 later rows are cut off. Complaints about names go to
 * `d`. Borrows scene and formulation. */
PetscErrorCode measures_check(const scene *s, diagnostics *d);
PetscErrorCode measures_open(scene *s, formulation *f, const char *dir, int64_t resume_step, measures **out);
/* Record at the end of step `step`, time t. */
PetscErrorCode measures_record(measures *m, int64_t step, double t, const step_report *report);
PetscErrorCode measures_flush(measures *m);
/* The i-th of the job's measures: what it came to so far, resumes included, and its unit. */
const measure_statistics *measures_statistics(const measures *m, int i, const char **unit);
PetscErrorCode measures_close(measures **m);
#endif
