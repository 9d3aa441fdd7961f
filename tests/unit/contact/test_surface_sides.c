/* Memory of sides: keys in any order, keys with different sides, and checks of restored rows. */
#include "contact/surface/surface_sides.h"
#include "test.h"

static void test_set_and_find(void **state)
{
  (void)state;
  surface_sides  s       = {0};
  const uint64_t key[]   = {7, 3, 2, 9, 7, 1, 5, 5, 2, 9, 5, 5}; /* (2, 9) twice with equal sides, (5, 5) with different ones */
  const int32_t  side[]  = {-1, 1, 1, 1, 1, -1};
  const uint64_t none[2] = {7, 2}, both[2] = {5, 5}, one[2] = {4, 4};
  const int32_t  back = -1;
  assert_int_equal(surface_sides_find(&s, key), 0);
  assert_ok(surface_sides_set(&s, 6, key, side));
  assert_int_equal(s.n, 3);
  assert_int_equal(surface_sides_find(&s, key), -1);
  assert_int_equal(surface_sides_find(&s, key + 2), 1);
  assert_int_equal(surface_sides_find(&s, key + 4), 1);
  assert_int_equal(surface_sides_find(&s, none), 0);
  assert_int_equal(surface_sides_find(&s, both), 0);
  assert_ok(surface_sides_set(&s, 1, one, &back)); /* replaces all */
  assert_int_equal(surface_sides_find(&s, one), -1);
  assert_int_equal(surface_sides_find(&s, key), 0);
  surface_sides_free(&s);
  assert_int_equal(surface_sides_find(&s, one), 0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_set_and_find))
