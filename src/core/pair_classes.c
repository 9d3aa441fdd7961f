/* Slots of pairs of bodies, see pair_classes.h: classes, groups, exceptions, and the number of pairs of each slot. */
#include "core/pair_classes.h"
#include "core/memory.h"
#include "core/sort.h"
#include <stdlib.h>

int64_t pair_classes_exception(const pair_classes *p, int32_t a, int32_t b)
{
  int64_t lo = p->first_exception[a], hi = p->first_exception[a + 1];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (p->other[mid] < b) lo = mid + 1;
    else hi = mid;
  }
  return lo < p->first_exception[a + 1] && p->other[lo] == b ? p->exceptions + lo : -1;
}

/* ---- creation ---- */

/* List the members of every class. */
static PetscErrorCode list_members(pair_classes *p)
{
  int32_t *next;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("pair classes", ARRAY(p->first_member, (int64_t)p->n_classes + 1), ARRAY(p->member, p->n),
                         ARRAY(next, (int64_t)p->n_classes + 1)));
  for (int32_t i = 0; i < p->n; ++i) ++p->first_member[p->class_of[i] + 1];
  for (int32_t c = 0; c < p->n_classes; ++c) p->first_member[c + 1] += p->first_member[c];
  for (int32_t c = 0; c < p->n_classes; ++c) next[c] = p->first_member[c];
  for (int32_t i = 0; i < p->n; ++i) p->member[next[p->class_of[i]]++] = i;
  memory_free(&next);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both orders of every exception, sorted, without repetitions. */
static PetscErrorCode list_exceptions(pair_classes *p, int64_t n, const int32_t *pair)
{
  uint64_t *key;
  int32_t  *order;
  int64_t   m = 0;
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("pair classes", ARRAY(key, 2 * n), ARRAY(order, 2 * n), ARRAY(p->first_exception, (int64_t)p->n + 1),
                         ARRAY(p->other, 2 * n)));
  for (int64_t k = 0; k < 2 * n; ++k) {
    const int32_t a = pair[2 * (k / 2) + k % 2], b = pair[2 * (k / 2) + 1 - k % 2];
    key[k] = (uint64_t)a << 32 | (uint64_t)b;
  }
  PetscErrorCode code = sort_keys(2 * n, 64, key, order);
  for (int64_t k = 0; k < 2 * n && !code; ++k) {
    if (k > 0 && key[k] == key[k - 1]) continue;
    ++p->first_exception[(key[k] >> 32) + 1];
    p->other[m++] = (int32_t)(key[k] & UINT32_MAX);
  }
  for (int32_t i = 0; i < p->n; ++i) p->first_exception[i + 1] += p->first_exception[i];
  MEMORY_FREE(&key, &order);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If every class has one body, the relation follows from the classes, and all relations share one table. */
static void set_offsets(pair_classes *p)
{
  const int64_t table     = (int64_t)p->n_classes * p->n_classes;
  const bool    is_single = p->n_classes == p->n;
  int64_t       n         = table;
  p->offset[PAIR_OTHERS] = p->offset[PAIR_SAME_GROUP] = p->offset[PAIR_SELF] = 0;
  if (!is_single && p->group) p->offset[PAIR_SAME_GROUP] = n, n += table;
  if (!is_single) p->offset[PAIR_SELF] = n, n += table;
  p->exceptions = n;
  p->n_slots    = n + (p->first_exception ? p->first_exception[p->n] : 0);
}

static int64_t slot_without_exceptions(const pair_classes *p, int32_t a, int32_t b)
{
  return p->offset[pair_relation_of(p, a, b)] + (int64_t)p->class_of[a] * p->n_classes + p->class_of[b];
}

static void set_example(pair_classes *p, int64_t slot, int32_t a, int32_t b) { p->example[2 * slot] = a, p->example[2 * slot + 1] = b; }

static int32_t members_of(const pair_classes *p, int32_t c, const int32_t **member)
{
  *member = p->member + p->first_member[c];
  return p->first_member[c + 1] - p->first_member[c];
}

/* Set the example of the slot to the first pair of the lists with this slot. */
static void find_example(pair_classes *p, int64_t slot, int32_t n_a, const int32_t *a, int32_t n_b, const int32_t *b)
{
  for (int32_t i = 0; i < n_a; ++i)
    for (int32_t j = 0; j < n_b; ++j)
      if (pair_slot(p, p->n, a[i], b[j]) == slot) {
        set_example(p, slot, a[i], b[j]);
        return;
      }
}

typedef struct {
  const pair_classes *p;
  int32_t             body;
} group_entry;

static int compare_groups(const void *x, const void *y)
{
  const group_entry  *a = x, *b = y;
  const pair_classes *p     = a->p;
  const int32_t       of[4] = {p->group[a->body], p->group[b->body], p->class_of[a->body], p->class_of[b->body]};
  if (of[0] != of[1]) return of[0] < of[1] ? -1 : 1;
  if (of[2] != of[3]) return of[2] < of[3] ? -1 : 1;
  return (a->body > b->body) - (a->body < b->body);
}

/* Pairs of two runs of bodies of one group, each of one class; member [n]: bodies ordered by group and class. */
static void add_runs(pair_classes *p, const int32_t *member, int32_t a, int32_t end_a, int32_t b, int32_t end_b)
{
  const int32_t one = p->class_of[member[a]], two = p->class_of[member[b]];
  const int64_t at = (int64_t)one * p->n_classes + two, from = p->offset[PAIR_OTHERS] + at, to = p->offset[PAIR_SAME_GROUP] + at;
  const int64_t n = (int64_t)(end_a - a) * (a == b ? end_a - a - 1 : end_b - b);
  p->count[from] -= n;
  p->count[to] += n;
  if (n > 0 && p->example[2 * to] < 0) find_example(p, to, end_a - a, member + a, end_b - b, member + b);
}

static int32_t end_of_group(const pair_classes *p, int32_t n, const int32_t *member, int32_t i)
{
  int32_t end = i + 1;
  while (end < n && p->group[member[end]] == p->group[member[i]]) ++end;
  return end;
}

/* End of the bodies of one class from i on. */
static int32_t end_of_run(const pair_classes *p, int32_t n, const int32_t *member, int32_t i)
{
  int32_t end = i + 1;
  while (end < n && p->class_of[member[end]] == p->class_of[member[i]]) ++end;
  return end;
}

static PetscErrorCode add_groups(pair_classes *p)
{
  group_entry *entry;
  int32_t     *member;
  int32_t      n = 0;
  PetscFunctionBegin;
  if (!p->group) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("pair classes", ARRAY(entry, p->n), ARRAY(member, p->n)));
  for (int32_t i = 0; i < p->n; ++i)
    if (p->group[i] >= 0) entry[n++] = (group_entry){p, i};
  if (n > 1) qsort(entry, (size_t)n, sizeof *entry, compare_groups);
  for (int32_t i = 0; i < n; ++i) member[i] = entry[i].body;
  for (int32_t i = 0; i < n; i = end_of_group(p, n, member, i)) {
    const int32_t end = end_of_group(p, n, member, i);
    for (int32_t a = i; a < end; a = end_of_run(p, end, member, a))
      for (int32_t b = i; b < end; b = end_of_run(p, end, member, b))
        add_runs(p, member, a, end_of_run(p, end, member, a), b, end_of_run(p, end, member, b));
  }
  MEMORY_FREE(&entry, &member);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers and examples of all slots. The search for an example skips only exceptions and pairs of one group. */
static PetscErrorCode count_pairs(pair_classes *p)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("pair classes", ARRAY(p->example, 2 * p->n_slots), ARRAY(p->count, p->n_slots)));
  for (int64_t k = 0; k < 2 * p->n_slots; ++k) p->example[k] = -1;
  for (int32_t a = 0; a < p->n_classes; ++a)
    for (int32_t b = 0; b < p->n_classes; ++b) {
      const int64_t n_a = p->first_member[a + 1] - p->first_member[a], n_b = p->first_member[b + 1] - p->first_member[b];
      p->count[p->offset[PAIR_OTHERS] + (int64_t)a * p->n_classes + b] += a == b ? n_a * (n_a - 1) : n_a * n_b;
      if (a == b) p->count[p->offset[PAIR_SELF] + (int64_t)a * p->n_classes + a] += n_a;
    }
  for (int32_t a = 0; a < p->n && p->first_exception; ++a)
    for (int64_t k = p->first_exception[a]; k < p->first_exception[a + 1]; ++k) {
      --p->count[slot_without_exceptions(p, a, p->other[k])];
      p->count[p->exceptions + k] = 1;
      set_example(p, p->exceptions + k, a, p->other[k]);
    }
  PetscCall(add_groups(p));
  for (int32_t a = 0; a < p->n_classes; ++a)
    for (int32_t b = 0; b < p->n_classes; ++b) {
      const int32_t *of_a, *of_b;
      const int32_t  n_a = members_of(p, a, &of_a), n_b = members_of(p, b, &of_b);
      const int64_t  slot = p->offset[PAIR_OTHERS] + (int64_t)a * p->n_classes + b,
                    self  = p->offset[PAIR_SELF] + (int64_t)a * p->n_classes + a;
      if (p->count[slot] > 0 && p->example[2 * slot] < 0) find_example(p, slot, n_a, of_a, n_b, of_b);
      for (int32_t i = 0; a == b && i < n_a && p->example[2 * self] < 0; ++i) find_example(p, self, 1, of_a + i, 1, of_a + i);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode pair_classes_create(int32_t n, int32_t n_classes, const int32_t *class_of, const int32_t *group, int64_t n_exceptions,
                                   const int32_t *exceptions, pair_classes **out)
{
  pair_classes *p;
  bool          has_group = false;
  PetscFunctionBegin;
  PetscCall(memory_alloc("pair classes", 1, sizeof *p, &p));
  *out         = p;
  p->n         = n;
  p->n_classes = n_classes;
  for (int32_t i = 0; i < n && group; ++i) has_group |= group[i] >= 0;
  PetscCall(memory_copy("pair classes", n, sizeof *p->class_of, class_of, &p->class_of));
  if (has_group) PetscCall(memory_copy("pair classes", n, sizeof *p->group, group, &p->group));
  PetscCall(list_members(p));
  PetscCall(list_exceptions(p, n_exceptions, exceptions));
  set_offsets(p);
  PetscCall(count_pairs(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void pair_classes_destroy(pair_classes **out)
{
  if (!out || !*out) return;
  pair_classes *p = *out;
  MEMORY_FREE(&p->class_of, &p->group, &p->first_member, &p->member, &p->first_exception, &p->other, &p->example, &p->count, out);
}

/* ---- queries ---- */

void pair_classes_members(const pair_classes *p, int64_t slot, int32_t *n_a, const int32_t **a, int32_t *n_b, const int32_t **b)
{
  if (slot >= p->exceptions) {
    *n_a = *n_b = 1;
    *a = p->example + 2 * slot, *b = *a + 1;
    return;
  }
  const int64_t at = slot % ((int64_t)p->n_classes * p->n_classes);
  *n_a             = members_of(p, (int32_t)(at / p->n_classes), a);
  *n_b             = members_of(p, (int32_t)(at % p->n_classes), b);
}

/* True if body a has a pair with a listed slot; only its class and its exceptions are examined, so a single body of a class may have none. */
static bool may_have_partner(const pair_classes *p, const bool *is_listed, int32_t a)
{
  const int64_t row = (int64_t)p->class_of[a] * p->n_classes;
  for (int r = 0; r < PAIR_N_RELATIONS; ++r)
    for (int32_t b = 0; b < p->n_classes && (r == 0 || p->offset[r] != p->offset[r - 1]); ++b)
      if (is_listed[p->offset[r] + row + b] && p->count[p->offset[r] + row + b] > 0) return true;
  for (int64_t k = p->first_exception ? p->first_exception[a] : 0; p->first_exception && k < p->first_exception[a + 1]; ++k)
    if (is_listed[p->exceptions + k]) return true;
  return false;
}

void pair_classes_visit(const pair_classes *p, const bool *is_listed, bool (*visit)(void *context, int32_t a, int32_t b), void *context)
{
  for (int32_t a = 0; a < p->n; ++a) {
    if (!may_have_partner(p, is_listed, a)) continue;
    for (int32_t b = a; b < p->n; ++b)
      if (is_listed[pair_slot(p, p->n, a, b)] && !visit(context, a, b)) return;
  }
}

bool pair_classes_has_partner(const pair_classes *p, int64_t n, const bool *is_listed, int32_t a)
{
  if (p && !may_have_partner(p, is_listed, a)) return false;
  for (int32_t b = 0; b < n; ++b)
    if (is_listed[pair_slot(p, n, a, b)]) return true;
  return false;
}
