#include "contact/impulse/impact_zones.h"
#include "core/memory.h"

PetscErrorCode impact_zones_create(int64_t n, impact_zones *z)
{
  PetscFunctionBegin;
  z->n = n;
  PetscCall(memory_alloc("impact zones", n, sizeof *z->parent, &z->parent));
  PetscCall(memory_alloc("impact zones", n, sizeof *z->order, &z->order));
  PetscCall(memory_alloc("impact zones", n + 1, sizeof *z->start, &z->start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void impact_zones_destroy(impact_zones *z) { memory_free(&z->parent), memory_free(&z->order), memory_free(&z->start); }

void impact_zones_clear(impact_zones *z)
{
  for (int64_t i = 0; i < z->n; ++i) z->parent[i] = (int32_t)i;
  z->n_zones = 0;
}

int32_t impact_zones_find(impact_zones *z, int32_t unit)
{
  while (z->parent[unit] != unit) unit = z->parent[unit] = z->parent[z->parent[unit]];
  return unit;
}

/* The lowest unit leads, so that zones are the same in whatever order they were merged. */
void impact_zones_merge(impact_zones *z, int32_t a, int32_t b)
{
  a = impact_zones_find(z, a), b = impact_zones_find(z, b);
  if (a < b) z->parent[b] = a;
  else z->parent[a] = b;
}

void impact_zones_sort(impact_zones *z)
{
  int32_t *count = z->start; /* by leader, then start of its zone */
  for (int64_t i = 0; i <= z->n; ++i) count[i] = 0;
  for (int64_t i = 0; i < z->n; ++i) ++count[impact_zones_find(z, (int32_t)i)];
  int32_t at = 0;
  for (int64_t i = 0; i < z->n; ++i) {
    const int32_t n = count[i];
    count[i]        = n > 1 ? at : -1;
    at += n > 1 ? n : 0;
  }
  for (int64_t i = 0; i < z->n; ++i) {
    const int32_t lead = z->parent[i] == (int32_t)i ? (int32_t)i : impact_zones_find(z, (int32_t)i);
    if (count[lead] >= 0) z->order[count[lead]++] = (int32_t)i;
  }
  /* The leaders, ascending, stand first in their zones: starts of zones from the order itself. */
  z->n_zones = 0;
  for (int32_t k = 0; k < at; ++k)
    if (k == 0 || impact_zones_find(z, z->order[k]) != impact_zones_find(z, z->order[k - 1])) z->start[z->n_zones++] = k;
  z->start[z->n_zones] = at;
}
