/* Classes of bodies: the same class if and only if all properties agree; pairs of single names are exceptions. */
#include "core/random.h"
#include "sim/scene/contact_classes.h"
#include "sim/scene/scene_options.h"
#include "test.h"
#include <stdio.h>

enum { N = 60, MOST_PAIRS = 6 };
static const char *const matter[] = {"stone", "sand", "b3"};

typedef struct {
  char                 name[N][8], robot[4][8];
  contact_traits       body[N];
  contact_pair_options option[MOST_PAIRS];
  key_item             names[MOST_PAIRS][2], item[MOST_PAIRS];
  key_list             pairs;
} sample;

static int draw(uint64_t seed, uint64_t i, int n) { return (int)(random_u01(seed, i, 0) * n) % n; }

static void create_sample(sample *s, uint64_t seed)
{
  memset(s, 0, sizeof *s);
  for (int i = 0; i < N; ++i) {
    const uint64_t id = 10 * (uint64_t)i;
    snprintf(s->name[i], sizeof s->name[i], "b%d", i);
    s->body[i] = (contact_traits){.kind   = &matter[draw(seed, id, 2)],
                                  .traits = 1u + (unsigned)draw(seed, id + 1, 2),
                                  .sides  = (unsigned)draw(seed, id + 2, 2),
                                  .name   = {s->name[i], NULL, draw(seed, id + 3, 4) ? matter[draw(seed, id + 4, 3)] : NULL},
                                  .group  = draw(seed, id + 5, 4) - 1};
    if (s->body[i].group >= 0) s->body[i].name[1] = s->robot[s->body[i].group];
  }
  for (int k = 0; k < 4; ++k) snprintf(s->robot[k], sizeof s->robot[k], "r%d", k);
  s->pairs = (key_list){.n = draw(seed, 5000, MOST_PAIRS + 1), .item = s->item};
  for (int k = 0; k < s->pairs.n; ++k) {
    for (int i = 0; i < 2; ++i) {
      const uint64_t id    = 6000 + 10 * (uint64_t)(2 * k + i);
      const int      of    = draw(seed, id, 4);
      s->names[k][i].value = of == 0   ? (void *)matter[draw(seed, id + 1, 3)]
                             : of == 1 ? s->robot[draw(seed, id + 2, 4)]
                                       : s->name[draw(seed, id + 3, N)];
    }
    s->option[k].between = (key_list){.n = 2, .item = s->names[k]};
    s->item[k].value     = &s->option[k];
  }
}

static bool has_name(const contact_traits *b, const char *name)
{
  for (int k = 0; k < CONTACT_NAMES; ++k)
    if (b->name[k] && strcmp(b->name[k], name) == 0) return true;
  return false;
}

/* Whether entry k names bodies i and j. */
static bool names_pair(const sample *s, int k, int i, int j)
{
  const char *one = s->names[k][0].value, *two = s->names[k][1].value;
  return (has_name(&s->body[i], one) && has_name(&s->body[j], two)) || (has_name(&s->body[i], two) && has_name(&s->body[j], one));
}

/* All pairs of one slot agree in everything on which a contact law depends. */
static void test_pairs_of_a_slot_agree(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < (uint64_t)test_samples(100); ++seed) {
    static sample s;
    pair_classes *p;
    create_sample(&s, seed);
    assert_ok(contact_classes_create(N, s.body, &s.pairs, &p));
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j) {
        int32_t of[2];
        assert_true(pair_example(p, N, pair_slot(p, N, i, j), of));
        const int pair[2] = {i, j};
        for (int side = 0; side < 2; ++side) {
          const contact_traits *a = &s.body[pair[side]], *b = &s.body[of[side]];
          assert_true(a->kind == b->kind && a->traits == b->traits && a->sides == b->sides);
        }
        assert_int_equal(i == j, of[0] == of[1]);
        if (i != j)
          assert_int_equal(s.body[i].group >= 0 && s.body[i].group == s.body[j].group,
                           s.body[of[0]].group >= 0 && s.body[of[0]].group == s.body[of[1]].group);
        for (int k = 0; k < s.pairs.n; ++k) assert_int_equal(names_pair(&s, k, i, j), names_pair(&s, k, of[0], of[1]));
      }
    pair_classes_destroy(&p);
  }
  assert_no_leak();
}

/* Without names, equal bodies need 2 slots: different bodies, and a body with itself. */
static void test_equal_bodies(void **state)
{
  static sample s;
  pair_classes *p;
  (void)state;
  create_sample(&s, 1);
  s.pairs.n = 0;
  for (int i = 0; i < N; ++i) s.body[i] = (contact_traits){.traits = 1, .name = {s.name[i]}, .group = -1};
  assert_ok(contact_classes_create(N, s.body, &s.pairs, &p));
  assert_int_equal(p->n_slots, 2);
  pair_classes_destroy(&p);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_pairs_of_a_slot_agree), cmocka_unit_test(test_equal_bodies))
