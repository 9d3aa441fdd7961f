/* Named numbers that are stored in checkpoints, for modules with a small state, such as the time for which a condition has been true.
 * They form the group "named_state" of the field table. A job may be resumed with other names: unused names are kept, missing names have
 * their fallback value. Used by until:, measures and app/run. */
#ifndef SS_SIM_MEASURE_NAMED_STATE_H
#define SS_SIM_MEASURE_NAMED_STATE_H
#include "core/field_table.h"

typedef struct named_state named_state; /* names are stored as hashes; table is borrowed and must outlive *out */
PetscErrorCode             named_state_create(field_table *table, named_state **out);
void                       named_state_destroy(named_state **m);
double                     named_state_get(const named_state *m, const char *name, double fallback);
PetscErrorCode             named_state_set(named_state *m, const char *name, double value);
#endif
