/* A small state with every type and both layouts, for the tests of checkpoints and frames. */
#ifndef SS_TESTS_IO_FIXTURE_H
#define SS_TESTS_IO_FIXTURE_H
#include "core/field_table.h"
#include "test.h"
#include "temporary.h"
#include <sys/types.h>
#include <fts.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  int64_t      n, n_run;
  double      *x[3], *turn, *odd, *speed;
  uint64_t    *key;
  int64_t     *count;
  int32_t     *kind;
  uint8_t     *flag;
  double      *dt;
  int          n_resized, n_restored, n_refreshed;
  field_table *table;
} fixture;

static PetscErrorCode fixture_resize(void *context, int64_t n)
{
  fixture *s = context;

  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k) PetscCall(memory_resize("test", n, sizeof(double), &s->x[k]));
  PetscCall(memory_resize("test", 9 * n, sizeof(double), &s->turn));
  PetscCall(memory_resize("test", n, sizeof(double), &s->odd));
  PetscCall(memory_resize("test", n, sizeof(double), &s->speed));
  PetscCall(memory_resize("test", n, sizeof(uint64_t), &s->key));
  PetscCall(memory_resize("test", n, sizeof(int64_t), &s->count));
  PetscCall(memory_resize("test", 2 * n, sizeof(int32_t), &s->kind));
  PetscCall(memory_resize("test", n, sizeof(uint8_t), &s->flag));
  s->n = n;
  ++s->n_resized;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fixture_restored(void *context)
{
  ++((fixture *)context)->n_restored;
  return PETSC_SUCCESS;
}

static PetscErrorCode fixture_refresh(void *context)
{
  fixture *s = context;

  for (int64_t i = 0; i < s->n; ++i) s->speed[i] = 2.0 * s->x[0][i];
  ++s->n_refreshed;
  return PETSC_SUCCESS;
}

/* Values that identify row, component and `seed`. */
static inline void fixture_fill(fixture *s, double seed)
{
  for (int64_t i = 0; i < s->n; ++i) {
    for (int k = 0; k < 3; ++k) s->x[k][i] = seed + (double)i / 7.0 + k;
    for (int k = 0; k < 9; ++k) s->turn[9 * i + k] = sin(seed + (double)(9 * i + k));
    s->odd[i]          = (double)i;
    s->key[i]          = 0xfedcba9876543210u ^ (uint64_t)i;
    s->count[i]        = -i;
    s->kind[2 * i]     = (int32_t)i - 5;
    s->kind[2 * i + 1] = INT32_MIN;
    s->flag[i]         = (uint8_t)i;
  }
  s->dt[0] = seed, s->dt[1] = 1e-3;
}

static inline fixture *fixture_create(int64_t n, double seed)
{
  fixture     *s = NULL;
  field_group *bed, *run;
  const int    both = FIELD_CHECKPOINT | FIELD_FRAME;

  assert_ok(memory_alloc("test", 1, sizeof *s, &s));
  assert_ok(fixture_resize(s, n));
  s->n_resized = 0;
  s->n_run     = 1;
  assert_ok(memory_alloc("test", 2, sizeof(double), &s->dt));
  assert_ok(field_table_create(&s->table));
  assert_ok(field_table_add_group(s->table, "bodies/bed", FIELD_GROUP_POINTS, &s->n, s, &bed));
  bed->resize = fixture_resize, bed->restored = fixture_restored, bed->refresh = fixture_refresh;
  assert_ok(field_table_add_soa(s->table, bed, "position", "m", FIELD_F64, 3, s->x, both, "where"));
  assert_ok(field_table_add(s->table, bed, "turn", "1", FIELD_F64, 9, &s->turn, both, "how turned"));
  assert_ok(field_table_add(s->table, bed, "odd", "J", FIELD_F64, 1, &s->odd, FIELD_CHECKPOINT | FIELD_ANY_BITS, "any bits"));
  assert_ok(field_table_add(s->table, bed, "key", "1", FIELD_U64, 1, &s->key, both, "key"));
  assert_ok(field_table_add(s->table, bed, "count", "1", FIELD_I64, 1, &s->count, both, "count"));
  assert_ok(field_table_add(s->table, bed, "kind", "1", FIELD_I32, 2, &s->kind, both, "kind"));
  assert_ok(field_table_add(s->table, bed, "flag", "1", FIELD_U8, 1, &s->flag, both, "flag"));
  assert_ok(field_table_add(s->table, bed, "speed", "m/s", FIELD_F64, 1, &s->speed, FIELD_FRAME | FIELD_DERIVED, "derived"));
  assert_ok(field_table_add_group(s->table, "run", FIELD_GROUP_PLAIN, &s->n_run, s, &run));
  assert_ok(field_table_add(s->table, run, "dt", "s", FIELD_F64, 2, &s->dt, FIELD_CHECKPOINT, "step"));
  fixture_fill(s, seed);
  return s;
}

static inline void fixture_destroy(fixture **s)
{
  for (int k = 0; k < 3; ++k) memory_free(&(*s)->x[k]);
  memory_free(&(*s)->turn), memory_free(&(*s)->odd), memory_free(&(*s)->speed), memory_free(&(*s)->key);
  memory_free(&(*s)->count), memory_free(&(*s)->kind), memory_free(&(*s)->flag), memory_free(&(*s)->dt);
  field_table_destroy(&(*s)->table);
  memory_free(s);
}

/* Bit for bit, all that is state. */
static inline bool fixture_equal(const fixture *a, const fixture *b)
{
  if (a->n != b->n || memcmp(a->dt, b->dt, 16)) return false;
  const size_t n = (size_t)a->n;
  if (!n) return true;
  for (int k = 0; k < 3; ++k)
    if (memcmp(a->x[k], b->x[k], n * 8)) return false;
  return !memcmp(a->turn, b->turn, n * 72) && !memcmp(a->odd, b->odd, n * 8) && !memcmp(a->key, b->key, n * 8) &&
         !memcmp(a->count, b->count, n * 8) && !memcmp(a->kind, b->kind, n * 8) && !memcmp(a->flag, b->flag, n);
}

/* A fresh folder below $TMPDIR, and its end. */
static inline void folder_make(char path[256]) { assert_non_null(mkdtemp(temporary_name(path, ""))); }
static inline void folder_remove(const char *path)
{
  char *const roots[] = {(char *)(uintptr_t)path, NULL};
  FTS        *walk    = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  for (FTSENT *entry; walk && (entry = fts_read(walk));)
    if (entry->fts_info != FTS_D) remove(entry->fts_accpath);
  if (walk) fts_close(walk);
}

static inline void expect_message(PetscErrorCode code, const char *fragment)
{
  if (!code) fail_msg("expected an error with \"%s\"", fragment);
  if (!strstr(error_message(), fragment)) fail_msg("\"%s\" does not mention \"%s\"", error_message(), fragment);
  error_clear();
}
#endif
