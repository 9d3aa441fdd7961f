/* Measures: named quantities of a run, each recorded as a table measure/NAME.csv of step, time and value. app/run creates them
 * and records due values after every step. */
#ifndef SS_SIM_MEASURE_MEASURE_H
#define SS_SIM_MEASURE_MEASURE_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "sim/measure/clock.h"
#include "sim/measure/measure_statistics.h"
#include "sim/measure/named_state.h"
#include "sim/step/formulation.h"

extern const key_table measure_table; /* measure.NAME in a job */

typedef struct measures measures;
/* True if some measure compares with initial positions, so that bodies must store them. list: block `measure:` of a job, read by
 * measure_table. */
bool measures_need_origins(const key_list *list);
/* Add an entry to `d` for each measure that is not possible for this scene. */
PetscErrorCode measures_check(const scene *s, const key_list *list, diagnostics *d);
/* Create the measures of a scene in its initial state, before a checkpoint is restored; initial values for later comparison are
 * evaluated here. The list must have passed measures_check. All arguments are borrowed. */
PetscErrorCode measures_create(scene *s, const key_list *list, formulation *f, named_state *m, measures **out);
/* Open or continue the tables in DIR/measure, after the state is restored. resume_step >= 0: later rows are removed; -1: new tables. */
PetscErrorCode measures_open(measures *m, const char *dir, int64_t resume_step, const sim_clock *now);
/* Record the values that are due. Call it once at the start and at the end of every step. */
PetscErrorCode measures_record(measures *m, const sim_clock *now, const step_report *report);
PetscErrorCode measures_flush(measures *m);
/* Statistics of the i-th measure so far, including earlier starts of a resumed run, and its unit (may be NULL). */
const measure_statistics *measures_statistics(const measures *m, int i, const char **unit);
PetscErrorCode            measures_destroy(measures **m);
#endif
