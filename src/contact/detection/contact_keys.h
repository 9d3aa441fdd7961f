/* Sorted arrays of contact keys, [n][2] ascending: the identities of contacts whose data persists between steps (friction springs, impulses).
 * Such data is stored in checkpoints, which are untrusted: the order is checked when they are read.
 * Callers: contact_set.c, penalty/penalty_rows.c, sim/step/step_record.c. */
#ifndef SS_CONTACT_DETECTION_CONTACT_KEYS_H
#define SS_CONTACT_DETECTION_CONTACT_KEYS_H
#include "core/field_table.h"

/* < 0, 0 or > 0: a is before, equal to or after b. */
static inline int contact_keys_compare(const uint64_t a[2], const uint64_t b[2])
{
  if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
  return (a[1] > b[1]) - (a[1] < b[1]);
}
/* First row whose key is not before `key`; n: none. */
int64_t contact_keys_lower_bound(int64_t n, const uint64_t *keys, const uint64_t key[2]);
/* Row of `key`; -1: none. */
int64_t contact_keys_find(int64_t n, const uint64_t *keys, const uint64_t key[2]);
/* PETSC_ERR_FILE_UNEXPECTED with the row if the keys of `group` are not in ascending order. */
PetscErrorCode contact_keys_check(const char *group, int64_t n, const uint64_t *keys);
/* Register a group of checkpoints for data with keys: *n rows, key *keys [n][2]. `context`: argument of resize and restored. The
 * addresses must not change while the table exists. */
PetscErrorCode contact_keys_add_group(field_table *table, const char *name, int64_t *n, uint64_t **keys, void *context,
                                      PetscErrorCode (*resize)(void *context, int64_t n), PetscErrorCode (*restored)(void *context),
                                      field_group **out);
#endif
