/* Named numbers that are stored in checkpoints, for modules with a small state, such as the time for which a condition has been true.
 * They form the group "memo" of the field table. A job may be resumed with other names: unused names are kept, missing names have
 * their fallback value. Used by until:, measures and app/run. */
#ifndef SS_SIM_MEASURE_MEMO_H
#define SS_SIM_MEASURE_MEMO_H
#include "core/field_table.h"

typedef struct memo memo; /* names are stored as hashes; table is borrowed and must outlive *out */
PetscErrorCode      memo_create(field_table *table, memo **out);
void                memo_destroy(memo **m);
double              memo_get(const memo *m, const char *name, double fallback);
PetscErrorCode      memo_set(memo *m, const char *name, double value);
#endif
