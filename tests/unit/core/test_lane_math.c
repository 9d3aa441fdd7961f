/* core/lane_math against the C library, over the whole range and where cancellation threatens. */
#include "core/lane_math.h"
#include "test.h"

static void logarithm(void **state)
{
  (void)state;
  for (int i = 0; i <= 20000; ++i) {
    const double far = exp(700.0 * (i - 10000) / 10000.0), near = 1.0 + 1e-3 * (i - 10000) / 10000.0;
    if (far != 1.0) assert_close(lane_log(far) / log(far), 1.0, 2.0 * DBL_EPSILON);
    if (near != 1.0) assert_close(lane_log(near) / log(near), 1.0, 2.0 * DBL_EPSILON);
  }
  assert_true(lane_log(1.0) == 0.0);
  for (int k = 1; k <= 52; ++k) {
    const double x = 1.0 - ldexp(1.0, -k), y = 1.0 + ldexp(1.0, -k);
    assert_close(lane_log(x) / log1p(-ldexp(1.0, -k)), 1.0, 2.0 * DBL_EPSILON);
    assert_close(lane_log(y) / log1p(ldexp(1.0, -k)), 1.0, 2.0 * DBL_EPSILON);
  }
  const double refused[] = {0.0, -1.0, NAN, INFINITY, -INFINITY, DBL_MIN / 4};
  for (int i = 0; i < 6; ++i) assert_true(isnan(lane_log(refused[i])));
}

static void exponential(void **state)
{
  (void)state;
  for (int i = -20000; i <= 20000; ++i) {
    const double x = 0.0349 * i, y = 1e-6 * i;
    assert_close(lane_exp(x) / exp(x), 1.0, 2.0 * DBL_EPSILON);
    assert_close(lane_exp(y) / exp(y), 1.0, 2.0 * DBL_EPSILON);
  }
  assert_true(lane_exp(0.0) == 1.0);
  assert_true(lane_exp(1e5) == lane_exp(700.0) && lane_exp(-1e5) == lane_exp(-700.0));
  assert_true(isnan(lane_exp(NAN)));
}

static void sine(void **state)
{
  (void)state;
  for (int i = 1; i <= 2000; ++i) {
    const double x = 0.5 * M_PI * i / 2000.0;
    assert_close(lane_sin_quarter(x) / sin(x), 1.0, 4.0 * DBL_EPSILON);
  }
  assert_true(lane_sin_quarter(0.0) == 0.0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(logarithm), cmocka_unit_test(exponential), cmocka_unit_test(sine))
