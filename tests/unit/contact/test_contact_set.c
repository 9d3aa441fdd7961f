/* Sets of contacts: order, keys, growth. */
#include "test.h"
#include "contact/detection/contact_set.h"

static void add(contact_set *s, uint64_t a, uint64_t b)
{
  contact_spot *spot;
  assert_ok(contact_set_append(s, 1, &spot));
  assert_true(spot->key[0] == 0 && spot->gap == 0.0 && spot->was[0] == 0);
  spot->key[0] = a, spot->key[1] = b;
}

static void test_order(void **state)
{
  (void)state;
  contact_set  *s;
  contact_spot *first;
  assert_ok(contact_set_create(&s));
  for (uint64_t i = 0; i < 300; ++i) add(s, i * 7919 % 13, i * 104729 % 1009);
  assert_ok(contact_set_sort(s));
  assert_int_equal(contact_set_size(s), 300);
  const contact_spot *spot = contact_set_get(s);
  for (int i = 1; i < 300; ++i)
    assert_true(spot[i - 1].key[0] < spot[i].key[0] || (spot[i - 1].key[0] == spot[i].key[0] && spot[i - 1].key[1] < spot[i].key[1]));
  for (int i = 0; i < 300; ++i) assert_true(contact_set_has(s, spot[i].key));
  assert_false(contact_set_has(s, (const uint64_t[2]){13, 0}));
  assert_false(contact_set_has(s, (const uint64_t[2]){0, 1009}));
  contact_set_truncate(s, 10);
  assert_int_equal(contact_set_size(s), 10);
  assert_ok(contact_set_append(s, 0, &first));
  assert_int_equal(contact_set_size(s), 10);
  contact_set_clear(s);
  assert_int_equal(contact_set_size(s), 0);
  assert_false(contact_set_has(s, (const uint64_t[2]){0, 0}));
  contact_set_destroy(&s);
  assert_no_leak();
}

static void test_twice(void **state)
{
  (void)state;
  contact_set *s;
  assert_ok(contact_set_create(&s));
  add(s, 3, 4), add(s, 1, 4), add(s, 3, 4);
  assert_int_equal(contact_set_sort(s), PETSC_ERR_PLIB);
  error_clear();
  contact_set_destroy(&s);
  assert_no_leak();
}

static void test_keys(void **state)
{
  (void)state;
  assert_true(contact_key(DETECTOR_CONVEX, 3, 5) != contact_key(DETECTOR_POINT, 3, 5));
  assert_true(contact_key(DETECTOR_CONVEX, 3, 5) != contact_key(DETECTOR_CONVEX, 5, 3));
  assert_true(contact_key(DETECTOR_SURFACE_EDGE, CONTACT_MAX_BODIES - 1, CONTACT_MAX_BODIES - 1) <
              contact_key((contact_detector)(DETECTOR_SURFACE_EDGE + 1), 0, 0));
}

TEST_MAIN(cmocka_unit_test(test_order), cmocka_unit_test(test_twice), cmocka_unit_test(test_keys))
