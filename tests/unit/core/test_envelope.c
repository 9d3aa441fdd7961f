/* core/envelope: for tables of any length the extremes of every column are kept at their places, within the promised size. */
#include "core/envelope.h"
#include "core/random.h"
#include "test.h"
#include <string.h>

static void points_of(const envelope *e, int column, int64_t *n, double **x, double **y)
{
  assert_ok(memory_alloc("x", envelope_room(e), sizeof **x, x));
  assert_ok(memory_alloc("y", envelope_room(e), sizeof **y, y));
  envelope_curve(e, column, n, *x, *y);
  assert_true(*n <= envelope_room(e));
}

static void short_tables_stay_as_they_are(void **state)
{
  (void)state;
  envelope    *e;
  const double y0[5] = {3, 1, 4, 1, 5};
  double      *x, *y;
  int64_t      n;
  assert_ok(envelope_create(1, 8, &e));
  for (int i = 0; i < 5; ++i) envelope_add(e, 0.5 * i, &y0[i]);
  points_of(e, 0, &n, &x, &y);
  assert_int_equal(n, 5);
  for (int i = 0; i < 5; ++i) assert_true(x[i] == 0.5 * i && y[i] == y0[i]);
  memory_free(&x), memory_free(&y);
  envelope_destroy(&e);
  assert_no_leak();
}

/* One spike up and one down somewhere in many rows of a slow wave: both are on the curve, at their places, for any length. */
static void spikes_are_kept(void **state)
{
  (void)state;
  for (int64_t rows = 3; rows < 40000; rows = rows * 2 + 1)
    for (int trial = 0; trial < 5; ++trial) {
      const int64_t up = (rows * (2 * trial + 1) / 10) % rows, down = (up + 1 + rows / 3) % rows;
      envelope     *e;
      double       *x, *y, seen_up = NAN, seen_down = NAN;
      int64_t       n;
      assert_ok(envelope_create(2, 64, &e));
      for (int64_t i = 0; i < rows; ++i) {
        const double wave = sin(1e-3 * (double)i), row[2] = {wave, i == up ? 7.0 : i == down ? -9.0 : wave};
        envelope_add(e, (double)i, row);
      }
      assert_int_equal(envelope_rows(e), rows);
      points_of(e, 1, &n, &x, &y);
      assert_true(n <= 130);
      assert_true(rows < 200 || n >= 32);
      for (int64_t i = 0; i < n; ++i) {
        if (y[i] == 7.0) seen_up = x[i];
        if (y[i] == -9.0) seen_down = x[i];
        assert_true(i == 0 || x[i] > x[i - 1]);
      }
      assert_true(seen_up == (double)up && seen_down == (double)down);
      assert_true(x[0] == 0.0 && x[n - 1] == (double)(rows - 1)); /* from end to end */
      const envelope_range r = envelope_range_of(e, 1);
      assert_true(r.max == 7.0 && r.min == -9.0);
      assert_true(r.last == y[n - 1]);
      memory_free(&x), memory_free(&y);
      envelope_destroy(&e);
    }
  assert_no_leak();
}

/* Every bin has the extremes of its own rows: compared with a plain search, for random numbers. */
static void bins_have_the_extremes_of_their_rows(void **state)
{
  (void)state;
  enum { ROWS = 1000, BINS = 16 };
  static double v[ROWS];
  envelope     *e;
  double       *x, *y;
  int64_t       n;
  assert_ok(envelope_create(1, BINS, &e));
  for (int i = 0; i < ROWS; ++i) {
    v[i] = random_u01(3, (uint64_t)i, 0);
    envelope_add(e, i, &v[i]);
  }
  points_of(e, 0, &n, &x, &y);
  for (int first = 0; first < ROWS; first += 64) { /* 1000 rows in at most 16 bins: 64 a bin */
    double lo = 2, hi = -1, lo_seen = 2, hi_seen = -1;
    for (int i = first; i < first + 64 && i < ROWS; ++i) lo = fmin(lo, v[i]), hi = fmax(hi, v[i]);
    for (int64_t i = 0; i < n; ++i)
      if (x[i] >= first && x[i] < first + 64) lo_seen = fmin(lo_seen, y[i]), hi_seen = fmax(hi_seen, y[i]);
    assert_true(lo == lo_seen && hi == hi_seen);
  }
  memory_free(&x), memory_free(&y);
  envelope_destroy(&e);
  assert_no_leak();
}

static void non_finite_values_are_gaps(void **state)
{
  (void)state;
  const double v[6] = {1, 2, NAN, INFINITY, 5, 6};
  envelope    *e;
  double      *x, *y;
  int64_t      n;
  assert_ok(envelope_create(1, 6, &e));
  for (int i = 0; i < 6; ++i) envelope_add(e, i, &v[i]);
  points_of(e, 0, &n, &x, &y);
  assert_int_equal(n, 6);
  assert_true(isnan(y[2]) && isnan(y[3]) && y[1] == 2 && y[4] == 5);
  assert_true(envelope_range_of(e, 0).max == 6.0 && envelope_range_of(e, 0).sum == 14.0);
  memory_free(&x), memory_free(&y);
  envelope_destroy(&e);
  assert_ok(envelope_create(1, 6, &e));
  points_of(e, 0, &n, &x, &y);
  assert_int_equal(n, 0);
  assert_true(isnan(envelope_range_of(e, 0).min));
  memory_free(&x), memory_free(&y);
  envelope_destroy(&e);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(short_tables_stay_as_they_are), cmocka_unit_test(spikes_are_kept),
          cmocka_unit_test(bins_have_the_extremes_of_their_rows), cmocka_unit_test(non_finite_values_are_gaps))
