/* Merging of points against comparison of all pairs, and the order of the numbers. */
#include "geometry/primitive/vertex_merge.h"
#include "core/random.h"
#include "test.h"

static void numbers_follow_the_order(void **state)
{
  (void)state;
  const double  x[6][3]     = {{1, 0, 0}, {0, 0, 0}, {1, 0, 1e-7}, {0, 0, -1e-7}, {0, 1e-3, 0}, {1, 0, 0}};
  const int32_t expected[6] = {0, 1, 0, 1, 2, 0};
  int32_t       kept[6];
  int64_t       n;
  assert_ok(vertex_merge(6, &x[0][0], 1e-6, kept, &n));
  assert_int_equal(n, 3);
  assert_memory_equal(kept, expected, sizeof kept);
  assert_ok(vertex_merge(6, &x[0][0], 1e-9, kept, &n));
  assert_int_equal(n, 5);
  assert_ok(vertex_merge(0, &x[0][0], 1e-6, kept, &n));
  assert_int_equal(n, 0);
}

/* Points at random on both sides of cells of the tolerance: the first kept point in the box, by definition. */
static void same_as_all_pairs(void **state)
{
  enum { N = 600 };
  static double  x[N][3];
  static int32_t kept[N], slow[N], point[N];
  const double   tolerance = 0.05;
  int64_t        n, n_slow = 0;
  (void)state;
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < 3; ++k) x[i][k] = random_range(7, (uint64_t)i, (uint64_t)k, -0.4, 0.4);
  for (int i = 0; i < N; ++i) {
    slow[i] = -1;
    for (int64_t j = 0; j < n_slow && slow[i] < 0; ++j) {
      const double *y = x[point[j]];
      if (fabs(x[i][0] - y[0]) <= tolerance && fabs(x[i][1] - y[1]) <= tolerance && fabs(x[i][2] - y[2]) <= tolerance) slow[i] = (int32_t)j;
    }
    if (slow[i] < 0) point[n_slow] = i, slow[i] = (int32_t)n_slow++;
  }
  assert_ok(vertex_merge(N, &x[0][0], tolerance, kept, &n));
  assert_int_equal(n, n_slow);
  assert_true(n > N / 4 && n < N - N / 20);
  assert_memory_equal(kept, slow, sizeof kept);
}

TEST_MAIN(cmocka_unit_test(numbers_follow_the_order), cmocka_unit_test(same_as_all_pairs))
