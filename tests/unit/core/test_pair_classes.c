/* core/pair_classes: slots against a table of all pairs of bodies, for random classes, groups and exceptions; more bodies than 2^16. */
#include "core/pair_classes.h"
#include "core/random.h"
#include "test.h"

enum { MOST = 40 };

typedef struct {
  int32_t       n, n_classes, class_of[MOST], group[MOST], exception[2 * MOST];
  int64_t       n_exceptions;
  pair_classes *p;
} sample;

static int32_t draw(uint64_t seed, uint64_t i, int32_t n) { return (int32_t)(random_u01(seed, i, 0) * n) % n; }

static void create_sample(sample *s, uint64_t seed)
{
  s->n            = 1 + draw(seed, 0, MOST);
  s->n_classes    = seed % 7 == 0 ? s->n : 1 + draw(seed, 1, s->n < 5 ? s->n : 5);
  s->n_exceptions = seed % 2 ? 0 : draw(seed, 2, MOST);
  for (int32_t i = 0; i < s->n; ++i) {
    s->class_of[i] = i < s->n_classes ? i : draw(seed, 10 + (uint64_t)i, s->n_classes);
    s->group[i]    = draw(seed, 100 + (uint64_t)i, 5) - 1;
  }
  for (int64_t k = 0; k < 2 * s->n_exceptions; ++k) s->exception[k] = draw(seed, 200 + (uint64_t)k, s->n);
  assert_ok(pair_classes_create(s->n, s->n_classes, s->class_of, seed % 3 ? s->group : NULL, s->n_exceptions, s->exception, &s->p));
}

static bool is_exception(const sample *s, int32_t a, int32_t b)
{
  for (int64_t k = 0; k < s->n_exceptions; ++k)
    if ((s->exception[2 * k] == a && s->exception[2 * k + 1] == b) || (s->exception[2 * k] == b && s->exception[2 * k + 1] == a))
      return true;
  return false;
}

/* Whether the pairs (a, b) and (c, d) must have the same slot. */
static bool are_equal(const sample *s, const int32_t *p, const int32_t *q)
{
  if (is_exception(s, p[0], p[1]) || is_exception(s, q[0], q[1])) return p[0] == q[0] && p[1] == q[1];
  return s->class_of[p[0]] == s->class_of[q[0]] && s->class_of[p[1]] == s->class_of[q[1]] &&
         pair_relation_of(s->p, p[0], p[1]) == pair_relation_of(s->p, q[0], q[1]);
}

/* Every pair has the slot of its example and of no other pair with different properties; the counts are right. */
static void test_slots(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < (uint64_t)test_samples(200); ++seed) {
    sample   s;
    int64_t *count;
    create_sample(&s, seed);
    assert_ok(memory_alloc("count", s.p->n_slots, sizeof *count, &count));
    for (int32_t a = 0; a < s.n; ++a)
      for (int32_t b = 0; b < s.n; ++b) {
        const int32_t of[2] = {a, b};
        const int64_t slot  = pair_slot(s.p, s.n, a, b);
        int32_t       example[2];
        assert_in_range(slot, 0, s.p->n_slots - 1);
        ++count[slot];
        assert_true(pair_example(s.p, s.n, slot, example));
        assert_int_equal(pair_slot(s.p, s.n, example[0], example[1]), slot);
        assert_true(are_equal(&s, of, example));
      }
    for (int64_t k = 0; k < s.p->n_slots; ++k) {
      int32_t example[2];
      assert_int_equal(count[k], s.p->count[k]);
      assert_int_equal(pair_example(s.p, s.n, k, example), count[k] > 0);
    }
    memory_free(&count);
    pair_classes_destroy(&s.p);
  }
}

typedef struct {
  const sample *s;
  const bool   *is_listed;
  int64_t       n;
  int32_t       last[2];
} visit;

static bool visit_pair(void *context, int32_t a, int32_t b)
{
  visit *v = context;
  assert_true(a <= b && v->is_listed[pair_slot(v->s->p, v->s->n, a, b)]);
  assert_true(a > v->last[0] || (a == v->last[0] && b > v->last[1]));
  v->last[0] = a, v->last[1] = b;
  ++v->n;
  return true;
}

static void test_visits(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < (uint64_t)test_samples(100); ++seed) {
    sample  s;
    bool   *is_listed;
    int64_t n = 0;
    create_sample(&s, seed);
    assert_ok(memory_alloc("listed", s.p->n_slots, sizeof *is_listed, &is_listed));
    for (int64_t k = 0; k < s.p->n_slots; ++k) is_listed[k] = draw(seed, 1000 + (uint64_t)k, 3) == 0;
    visit v = {&s, is_listed, 0, {-1, -1}};
    pair_classes_visit(s.p, is_listed, visit_pair, &v);
    for (int32_t a = 0; a < s.n; ++a) {
      bool any = false;
      for (int32_t b = 0; b < s.n; ++b) {
        const bool is_one = is_listed[pair_slot(s.p, s.n, a, b)];
        n += a <= b && is_one;
        any |= is_one;
      }
      assert_int_equal(pair_classes_has_partner(s.p, s.n, is_listed, a), any);
    }
    assert_int_equal(v.n, n);
    memory_free(&is_listed);
    pair_classes_destroy(&s.p);
  }
}

/* 100,000 bodies, for which products of 32-bit indices overflow: memory and time do not grow with the number of pairs. */
static void test_many(void **state)
{
  (void)state;
  const int32_t n = 100000, exception[2] = {99998, 70000};
  int32_t      *class_of;
  pair_classes *p;
  assert_ok(memory_alloc("classes", n, sizeof *class_of, &class_of));
  for (int32_t i = 1; i < n; ++i) class_of[i] = 1;
  assert_ok(pair_classes_create(n, 2, class_of, NULL, 1, exception, &p));
  assert_int_equal(p->n_slots, 10);
  assert_int_equal(p->count[pair_slot(p, n, 70000, 99999)], 99999ll * 99998 - 2);
  assert_int_equal(pair_slot(p, n, 70000, 99998), 9 - (exception[0] > exception[1]));
  assert_true(pair_slot(p, n, 99999, 99998) == pair_slot(p, n, 1, 2));
  assert_true(pair_slot(NULL, n, 99999, 99998) == 9999999998ll); /* a table of all pairs */
  memory_free(&class_of);
  pair_classes_destroy(&p);
}

TEST_MAIN(cmocka_unit_test(test_slots), cmocka_unit_test(test_visits), cmocka_unit_test(test_many))
