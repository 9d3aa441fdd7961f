/* Counts of relaxations and of the chains they walk. Sums of contact forces between bodies. */
#include "test.h"
#include "contact/penalty/penalty_mesh_relaxation.h"
#include <string.h>

static mesh_relaxation walked(int n, const uint8_t *place)
{
  mesh_relaxation r;
  r.n_places = n;
  memcpy(r.place, place, (size_t)n);
  return r;
}

static void chains_are_written_and_read(void **state)
{
  (void)state;
  char                  text[32];
  const uint8_t         places[] = {ON_TRIANGLE, ENTERED, ALONG_EDGE, AT_VERTEX, ENTERED};
  const mesh_relaxation r = walked(5, places), one = walked(1, places);
  assert_true(relax_chain_of(&r) == 0x12342);
  relax_chain_text(relax_chain_of(&r), text);
  assert_string_equal(text, "1-2-3-4-2");
  relax_chain_text(relax_chain_of(&one), text);
  assert_string_equal(text, "1");
  uint8_t long_one[RELAX_MESH_MAX_MOVES + 1];
  memset(long_one, ENTERED, sizeof long_one);
  long_one[0]             = ON_TRIANGLE;
  const mesh_relaxation q = walked(RELAX_MESH_MAX_MOVES + 1, long_one);
  relax_chain_text(relax_chain_of(&q), text);
  assert_string_equal(text, "2-2-2-2-2-2-2-2-2-2-2-2-2-2-2-2");
  assert_no_leak();
}

static void counts_add_up(void **state)
{
  (void)state;
  relax_statistics a = {0}, b = {0};
  relax_statistics_add(&a, 0x1, 1, false);
  relax_statistics_add(&a, 0x12, 2, false);
  relax_statistics_add(&b, 0x122, 3, false);
  relax_statistics_add(&b, 0x12, 2, true);
  relax_statistics_add(&b, 0x1, 1, false);
  relax_statistics_merge(&a, &b);
  assert_int_equal(a.n, 5);
  assert_int_equal(a.n_at_start, 2);
  assert_int_equal(a.n_capped, 1);
  assert_int_equal(a.longest, 3);
  assert_int_equal(a.n_chains, 3);
  const relax_chain chain[] = {0x1, 0x12, 0x122};
  const int64_t     n[]     = {2, 2, 1};
  for (int i = 0; i < 3; ++i) {
    assert_true(a.kind[i].chain == chain[i]);
    assert_int_equal(a.kind[i].n, n[i]);
  }
  assert_no_leak();
}

/* Kinds beyond the list are counted together. */
static void many_kinds(void **state)
{
  (void)state;
  relax_statistics a = {0}, b = {0};
  for (relax_chain k = 1; k <= RELAX_STATISTICS_CHAINS; ++k) relax_statistics_add(&a, k, 2, false);
  for (relax_chain k = 1; k <= RELAX_STATISTICS_CHAINS + 3; ++k) relax_statistics_add(&b, k, 2, false);
  assert_int_equal(b.n_other, 3);
  b.kind[0].chain = 0x999;
  relax_statistics_merge(&a, &b);
  assert_int_equal(a.n_chains, RELAX_STATISTICS_CHAINS);
  assert_int_equal(a.n_other, 4);
  int64_t listed = a.n_other;
  for (int i = 0; i < a.n_chains; ++i) listed += a.kind[i].n;
  assert_int_equal(listed, a.n);
  assert_no_leak();
}

/* The force and moment about the origin on a body, from one body or from all. */
static void forces_are_summed_by_pair(void **state)
{
  (void)state;
  contact_group_force group[3] = {
      {.source_body = 0, .object_body = 1}, {.source_body = 2, .object_body = 0}, {.source_body = 1, .object_body = 2}};
  const contact_forces forces = {.n = 3, .group = group};
  double               force[3], moment[3];
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 2; ++k) contact_group_add(&group[i], (double[3]){1.0 + k, 0.0, 2.0}, (double[3]){0.0, pow(10.0, i), 0.0});
  static const struct {
    int    on, from;
    double sum;
  } expected[] = {{0, -1, 1.0 - 10.0}, {1, -1, -1.0 + 100.0}, {2, -1, 10.0 - 100.0}, {0, 1, 1.0},  {1, 0, -1.0}, {0, 2, -10.0},
                  {2, 0, 10.0},        {1, 2, 100.0},         {2, 1, -100.0},        {3, -1, 0.0}, {0, 3, 0.0}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
    contact_forces_between(&forces, expected[i].on, expected[i].from, force, moment);
    assert_close(force[1], 2.0 * expected[i].sum, 1e-13);
    assert_close(moment[0], -4.0 * expected[i].sum, 1e-12);
    assert_close(moment[2], 3.0 * expected[i].sum, 1e-12);
    assert_close(force[0] + force[2] + moment[1], 0.0, 0.0);
  }
  assert_no_leak();
}

static void means_are_weighted_sums(void **state)
{
  (void)state;
  contact_group_force  a[2] = {{0, 1, {4, 0, 8}, {0, 2, 0}}, {2, 1, {0, 8, 0}, {4, 0, 0}}}, b[1] = {{1, 0, {8, 0, -4}, {0, 0, 4}}};
  const contact_forces one = {.n = 2, .group = a}, other = {.n = 1, .group = b};
  contact_forces       mean = {0};
  double               force[3], moment[3];
  assert_ok(contact_forces_append(&mean, &one, 0.25));
  assert_ok(contact_forces_append(&mean, &other, 0.75));
  contact_forces_between(&mean, 0, 1, force, moment); /* 0.25 a[0] - 0.75 b */
  assert_true(force[0] == -5.0 && force[1] == 0.0 && force[2] == 5.0 && moment[1] == 0.5 && moment[2] == -3.0);
  contact_forces_between(&mean, 2, -1, force, moment);
  assert_true(force[1] == 2.0 && moment[0] == 1.0);
  assert_true(a[0].force[0] == 4.0);
  contact_forces_destroy(&mean);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(forces_are_summed_by_pair), cmocka_unit_test(means_are_weighted_sums),
          cmocka_unit_test(chains_are_written_and_read), cmocka_unit_test(counts_add_up), cmocka_unit_test(many_kinds))
