/* State of penalty contact between points and level sets: one row per pair of a point and an object in contact, with the
 * attachment on the object and the approach speed. The table persists from step to step and is stored in checkpoints. Attachments on
 * triangle surfaces are stored by penalty_mesh.c and penalty_edges.c.
 *
 * Rows are sorted by (source, object, point), so that their order is deterministic; a hash table with open addressing maps a key to its
 * row. Callers: penalty.c, and contact_search.c for known pairs. */
#ifndef SS_CONTACT_DETECTION_PAIR_TABLE_H
#define SS_CONTACT_DETECTION_PAIR_TABLE_H
#include "core/field_table.h"

/* source: body of the point; object: see search_problem.object_key; point: identity of the point in its body. All persist during a run. */
typedef struct {
  int32_t source, object;
  int64_t point;
} pair_key;

/* Compare by (source, object, point): < 0, 0 or > 0 if a is before, equal to or after b. */
int pair_key_compare(const pair_key *a, const pair_key *b);

typedef struct pair_table pair_table;
PetscErrorCode            pair_table_create(pair_table **out);
void                      pair_table_destroy(pair_table **t);

int64_t       pair_table_size(const pair_table *t);
pair_key      pair_table_key(const pair_table *t, int64_t row);
const double *pair_table_attachment(const pair_table *t, int64_t row); /* X [3] in the frame of the object [m], borrowed */
double        pair_table_speed(const pair_table *t, int64_t row);      /* approach speed, see restitution.h [m/s] */
/* Row of a key, or -1. Thread-safe. */
int64_t pair_table_find(const pair_table *t, pair_key key);
/* Replace all rows: keys [n] in any order, each once; X [n][3], speed [n]. The arrays are copied. After a failure the table is empty. */
PetscErrorCode pair_table_replace(pair_table *t, int64_t n, const pair_key *keys, const double *X, const double *speed);
/* Register the group "contact/attachments" (checkpoint). A restore rebuilds the hash table. It fails for sources outside
 * 0 ... n_bodies - 1, negative objects, attachments or speeds that are not finite, and duplicate keys. */
PetscErrorCode pair_table_fields(pair_table *t, int32_t n_bodies, field_table *fields);
#endif
