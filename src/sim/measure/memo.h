/* Numbers that outlive a resume, by name: for what watches a run and has a little to remember, such as since when a condition has
 * held. One group "memo" of the field table, in every checkpoint whatever is in it, so that a job may be resumed with more or
 * fewer of them: names that nobody asks for stay, names that are not there have their fallback. */
#ifndef SS_SIM_MEASURE_MEMO_H
#define SS_SIM_MEASURE_MEMO_H
#include "core/field_table.h"

typedef struct memo memo;
PetscErrorCode memo_create(field_table *table, memo **out);
void           memo_destroy(memo **m);
double         memo_get(const memo *m, const char *name, double fallback);
PetscErrorCode memo_set(memo *m, const char *name, double value);
#endif
