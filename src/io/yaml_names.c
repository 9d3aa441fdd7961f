#include "io/yaml_names.h"
#include "core/memory.h"
#include <string.h>

/* FNV-1a, its high bits mixed down. */
static uint64_t names_hash(const char *s)
{
  uint64_t h = 14695981039346656037u;
  for (; *s; ++s) h = (h ^ (unsigned char)*s) * 1099511628211u;
  return (h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 20;
}

static int names_slot(const yaml_names *set, const char *name)
{
  int i = (int)(names_hash(name) & (uint64_t)(set->capacity - 1));
  while (set->name[i] && strcmp(set->name[i], name)) i = (i + 1) & (set->capacity - 1);
  return i;
}

int yaml_names_find(const yaml_names *set, const char *name)
{
  if (set->capacity == 0) return -1;
  const int i = names_slot(set, name);
  return set->name[i] ? set->index[i] : -1;
}

static PetscErrorCode names_grow(yaml_names *set)
{
  yaml_names larger = {.n = set->n, .capacity = set->capacity ? 2 * set->capacity : 16};

  PetscFunctionBegin;
  PetscCall(memory_alloc("YAML keys", larger.capacity, sizeof *larger.name, &larger.name));
  PetscCall(memory_alloc("YAML keys", larger.capacity, sizeof *larger.index, &larger.index));
  for (int i = 0; i < set->capacity; ++i) {
    if (!set->name[i]) continue;
    const int to     = names_slot(&larger, set->name[i]);
    larger.name[to]  = set->name[i];
    larger.index[to] = set->index[i];
  }
  yaml_names_clear(set);
  *set = larger;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode yaml_names_put(yaml_names *set, const char *name, int index, int *found)
{
  PetscFunctionBegin;
  *found = yaml_names_find(set, name);
  if (*found >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (2 * (set->n + 1) > set->capacity) PetscCall(names_grow(set));
  const int i   = names_slot(set, name);
  set->name[i]  = name;
  set->index[i] = index;
  ++set->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void yaml_names_clear(yaml_names *set)
{
  memory_free(&set->name);
  memory_free(&set->index);
  set->n = set->capacity = 0;
}
