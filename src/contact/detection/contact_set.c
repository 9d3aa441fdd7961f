/* Set of contacts of one step, see contact_set.h: growth and sorting by key. */
#include "contact/detection/contact_set.h"
#include "contact/detection/contact_keys.h"
#include "core/memory.h"
#include <stdlib.h>
#include <string.h>

struct contact_set {
  int64_t       n, capacity;
  contact_spot *spot;
};

PetscErrorCode contact_set_create(contact_set **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contacts", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_set_destroy(contact_set **s)
{
  if (!s || !*s) return;
  MEMORY_FREE(&(*s)->spot, s);
}

void contact_set_clear(contact_set *s) { s->n = 0; }

void contact_set_truncate(contact_set *s, int64_t n)
{
  SS_ASSERT(n >= 0 && n <= s->n);
  s->n = n;
}

PetscErrorCode contact_set_append(contact_set *s, int64_t n, contact_spot **first)
{
  PetscFunctionBeginUser;
  const int64_t total = s->n + n;
  PetscCall(memory_reserve("contacts", total, sizeof *s->spot, &s->capacity, &s->spot));
  *first = s->spot + s->n;
  if (n > 0) memset(*first, 0, (size_t)n * sizeof **first);
  s->n = total;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int contact_set_compare(const void *a, const void *b)
{
  const contact_spot *p = a, *q = b;
  return contact_keys_compare(p->key, q->key);
}

PetscErrorCode contact_set_sort(contact_set *s)
{
  bool is_sorted = true;
  PetscFunctionBeginUser;
  for (int64_t i = 1; i < s->n && is_sorted; ++i) is_sorted = contact_set_compare(&s->spot[i - 1], &s->spot[i]) < 0;
  if (is_sorted) PetscFunctionReturn(PETSC_SUCCESS);
  qsort(s->spot, (size_t)s->n, sizeof *s->spot, contact_set_compare);
  for (int64_t i = 1; i < s->n; ++i)
    PetscCheck(contact_set_compare(&s->spot[i - 1], &s->spot[i]) != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "two contacts of bodies %d and %d have the same key, %016llx %016llx", (int)s->spot[i].body_a, (int)s->spot[i].body_b,
               (unsigned long long)s->spot[i].key[0], (unsigned long long)s->spot[i].key[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool contact_set_has(const contact_set *s, const uint64_t key[2])
{
  const contact_spot wanted = {.key = {key[0], key[1]}};
  return s->n > 0 && bsearch(&wanted, s->spot, (size_t)s->n, sizeof *s->spot, contact_set_compare) != NULL;
}

int64_t contact_set_size(const contact_set *s) { return s->n; }

const contact_spot *contact_set_get(const contact_set *s) { return s->spot; }
contact_spot       *contact_set_edit(contact_set *s) { return s->spot; }
