/* A small unsorted array of hashes and values; lookups are linear. */
#include "sim/measure/named_state.h"
#include "core/memory.h"

/* Names are stored as 64-bit FNV-1a hashes, which do not collide for a small number of names. */
struct named_state {
  int64_t   n, capacity;
  uint64_t *key;   /* [n] */
  double   *value; /* [n] */
};

static uint64_t hash(const char *name)
{
  uint64_t h = 0xcbf29ce484222325u;
  for (const unsigned char *c = (const unsigned char *)name; *c; ++c) h = (h ^ *c) * 0x100000001b3u;
  return h;
}

static PetscErrorCode resize(void *context, int64_t n)
{
  named_state *m = context;
  PetscFunctionBegin;
  if (n > m->capacity) {
    PetscCall(MEMORY_RESIZE("named state", ARRAY(m->key, n), ARRAY(m->value, n)));
    m->capacity = n;
  }
  m->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t find(const named_state *m, const char *name)
{
  const uint64_t key = hash(name);
  for (int64_t i = 0; i < m->n; ++i)
    if (m->key[i] == key) return i;
  return -1;
}

PetscErrorCode named_state_create(field_table *table, named_state **out)
{
  field_group *g;
  PetscFunctionBegin;
  PetscCall(memory_alloc("named state", 1, sizeof **out, out));
  named_state *m = *out;
  PetscCall(field_table_add_group(table, "named_state", FIELD_GROUP_PLAIN, &m->n, m, &g));
  g->resize = resize;
  PetscCall(field_table_add(table, g, "key", "1", FIELD_U64, 1, &m->key, FIELD_CHECKPOINT, "hash of the name"));
  PetscCall(field_table_add(table, g, "value", "1", FIELD_F64, 1, &m->value, FIELD_CHECKPOINT | FIELD_ANY_BITS, "stored value"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void named_state_destroy(named_state **m)
{
  if (!*m) return;
  MEMORY_FREE(&(*m)->key, &(*m)->value, m);
}

double named_state_get(const named_state *m, const char *name, double fallback)
{
  const int64_t i = find(m, name);
  return i < 0 ? fallback : m->value[i];
}

PetscErrorCode named_state_set(named_state *m, const char *name, double value)
{
  int64_t i = find(m, name);
  PetscFunctionBegin;
  if (i < 0) {
    i = m->n;
    PetscCall(resize(m, i + 1));
    m->key[i] = hash(name);
  }
  m->value[i] = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}
