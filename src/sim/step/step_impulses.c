#include "sim/step/step_impulses.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

void step_impulses_destroy(step_impulses *m)
{
  memory_free(&m->key);
  memory_free(&m->force);
  m->n = m->capacity = 0;
}

static int compare(const uint64_t a[2], const uint64_t b[2])
{
  if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
  return (a[1] > b[1]) - (a[1] < b[1]);
}

static PetscErrorCode reserve(step_impulses *m, int64_t n)
{
  PetscFunctionBegin;
  if (n <= m->capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n + n / 2;
  PetscCall(memory_resize("known impulses", 2 * capacity, sizeof *m->key, &m->key));
  PetscCall(memory_resize("known impulses", 3 * capacity, sizeof *m->force, &m->force));
  m->capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its row, or -1. */
static int64_t find(const step_impulses *m, const uint64_t key[2])
{
  int64_t lo = 0, hi = m->n;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (compare(m->key + 2 * mid, key) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo < m->n && compare(m->key + 2 * lo, key) == 0 ? lo : -1;
}

void step_impulses_guess(const step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt, double *r)
{
  for (int64_t i = 0; i < j->n; ++i) {
    const int64_t at = find(m, spots[i].was[0] != 0 ? spots[i].was : spots[i].key);
    v3_set(r + 3 * i, 0.0, 0.0, 0.0);
    if (at < 0) continue;
    m3_mulv(r + 3 * i, j->frame + 9 * i, m->force + 3 * at);
    v3_scale(r + 3 * i, dt, r + 3 * i);
  }
}

PetscErrorCode step_impulses_remember(step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt,
                                       const double *r)
{
  PetscFunctionBegin;
  PetscCall(reserve(m, j->n));
  m->n = 0;
  for (int64_t i = 0; i < j->n; ++i) {
    double *force = m->force + 3 * m->n;
    if (!(v3_dot(r + 3 * i, r + 3 * i) > 0.0)) continue;
    memcpy(m->key + 2 * m->n++, spots[i].key, sizeof spots[i].key);
    m3_mulv_t(force, j->frame + 9 * i, r + 3 * i);
    v3_scale(force, 1.0 / dt, force);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- state ----------------------------------------------------------------------------------------------------------- */

static PetscErrorCode resize(void *context, int64_t n_rows)
{
  step_impulses *m = context;
  PetscFunctionBegin;
  PetscCall(reserve(m, n_rows));
  m->n = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file is not trusted: guesses are looked up in order. */
static PetscErrorCode restored(void *context)
{
  const step_impulses *m = context;
  PetscFunctionBegin;
  for (int64_t i = 0; i < m->n; ++i) {
    PetscCheck(isfinite(v3_norm(m->force + 3 * i)), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "contact/impulses: row %lld is not finite", (long long)i);
    PetscCheck(i == 0 || compare(m->key + 2 * i - 2, m->key + 2 * i) < 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "contact/impulses: row %lld is out of order", (long long)i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_impulses_fields(step_impulses *m, field_table *table)
{
  field_group *group;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "contact/impulses", FIELD_GROUP_PLAIN, &m->n, m, &group));
  group->resize   = resize;
  group->restored = restored;
  PetscCall(field_table_add(table, group, "key", "1", FIELD_U64, 2, &m->key, FIELD_CHECKPOINT, "identity of the contact"));
  PetscCall(field_table_add(table, group, "force", "N", FIELD_F64, 3, &m->force, FIELD_CHECKPOINT,
                            "mean force of the last step on the first of its bodies"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
