/* State of penalty contact between points and level sets: one row per pair of a point and an object in contact, with the
 * attachment on the object and the approach speed. It is kept from step to step and stored in checkpoints. Attachments on triangle
 * surfaces are stored by penalty_mesh.c and penalty_edges.c.
 *
 * Rows are kept in ascending order of (source, object, point), so that walking them is deterministic; a hash with open addressing
 * finds a row by its key. Callers: penalty.c; contact_search.c, which finds known pairs. */
#ifndef SS_CONTACT_DETECTION_PAIR_TABLE_H
#define SS_CONTACT_DETECTION_PAIR_TABLE_H
#include "core/field_table.h"

/* point: the point's persistent identity in its body; source, object: numbers that stay the same over the whole run. */
typedef struct {
  int32_t source, object;
  int64_t point;
} pair_key;

/* Order by (source, object, point): < 0, 0, > 0. */
int pair_key_compare(const pair_key *a, const pair_key *b);

typedef struct pair_table pair_table;
PetscErrorCode            pair_table_create(pair_table **out);
void                      pair_table_destroy(pair_table **t);

int64_t       pair_table_size(const pair_table *t);
pair_key      pair_table_key(const pair_table *t, int64_t row);
const double *pair_table_attachment(const pair_table *t, int64_t row); /* X [3], in the object's frame [m] */
double        pair_table_speed(const pair_table *t, int64_t row);      /* of approach, see restitution.h [m/s] */
/* Row of a key, or -1. Thread-safe. */
int64_t pair_table_find(const pair_table *t, pair_key key);
/* Clear the table, then insert these rows: keys [n] in any order, each once; X [n][3], speed [n]. All copied; on failure t is
 * empty. */
PetscErrorCode pair_table_replace(pair_table *t, int64_t n, const pair_key *keys, const double *X, const double *speed);
/* Group "contact/attachments" (checkpoint). Restoring rebuilds the hash. It rejects sources outside [0, n_bodies), negative
 * objects, attachments or speeds that are not finite, and duplicate keys. */
PetscErrorCode pair_table_fields(pair_table *t, int32_t n_bodies, field_table *fields);
#endif
