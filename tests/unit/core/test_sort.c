/* core/sort: sorted, stable, a permutation, and the same on any number of threads. */
#include "core/random.h"
#include "core/sort.h"
#include "core/team.h"
#include "test.h"
#include <string.h>
#include <stdlib.h>

/* A stable sort has one possible result; these three properties are its definition. */
static void check(int64_t n, int n_bits, const uint64_t *before, const uint64_t *key, const int32_t *perm)
{
  const uint64_t mask = n_bits == 64 ? UINT64_MAX : (1ull << n_bits) - 1;
  char          *seen;
  assert_ok(memory_alloc("seen", n, 1, &seen));
  for (int64_t i = 0; i < n; ++i) {
    assert_true(perm[i] >= 0 && perm[i] < n && !seen[perm[i]]);
    seen[perm[i]] = 1;
    assert_true(key[i] == before[perm[i]]);
    if (i == 0) continue;
    const uint64_t a = key[i - 1] & mask, b = key[i] & mask;
    assert_true(a < b || (a == b && perm[i - 1] < perm[i]));
  }
  memory_free(&seen);
}

static void test_sorted_and_stable(void **state)
{
  (void)state;
  static const int64_t size[] = {0, 1, 2, 3, 100, 16383, 16384, 20011};
  static const int     bits[] = {0, 1, 8, 13, 16, 33, 64};
  for (size_t s = 0; s < sizeof size / sizeof *size; ++s)
    for (size_t b = 0; b < sizeof bits / sizeof *bits; ++b)
      for (int shape = 0; shape < 3; ++shape) {
        const int64_t n = size[s];
        uint64_t     *before, *key, *first = NULL;
        int32_t      *perm, *first_perm = NULL;
        assert_ok(memory_alloc("before", n, sizeof *before, &before));
        assert_ok(memory_alloc("key", n, sizeof *key, &key));
        assert_ok(memory_alloc("perm", n, sizeof *perm, &perm));
        assert_ok(memory_alloc("first", n, sizeof *first, &first));
        assert_ok(memory_alloc("first perm", n, sizeof *first_perm, &first_perm));
        for (int64_t i = 0; i < n; ++i) {
          uint64_t r[2];
          random_bits(1, (uint64_t)i, (uint64_t)shape, r);
          /* any; few values with holes between the bits; nearly sorted already */
          before[i] = shape == 0 ? r[0] : shape == 1 ? r[0] & 0x8100000100012ull : (uint64_t)i + (r[0] & 3);
        }
        for (int threads = 1; threads <= 3; ++threads) {
          team_set_threads(threads);
          if (n > 0) {
            memcpy(key, before, sizeof *key * (size_t)n);
            memset(perm, 0x5a, sizeof *perm * (size_t)n); /* output only: what was there does not matter */
          }
          assert_ok(sort_keys(n, bits[b], key, perm));
          if (threads == 1) check(n, bits[b], before, key, perm);
          if (n == 0) continue;
          if (threads > 1) assert_memory_equal(first, key, sizeof *key * (size_t)n);
          if (threads > 1) assert_memory_equal(first_perm, perm, sizeof *perm * (size_t)n);
          memcpy(first, key, sizeof *key * (size_t)n);
          memcpy(first_perm, perm, sizeof *perm * (size_t)n);
        }
        memory_free(&before), memory_free(&key), memory_free(&perm), memory_free(&first), memory_free(&first_perm);
      }
  team_set_threads(0);
  assert_no_leak();
}

static void test_too_many_are_rejected(void **state)
{
  (void)state;
  assert_int_equal(sort_keys((int64_t)1 << 31, 8, NULL, NULL), PETSC_ERR_INT_OVERFLOW);
  error_clear();
  assert_no_leak();
}

/* core/select: what sorting finds at that place, and sides that keep to theirs. */

static int upwards(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { ANY, FEW, RISING, FALLING, EQUAL, N_SHAPES };

static double number(int shape, int64_t i, int64_t n)
{
  switch (shape) {
  case ANY: return random_normal(1, (uint64_t)i, 2);
  case FEW: return floor(random_normal(1, (uint64_t)i, 3));
  case RISING: return (double)i;
  case FALLING: return (double)(n - i);
  default: return 7.0;
  }
}

static void check_selection(int64_t n, int shape, int64_t k)
{
  double *x, *sorted;
  assert_ok(memory_alloc("x", n, sizeof *x, &x));
  assert_ok(memory_alloc("sorted", n, sizeof *sorted, &sorted));
  for (int64_t i = 0; i < n; ++i) x[i] = sorted[i] = number(shape, i, n);
  qsort(sorted, (size_t)n, sizeof *sorted, upwards);
  const double found = select_kth_smallest(n, x, k);
  assert_true(found == sorted[k] && x[k] == found);
  for (int64_t i = 0; i < n; ++i) assert_true(i < k ? x[i] <= found : x[i] >= found);
  qsort(x, (size_t)n, sizeof *x, upwards); /* the same numbers as before */
  assert_memory_equal(x, sorted, (size_t)n * sizeof *x);
  memory_free(&x), memory_free(&sorted);
}

static void test_as_sorted(void **state)
{
  (void)state;
  static const int64_t size[] = {1, 2, 3, 4, 5, 8, 100, 101, 4099};
  for (size_t s = 0; s < sizeof size / sizeof *size; ++s)
    for (int shape = 0; shape < N_SHAPES; ++shape) {
      const int64_t n = size[s], place[] = {0, n / 3, n / 2, n - 1};
      for (int p = 0; p < 4; ++p) check_selection(n, shape, place[p]);
    }
  for (int64_t k = 0; k < 9; ++k) check_selection(9, ANY, k);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_sorted_and_stable), cmocka_unit_test(test_too_many_are_rejected), cmocka_unit_test(test_as_sorted))
