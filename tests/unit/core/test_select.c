/* core/select: what sorting finds at that place, and sides that keep to theirs. */
#include "core/random.h"
#include "core/sort.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

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

static void check(int64_t n, int shape, int64_t k)
{
  double *x, *sorted;
  assert_ok(memory_alloc("x", n, sizeof *x, &x));
  assert_ok(memory_alloc("sorted", n, sizeof *sorted, &sorted));
  for (int64_t i = 0; i < n; ++i) x[i] = sorted[i] = number(shape, i, n);
  qsort(sorted, (size_t)n, sizeof *sorted, upwards);
  const double found = select_place(n, x, k);
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
      for (int p = 0; p < 4; ++p) check(n, shape, place[p]);
    }
  for (int64_t k = 0; k < 9; ++k) check(9, ANY, k);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_as_sorted))
