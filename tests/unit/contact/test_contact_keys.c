/* Search in sorted keys against a linear search; keys out of order are reported. A search that does not end fails at the limit of CPU time. */
#include "contact/detection/contact_keys.h"
#include "core/random.h"
#include "test.h"
#include <sys/resource.h>

enum { N = 40, MOST_SECONDS = 10 };

static void test_search(void **state)
{
  (void)state;
  uint64_t keys[2 * N];
  assert_int_equal(setrlimit(RLIMIT_CPU, &(struct rlimit){MOST_SECONDS, MOST_SECONDS}), 0);
  for (uint64_t i = 0; i < N; ++i) keys[2 * i] = i / 7, keys[2 * i + 1] = 3 * i;
  assert_ok(contact_keys_check("contact/test", N, keys));
  for (int n = 0; n <= N; n += N / 2)
    for (uint64_t a = 0; a < 8; ++a)
      for (uint64_t b = 0; b < 3 * N + 2; ++b) {
        const uint64_t key[2] = {a, b};
        int64_t        first = 0, found = -1;
        while (first < n && (keys[2 * first] < a || (keys[2 * first] == a && keys[2 * first + 1] < b))) ++first;
        if (first < n && keys[2 * first] == a && keys[2 * first + 1] == b) found = first;
        assert_int_equal(contact_keys_lower_bound(n, keys, key), first);
        assert_int_equal(contact_keys_find(n, keys, key), found);
      }
}

static void test_order(void **state)
{
  (void)state;
  const uint64_t swapped[] = {1, 5, 2, 1, 2, 0}, repeated[] = {1, 5, 1, 5};
  assert_int_equal(contact_keys_check("contact/test", 3, swapped), PETSC_ERR_FILE_UNEXPECTED);
  assert_non_null(strstr(error_message(), "contact/test: row 2 is not in ascending order"));
  error_clear();
  assert_int_equal(contact_keys_check("contact/test", 2, repeated), PETSC_ERR_FILE_UNEXPECTED);
  error_clear();
  assert_ok(contact_keys_check("contact/test", 2, swapped));
}

TEST_MAIN(cmocka_unit_test(test_search), cmocka_unit_test(test_order))
