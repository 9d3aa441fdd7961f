/* Filling shapes with points: inside, exact volume, requested count, distances, uniform density, the same points every time. */
#include "core/math3.h"
#include "core/team.h"
#include "discretize/particles/sampling.h"
#include "test.h"

static const double zero[3] = {0}, one[3] = {1, 1, 1};

static void release(double *x[3])
{
  for (int k = 0; k < 3; ++k) memory_free(&x[k]);
}

static void test_lattice(void **state)
{
  (void)state;
  level_set       *box = NULL, *ball = NULL;
  double          *x[3], each;
  int64_t          n;
  sampling_options o = {SAMPLING_LATTICE, 0.1, 8, 0.0, 1, {0, 0, 0}};
  assert_ok(level_set_box(zero, one, &box));
  assert_ok(sampling_fill(box, zero, one, 1.0, &o, &n, x, &each));
  assert_int_equal(n, 8000); /* a box is filled exactly */
  assert_close((double)n * each, 1.0, 1e-15);
  double mean[3] = {0};
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      assert_close(remainder(x[k][i] - 0.025, 0.05), 0.0, 1e-15);
      mean[k] += x[k][i] / (double)n;
    }
  for (int k = 0; k < 3; ++k) assert_close(mean[k], 0.5, 1e-13);
  release(x);
  o.jitter = 1.0; /* every point stays in its own cell of the lattice, and moves */
  assert_ok(sampling_fill(box, zero, one, 1.0, &o, &n, x, &each));
  assert_int_equal(n, 8000);
  double moved = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at[3] = {i / 400, i / 20 % 20, i % 20};
    for (int k = 0; k < 3; ++k) {
      assert_true(fabs(x[k][i] - 0.05 * ((double)at[k] + 0.5)) <= 0.025);
      moved += fabs(x[k][i] - 0.05 * ((double)at[k] + 0.5));
    }
  }
  assert_close(moved / (3 * 8000), 0.0125, 2e-4); /* mean of |uniform| */
  release(x);
  /* a ball: the lattice's count errs like its surface */
  const double c[3] = {0.5, 0.5, 0.5}, volume = M_PI / 6.0;
  o.jitter = 0.0;
  assert_ok(level_set_sphere(c, 0.5, &ball));
  assert_ok(sampling_fill(ball, zero, one, volume, &o, &n, x, &each));
  assert_close((double)n, 8000 * volume, 60.0);
  assert_close((double)n * each, volume, 1e-15);
  release(x);
  level_set_destroy(&box);
  level_set_destroy(&ball);
  assert_no_leak();
}

/* Eight in each cell whose centre is inside, each in its own eighth; the cells do not move with the bounds. */
static void test_cells(void **state)
{
  (void)state;
  const double     c[3] = {0.05, 0, 0}, min[3] = {-0.35, -0.4, -0.4}, max[3] = {0.45, 0.4, 0.4};
  double          *x[3], each;
  int64_t          n, wanted = 0;
  level_set       *ball = NULL;
  sampling_options o    = {SAMPLING_CELLS, 0.1, 8, 1.0, 1, {0.02, 0, 0}};
  assert_ok(level_set_sphere(c, 0.4, &ball));
  for (int i = 0; i < 1000; ++i) {
    const double r[3] = {0.1 * (i / 100 - 5) + 0.07 - c[0], 0.1 * (i / 10 % 10 - 5) + 0.05, 0.1 * (i % 10 - 5) + 0.05};
    wanted += v3_norm(r) < 0.4;
  }
  assert_ok(sampling_fill(ball, min, max, 0.268, &o, &n, x, &each));
  assert_int_equal(n, 8 * wanted);
  assert_close(each, 1e-3 / 8, 1e-18);
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      const double at = (x[k][i] - o.origin[k]) / 0.05, first = (x[k][i / 8 * 8] - o.origin[k]) / 0.05;
      const int    sub[3] = {i % 8 / 4, i % 4 / 2, i % 2};
      assert_int_equal((int)floor(at), (int)floor(first) + sub[k]);
    }
  release(x);
  const double small[3] = {0.02, 0, 0}; /* no centre of a cell is inside: that is no error here */
  level_set_destroy(&ball);
  assert_ok(level_set_sphere(small, 0.04, &ball));
  assert_ok(sampling_fill(ball, min, max, 2.7e-4, &o, &n, x, &each));
  assert_int_equal(n, 0);
  level_set_destroy(&ball);
  assert_int_equal(sampling_cube(27), 3);
  assert_int_equal(sampling_cube(9), 0);
  assert_no_leak();
}

/* Mean of (d - mean d) e over the pairs of an earlier and a later point with a distance d up to 1.05 of the least one, e the direction between
 * them, in units of its standard deviation: it is about 0 if distance and direction of new points are independent. */
static void correlate_shells(int64_t n, double *const x[3], double least, double sum[3])
{
  int64_t found = 0;
  v3_set(sum, 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) {
      const double d[3] = {x[0][j] - x[0][i], x[1][j] - x[1][i], x[2][j] - x[2][i]}, length = v3_norm(d);
      if (length > 1.05 * least) continue;
      v3_axpy(sum, (length / least - 1.025) / length, d);
      ++found;
    }
  v3_scale(sum, 1.0 / sqrt(0.05 * 0.05 / 12.0 / 3.0 * (double)found), sum); /* distances of equal probability, three axes */
}

static void test_blue_noise(void **state)
{
  (void)state;
  const double     c[3] = {0.5, 0.5, 0.5}, h = 0.08, volume = M_PI / 6.0, wanted = 8 * volume / (h * h * h);
  level_set       *ball = NULL;
  double          *x[3], *again[3], each;
  int64_t          n, n_again, n_core = 0;
  sampling_options o = {SAMPLING_BLUE_NOISE, h, 8, 0.0, 3, {0, 0, 0}};
  assert_ok(level_set_sphere(c, 0.5, &ball));
  assert_ok(sampling_fill(ball, zero, one, volume, &o, &n, x, &each));
  assert_close((double)n, wanted, 0.02 * wanted);
  assert_close((double)n * each, volume, 1e-15);
  for (int k = 0; k < 3; ++k) { /* up to the surface on both sides */
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < n; ++i) least = fmin(least, x[k][i]), most = fmax(most, x[k][i]);
    assert_true(least < 0.25 * h && most > 1.0 - 0.25 * h);
  }
  double       nearest = INFINITY, mean[3] = {0}, mean_nearest = 0.0;
  const double unit = cbrt(each);
  for (int64_t i = 0; i < n; ++i) {
    const double p[3] = {x[0][i], x[1][i], x[2][i]};
    double       own  = INFINITY, d[3];
    assert_true(level_set_value(ball, p) < 0.0);
    for (int64_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const double q[3] = {x[0][j], x[1][j], x[2][j]};
      v3_sub(d, p, q);
      own = fmin(own, v3_dot(d, d));
    }
    nearest = fmin(nearest, sqrt(own));
    mean_nearest += sqrt(own) / (double)n;
    for (int k = 0; k < 3; ++k) mean[k] += p[k] / (double)n;
    v3_sub(d, p, c);
    n_core += v3_norm(d) < 0.5 * cbrt(0.5);
  }
  assert_true(nearest > 0.885 * unit); /* a random pattern has 0.55 on average and no least distance */
  assert_true(mean_nearest < 1.0 * unit);
  assert_close((double)n_core / (double)n, 0.5, 0.015); /* half the volume contains half the points: no higher density at the
                                                         * surface */
  for (int k = 0; k < 3; ++k) assert_close(mean[k], 0.5, 4e-3);
  correlate_shells(n, x, nearest, mean);
  for (int k = 0; k < 3; ++k) assert_close(mean[k], 0.0, 4.0);
  team_set_threads(2);
  assert_ok(sampling_fill(ball, zero, one, volume, &o, &n_again, again, &each));
  assert_int_equal(n, n_again);
  for (int k = 0; k < 3; ++k) assert_memory_equal(x[k], again[k], (size_t)n * sizeof(double));
  release(again);
  o.seed = 4;
  assert_ok(sampling_fill(ball, zero, one, volume, &o, &n_again, again, &each));
  assert_true(again[0][0] != x[0][0]);
  release(again);
  release(x);
  level_set_destroy(&ball);
  assert_no_leak();
}

/* Two separate regions are both filled, and the requested count is reached over a range of densities. */
static void test_parts_and_counts(void **state)
{
  (void)state;
  const double a[3] = {0.2, 0.2, 0.2}, b[3] = {0.8, 0.8, 0.8};
  level_set   *part[2] = {NULL}, *both = NULL;
  assert_ok(level_set_sphere(a, 0.2, &part[0]));
  assert_ok(level_set_sphere(b, 0.2, &part[1]));
  assert_ok(level_set_union(2, part, &both));
  const double volume = 2.0 * 4.0 / 3.0 * M_PI * 0.008;
  for (int i = 0; i < 3; ++i) {
    sampling_options o = {SAMPLING_BLUE_NOISE, 0.05, i == 0 ? 4.0 : i == 1 ? 8.0 : 20.0, 0.0, 11, {0, 0, 0}};
    double          *x[3], each, wanted = o.particles_per_cell * volume / 1.25e-4;
    int64_t          n, n_first = 0;
    assert_ok(sampling_fill(both, zero, one, volume, &o, &n, x, &each));
    assert_close((double)n, wanted, 0.03 * wanted);
    for (int64_t k = 0; k < n; ++k) n_first += x[0][k] < 0.5;
    assert_close((double)n_first, 0.5 * (double)n, 0.03 * (double)n);
    release(x);
  }
  level_set_destroy(&both);
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  const double     infinite[3] = {INFINITY, 1, 1}, tiny[3] = {1e-9, 1e-9, 1e-9};
  level_set       *box = NULL, *hollow = NULL, *ball = NULL;
  double          *x[3], each;
  int64_t          n;
  sampling_options o = {SAMPLING_BLUE_NOISE, 1e-6, 8, 0.0, 1, {0, 0, 0}};
  assert_ok(level_set_box(zero, one, &box));
  assert_int_equal(sampling_fill(box, zero, one, 1.0, &o, &n, x, &each), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "choose a larger spacing"));
  error_clear();
  o.kind = SAMPLING_LATTICE;
  assert_int_equal(sampling_fill(box, zero, one, 1.0, &o, &n, x, &each), PETSC_ERR_USER_INPUT);
  error_clear();
  o.spacing = 0.1;
  assert_int_equal(sampling_fill(box, zero, infinite, 1.0, &o, &n, x, &each), PETSC_ERR_USER_INPUT);
  error_clear();
  assert_int_equal(sampling_fill(box, zero, one, 0.0, &o, &n, x, &each), PETSC_ERR_USER_INPUT);
  error_clear();
  assert_ok(level_set_sphere(one, 1e-3, &ball));
  assert_ok(level_set_difference(box, ball, &hollow));
  o.spacing = 100.0; /* one point in the middle of the bounds: not inside this one */
  assert_ok(level_set_sphere(zero, 1e-3, &ball));
  assert_int_equal(sampling_fill(ball, tiny, one, 1.0, &o, &n, x, &each), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "no point lies inside"));
  error_clear();
  level_set_destroy(&hollow);
  level_set_destroy(&ball);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_lattice), cmocka_unit_test(test_cells), cmocka_unit_test(test_blue_noise),
          cmocka_unit_test(test_parts_and_counts), cmocka_unit_test(test_errors))
