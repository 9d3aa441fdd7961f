/* The cases of a sweep as a table for people. */
#ifndef SS_APP_SWEEP_SWEEP_TABLE_H
#define SS_APP_SWEEP_SWEEP_TABLE_H
#include "app/sweep/sweep_plan.h"

/* A line per case: number, parameters, and what is set besides them; before it what is the same for all. */
PetscErrorCode sweep_table_print(const sweep_plan *plan, FILE *out);
#endif
