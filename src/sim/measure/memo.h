/* Named numbers that survive a restart, for modules that observe a run and need a small state, such as the time since a
 * condition has been true. They are one group "memo" of the field table in every checkpoint. A job may be resumed with more or
 * fewer of them: unused names are kept, missing names have their fallback value. Used by until:, measures and app/run. */
#ifndef SS_SIM_MEASURE_MEMO_H
#define SS_SIM_MEASURE_MEMO_H
#include "core/field_table.h"

typedef struct memo memo;
PetscErrorCode      memo_create(field_table *table, memo **out);
void                memo_destroy(memo **m);
double              memo_get(const memo *m, const char *name, double fallback);
PetscErrorCode      memo_set(memo *m, const char *name, double value);
#endif
