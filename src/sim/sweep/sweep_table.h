/* The cases of a sweep as a table for people. */
#ifndef SS_SIM_SWEEP_TABLE_H
#define SS_SIM_SWEEP_TABLE_H
#include "sim/sweep/sweep_plan.h"

/* A line per case: number, parameters, and what is set besides them; before it what is the same for all. */
PetscErrorCode sweep_table_print(const sweep_plan *plan, FILE *out);
#endif
