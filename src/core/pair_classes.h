/* Numbers for tables over pairs of bodies whose size does not grow with the square of the number of bodies.
 *
 * Bodies with identical properties form a class. The slot of an ordered pair (a, b) is the index of its entry in such a table. It depends on
 *
 *   the classes of a and b
 *   their relation: a body with itself, two bodies of one group (for example links of one robot), or other bodies
 *
 * so that tables have O(classes^2) entries. Single pairs can have a slot of their own (exceptions): they are stored as one sorted list per body.
 * If every body is a class of its own, the slot is a n + b. Callers that have no classes use NULL, which means the same.
 *
 * Used for contact laws and for flags of pairs by the scene, by the contact detectors and by the broad phase. */
#ifndef SS_CORE_PAIR_CLASSES_H
#define SS_CORE_PAIR_CLASSES_H
#include "core/error.h"

typedef enum { PAIR_OTHERS, PAIR_SAME_GROUP, PAIR_SELF, PAIR_N_RELATIONS } pair_relation;

typedef struct {
  int32_t  n, n_classes;             /* bodies, classes */
  int32_t *class_of;                 /* [n] */
  int32_t *group;                    /* [n] -1: none; NULL: no body has a group */
  int32_t *first_member, *member;    /* [n_classes + 1], [n] bodies of class c: member[first_member[c]] ..., ascending */
  int64_t  offset[PAIR_N_RELATIONS]; /* slot of (a, b): offset[relation] + class_of[a] n_classes + class_of[b] */
  int64_t *first_exception;          /* [n + 1] into other, NULL: no exceptions */
  int32_t *other;                    /* partners of each body in exceptions, ascending */
  int64_t  exceptions;               /* slot of exception k: exceptions + k */
  int64_t  n_slots;
  int32_t *example; /* [n_slots][2] some ordered pair of bodies with this slot; -1, -1: none */
  int64_t *count;   /* [n_slots] number of ordered pairs with this slot */
} pair_classes;

/* Slot of the exception (a, b); -1: the pair is none. */
int64_t pair_classes_exception(const pair_classes *p, int32_t a, int32_t b);

static inline pair_relation pair_relation_of(const pair_classes *p, int32_t a, int32_t b)
{
  if (a == b) return PAIR_SELF;
  return p->group && p->group[a] >= 0 && p->group[a] == p->group[b] ? PAIR_SAME_GROUP : PAIR_OTHERS;
}
/* Slot of the ordered pair (a, b) of n bodies. p NULL: every body is a class of its own. */
static inline int64_t pair_slot(const pair_classes *p, int64_t n, int32_t a, int32_t b)
{
  if (!p) return a * n + b;
  if (p->first_exception && p->first_exception[a] < p->first_exception[a + 1] && p->first_exception[b] < p->first_exception[b + 1]) {
    const int64_t slot = pair_classes_exception(p, a, b);
    if (slot >= 0) return slot;
  }
  return p->offset[pair_relation_of(p, a, b)] + (int64_t)p->class_of[a] * p->n_classes + p->class_of[b];
}
/* Some ordered pair of[2] with this slot; false: there is none. */
static inline bool pair_example(const pair_classes *p, int64_t n, int64_t slot, int32_t of[2])
{
  of[0] = p ? p->example[2 * slot] : (int32_t)(slot / n);
  of[1] = p ? p->example[2 * slot + 1] : (int32_t)(slot % n);
  return of[0] >= 0;
}
/* Number of slots: the size of a table. */
static inline int64_t pair_n_slots(const pair_classes *p, int64_t n) { return p ? p->n_slots : n * n; }

/* Create for n bodies: class_of [n] in 0 ... n_classes - 1; group [n], -1: none, or NULL; exceptions [n_exceptions][2] pairs of bodies in
 * any order, may repeat. The arrays are copied. Error: out of memory. */
PetscErrorCode pair_classes_create(int32_t n, int32_t n_classes, const int32_t *class_of, const int32_t *group, int64_t n_exceptions,
                                   const int32_t *exceptions, pair_classes **out);
void           pair_classes_destroy(pair_classes **p); /* accepts NULL */
/* Members of the classes of an ordered pair with slot s that is no exception: *a [*n_a] and *b [*n_b]. Only pairs with pair_slot == s belong
 * to the slot. An exception has one member each. */
void pair_classes_members(const pair_classes *p, int64_t slot, int32_t *n_a, const int32_t **a, int32_t *n_b, const int32_t **b);
/* Calls of `visit` for the ordered pairs (a, b) with a <= b whose slots are in the table is_listed [n_slots], ascending by (a, b), until it returns
 * false. Rows without listed slots take O(classes) time. */
void pair_classes_visit(const pair_classes *p, const bool *is_listed, bool (*visit)(void *context, int32_t a, int32_t b), void *context);
/* True if body a has a partner b, or itself, with is_listed [n_slots] at the slot of (a, b). */
bool pair_classes_has_partner(const pair_classes *p, int64_t n, const bool *is_listed, int32_t a);
#endif
