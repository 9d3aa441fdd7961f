/* The books of flow_rate: on which side of its plane every particle was after the step before, and what has crossed since the last record.
 *
 * Exact: what is recorded, times the time between records, sums up to what mass_beyond has gained, less what sources released beyond. */
#ifndef SS_SIM_MEASURE_MEASURE_FLOW_H
#define SS_SIM_MEASURE_MEASURE_FLOW_H
#include "sim/measure/measure_quantity.h"
#include "sim/measure/memo.h"

/* After the state has been set or restored. What is under way in a resumed run is in `memo`. */
PetscErrorCode measure_flow_open(const measure_moment *now, const memo *m, measure *k);
/* After every step. */
PetscErrorCode measure_flow_step(const measure_moment *now, measure *k);
/* Note what a resumed run must know, after every step and what it records. */
PetscErrorCode measure_flow_keep(const measure *k, memo *m);
void           measure_flow_close(measure *k);
#endif
