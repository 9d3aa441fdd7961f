/* Known contact pairs, see pair_table.h: sorted rows and a hash with open addressing. */
#include "contact/detection/pair_table.h"
#include "core/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pair_table {
  int64_t  n;       /* rows */
  int64_t  n_slots; /* a power of two, at least 2 n; 0 when empty */
  int32_t *source, *object;
  int64_t *point;
  double  *X;        /* [n][3] */
  double  *speed;    /* [n] */
  int64_t *slot;     /* [n_slots] row + 1, 0 is free */
  int32_t  n_bodies; /* limit of body numbers in a restored file */
};

int pair_key_compare(const pair_key *a, const pair_key *b)
{
  if (a->source != b->source) return a->source < b->source ? -1 : 1;
  if (a->object != b->object) return a->object < b->object ? -1 : 1;
  return (a->point > b->point) - (a->point < b->point);
}

/* Final mixing function of splitmix64: every input bit affects every output bit. */
static uint64_t mix(uint64_t x)
{
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static int64_t first_slot(const pair_table *t, pair_key key)
{
  const uint64_t bodies = (uint64_t)(uint32_t)key.source << 32 | (uint32_t)key.object;
  return (int64_t)(mix(mix(bodies + 0x9e3779b97f4a7c15ull) ^ (uint64_t)key.point) & (uint64_t)(t->n_slots - 1));
}

PetscErrorCode pair_table_create(pair_table **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("pair table", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void pair_table_forget(pair_table *t)
{
  MEMORY_FREE(&t->source, &t->object, &t->point, &t->X, &t->speed, &t->slot);
  t->n = t->n_slots = 0;
}

void pair_table_destroy(pair_table **t)
{
  if (!t || !*t) return;
  pair_table_forget(*t);
  memory_free(t);
}

int64_t pair_table_size(const pair_table *t) { return t->n; }

pair_key pair_table_key(const pair_table *t, int64_t row)
{
  SS_ASSERT(row >= 0 && row < t->n);
  return (pair_key){t->source[row], t->object[row], t->point[row]};
}

const double *pair_table_attachment(const pair_table *t, int64_t row)
{
  SS_ASSERT(row >= 0 && row < t->n);
  return t->X + 3 * row;
}

double pair_table_speed(const pair_table *t, int64_t row)
{
  SS_ASSERT(row >= 0 && row < t->n);
  return t->speed[row];
}

int64_t pair_table_find(const pair_table *t, pair_key key)
{
  if (t->n_slots == 0) return -1;
  for (int64_t i = first_slot(t, key);; i = (i + 1) & (t->n_slots - 1)) {
    if (t->slot[i] == 0) return -1;
    const pair_key other = pair_table_key(t, t->slot[i] - 1);
    if (pair_key_compare(&key, &other) == 0) return t->slot[i] - 1;
  }
}

/* Build the hash table from the rows. *twice: a row with the key of an earlier row, or -1. */
static PetscErrorCode rebuild(pair_table *t, int64_t *twice)
{
  PetscFunctionBeginUser;
  memory_free(&t->slot);
  *twice     = -1;
  t->n_slots = 0;
  if (t->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  int64_t n_slots = 16;
  while (n_slots < 2 * t->n) n_slots *= 2;
  PetscCall(memory_alloc("pair table hash", n_slots, sizeof *t->slot, &t->slot));
  t->n_slots = n_slots;
  for (int64_t row = 0; row < t->n; ++row) {
    const pair_key key = pair_table_key(t, row);
    if (pair_table_find(t, key) >= 0) {
      *twice = row;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    int64_t i = first_slot(t, key);
    while (t->slot[i]) i = (i + 1) & (n_slots - 1);
    t->slot[i] = row + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode allocate_rows(pair_table *t, int64_t n)
{
  PetscFunctionBeginUser;
  pair_table_forget(t);
  PetscCall(
      MEMORY_ALLOC("pair table", ARRAY(t->source, n), ARRAY(t->object, n), ARRAY(t->point, n), ARRAY(t->X, 3 * n), ARRAY(t->speed, n)));
  t->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  pair_key key;
  int64_t  from;
} sort_item;

static int compare_items(const void *a, const void *b)
{
  return pair_key_compare(&((const sort_item *)a)->key, &((const sort_item *)b)->key);
}

PetscErrorCode pair_table_replace(pair_table *t, int64_t n, const pair_key *keys, const double *X, const double *speed)
{
  sort_item *item;
  int64_t    twice;
  PetscFunctionBeginUser;
  PetscCall(allocate_rows(t, n));
  PetscCall(memory_alloc("pair sort", n, sizeof *item, &item));
  bool is_sorted = true;
  for (int64_t i = 0; i < n; ++i) {
    item[i] = (sort_item){keys[i], i};
    if (i > 0 && pair_key_compare(&keys[i - 1], &keys[i]) >= 0) is_sorted = false;
  }
  if (!is_sorted) qsort(item, (size_t)n, sizeof *item, compare_items);
  for (int64_t i = 0; i < n; ++i) {
    t->source[i] = item[i].key.source;
    t->object[i] = item[i].key.object;
    t->point[i]  = item[i].key.point;
    t->speed[i]  = speed[item[i].from];
    memcpy(t->X + 3 * i, X + 3 * item[i].from, 3 * sizeof *X);
  }
  memory_free(&item);
  PetscCall(rebuild(t, &twice));
  SS_ASSERT(twice < 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pair_table_resize(void *context, int64_t n_rows)
{
  PetscFunctionBeginUser;
  PetscCall(allocate_rows(context, n_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Validate restored data: in a damaged file, a wrong number would be an index out of bounds in the next step. */
static PetscErrorCode pair_table_restored(void *context)
{
  pair_table *t = context;
  int64_t     twice;
  PetscFunctionBeginUser;
  for (int64_t i = 0; i < t->n; ++i) {
    const bool is_known  = t->source[i] >= 0 && t->source[i] < t->n_bodies && t->object[i] >= 0;
    const bool is_finite = isfinite(t->X[3 * i]) && isfinite(t->X[3 * i + 1]) && isfinite(t->X[3 * i + 2]) && isfinite(t->speed[i]);
    PetscCheck(is_known, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "contact/attachments: row %lld joins body %d to object %d, which this job does not have", (long long)i, t->source[i],
               t->object[i]);
    PetscCheck(is_finite, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "contact/attachments: row %lld is not finite", (long long)i);
  }
  PetscCall(rebuild(t, &twice));
  PetscCheck(twice < 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "contact/attachments: row %lld repeats an earlier pair",
             (long long)twice);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode pair_table_fields(pair_table *t, int32_t n_bodies, field_table *fields)
{
  field_group *group;
  PetscFunctionBeginUser;
  t->n_bodies = n_bodies;
  PetscCall(field_table_add_group(fields, "contact/attachments", FIELD_GROUP_PLAIN, &t->n, t, &group));
  group->resize   = pair_table_resize;
  group->restored = pair_table_restored;
  PetscCall(field_table_add(fields, group, "source", "1", FIELD_I32, 1, &t->source, FIELD_CHECKPOINT, "body that owns the point"));
  PetscCall(field_table_add(fields, group, "object", "1", FIELD_I32, 1, &t->object, FIELD_CHECKPOINT,
                            "number of the object that carries the attachment"));
  PetscCall(field_table_add(fields, group, "point", "1", FIELD_I64, 1, &t->point, FIELD_CHECKPOINT, "identity of the point in its body"));
  PetscCall(
      field_table_add(fields, group, "attachment", "m", FIELD_F64, 3, &t->X, FIELD_CHECKPOINT, "attachment in the frame of the object"));
  PetscCall(field_table_add(fields, group, "speed", "m/s", FIELD_F64, 1, &t->speed, FIELD_CHECKPOINT | FIELD_RATE,
                            "largest approach speed so far; 0 without restitution"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
