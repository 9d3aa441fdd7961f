/* Implementation: sorted keys, see contact_keys.h. */
#include "contact/surface/surface_sides.h"
#include "contact/detection/contact_keys.h"
#include "core/memory.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint64_t key[2];
  int32_t  side;
} entry;

int surface_sides_find(const surface_sides *s, const uint64_t key[2])
{
  const int64_t at = contact_keys_find(s->n, s->key, key);
  return at < 0 ? 0 : s->side[at];
}

static int compare_entries(const void *a, const void *b)
{
  const entry *p = a, *q = b;
  const int    c = contact_keys_compare(p->key, q->key);
  return c ? c : p->side - q->side;
}

static PetscErrorCode resize(void *context, int64_t n)
{
  surface_sides *s = context;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("sides of surfaces", n, &s->capacity, ARRAY(s->key, 2), ARRAY(s->side, 1)));
  s->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode surface_sides_set(surface_sides *s, int64_t n, const uint64_t *key, const int32_t *side)
{
  entry *sorted;
  PetscFunctionBegin;
  PetscCall(memory_alloc("sides of surfaces", n, sizeof *sorted, &sorted));
  for (int64_t i = 0; i < n; ++i) sorted[i] = (entry){{key[2 * i], key[2 * i + 1]}, side[i]};
  if (n > 1) qsort(sorted, (size_t)n, sizeof *sorted, compare_entries);
  const PetscErrorCode code = resize(s, n);
  s->n                      = 0;
  for (int64_t i = 0, end; i < n && !code; i = end) { /* equal keys: ascending sides */
    for (end = i + 1; end < n && contact_keys_compare(sorted[i].key, sorted[end].key) == 0;) ++end;
    if (sorted[i].side != sorted[end - 1].side) continue;
    memcpy(s->key + 2 * s->n, sorted[i].key, sizeof sorted[i].key);
    s->side[s->n++] = sorted[i].side;
  }
  memory_free(&sorted);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode restored(void *context)
{
  const surface_sides *s = context;
  PetscFunctionBegin;
  for (int64_t i = 0; i < s->n; ++i)
    PetscCheck(s->side[i] == 1 || s->side[i] == -1, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "contact/surface_sides: row %lld is not 1 or -1", (long long)i);
  PetscCall(contact_keys_check("contact/surface_sides", s->n, s->key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode surface_sides_fields(surface_sides *s, field_table *table)
{
  field_group *group;
  PetscFunctionBegin;
  PetscCall(contact_keys_add_group(table, "contact/surface_sides", &s->n, &s->key, s, resize, restored, &group));
  PetscCall(field_table_add(table, group, "side", "1", FIELD_I32, 1, &s->side, FIELD_CHECKPOINT,
                            "sign of the contact normal on the normal of an open surface"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void surface_sides_free(surface_sides *s)
{
  MEMORY_FREE(&s->key, &s->side);
  s->n = s->capacity = 0;
}
