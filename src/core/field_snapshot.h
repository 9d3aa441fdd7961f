/* A copy in memory of all checkpoint fields, to return to: what a checkpoint is on disk, without the disk. */
#ifndef SS_CORE_FIELD_SNAPSHOT_H
#define SS_CORE_FIELD_SNAPSHOT_H
#include "core/field_table.h"

typedef struct field_snapshot field_snapshot;
PetscErrorCode field_snapshot_create(field_snapshot **out);
/* Copy the state; the buffer is kept and reused by the next take. */
PetscErrorCode field_snapshot_take(field_snapshot *s, const field_table *table);
/* Put it back, resizing groups whose row count has changed, and call their restored(). */
PetscErrorCode field_snapshot_restore(const field_snapshot *s, field_table *table);
void           field_snapshot_destroy(field_snapshot **s);
#endif
