/* Search, check and registration of sorted contact keys, see contact_keys.h. */
#include "contact/detection/contact_keys.h"

int64_t contact_keys_lower_bound(int64_t n, const uint64_t *keys, const uint64_t key[2])
{
  int64_t lo = 0, hi = n;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (contact_keys_compare(keys + 2 * mid, key) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

int64_t contact_keys_find(int64_t n, const uint64_t *keys, const uint64_t key[2])
{
  const int64_t at = contact_keys_lower_bound(n, keys, key);
  return at < n && contact_keys_compare(keys + 2 * at, key) == 0 ? at : -1;
}

PetscErrorCode contact_keys_check(const char *group, int64_t n, const uint64_t *keys)
{
  PetscFunctionBegin;
  for (int64_t i = 1; i < n; ++i)
    PetscCheck(contact_keys_compare(keys + 2 * i - 2, keys + 2 * i) < 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "%s: row %lld is not in ascending order of keys", group, (long long)i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_keys_add_group(field_table *table, const char *name, int64_t *n, uint64_t **keys, void *context,
                                      PetscErrorCode (*resize)(void *context, int64_t n), PetscErrorCode (*restored)(void *context),
                                      field_group **out)
{
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, name, FIELD_GROUP_PLAIN, n, context, out));
  (*out)->resize   = resize;
  (*out)->restored = restored;
  PetscCall(field_table_add(table, *out, "key", "1", FIELD_U64, 2, keys, FIELD_CHECKPOINT, "identity of the contact"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
