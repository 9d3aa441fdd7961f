/* A small unsorted array of hashes and values; lookups are linear. */
#include "sim/measure/memo.h"
#include "core/memory.h"

/* Names are stored as 64-bit FNV-1a hashes, which do not collide for a small number of names. */
struct memo {
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
  memo *m = context;
  PetscFunctionBegin;
  if (n > m->capacity) {
    PetscCall(MEMORY_RESIZE("memo", ARRAY(m->key, n), ARRAY(m->value, n)));
    m->capacity = n;
  }
  m->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t find(const memo *m, const char *name)
{
  const uint64_t key = hash(name);
  for (int64_t i = 0; i < m->n; ++i)
    if (m->key[i] == key) return i;
  return -1;
}

PetscErrorCode memo_create(field_table *table, memo **out)
{
  field_group *g;
  PetscFunctionBegin;
  PetscCall(memory_alloc("memo", 1, sizeof **out, out));
  memo *m = *out;
  PetscCall(field_table_add_group(table, "memo", FIELD_GROUP_PLAIN, &m->n, m, &g));
  g->resize = resize;
  PetscCall(field_table_add(table, g, "key", "1", FIELD_U64, 1, &m->key, FIELD_CHECKPOINT, "hash of the name"));
  PetscCall(field_table_add(table, g, "value", "1", FIELD_F64, 1, &m->value, FIELD_CHECKPOINT | FIELD_ANY_BITS, "stored value"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void memo_destroy(memo **m)
{
  if (!*m) return;
  MEMORY_FREE(&(*m)->key, &(*m)->value, m);
}

double memo_get(const memo *m, const char *name, double fallback)
{
  const int64_t i = find(m, name);
  return i < 0 ? fallback : m->value[i];
}

PetscErrorCode memo_set(memo *m, const char *name, double value)
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
