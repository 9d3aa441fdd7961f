/* Positions without overlaps: lattices with and without shifts, random positions of equal and very different bodies against a search of all
 * pairs, regions that are too small, and time proportional to the number of bodies. */
#include "core/math3.h"
#include "core/random.h"
#include "discretize/rigid/placement.h"
#include "test.h"

static const double zero[3] = {0, 0, 0};

static placement ball_placement(const level_set *region, double radius)
{
  placement o = {.region = region, .radius = radius, .seed = 3};
  level_set_bounds(region, o.min, o.max);
  for (int k = 0; k < 3; ++k) o.lower[k] = -radius, o.upper[k] = radius;
  return o;
}

static double size_one(const void *context, int64_t i) { return (void)context, (void)i, 1.0; }
static double size_half(const void *context, int64_t i) { return (void)context, i % 2 ? 1.0 : 0.5; }

/* Smallest distance between two bounding spheres, less the gap; all of them must be inside the region. */
static double least_distance(const placement *o, int64_t n, const double *x, const double *size)
{
  double least = INFINITY;
  for (int64_t i = 0; i < n; ++i) {
    const double r = o->radius * (size ? size[i] : 1.0);
    assert_true(level_set_value(o->region, x + 3 * i) <= -r * (1.0 - 1e-8));
    for (int64_t j = 0; j < i; ++j) {
      double e[3];
      v3_sub(e, x + 3 * i, x + 3 * j);
      least = fmin(least, v3_norm(e) - r - o->radius * (size ? size[j] : 1.0) - o->gap);
    }
  }
  return least;
}

static void test_lattice(void **state)
{
  (void)state;
  level_set *box, *pipe;
  int64_t    n;
  double    *x;
  assert_ok(level_set_box(zero, (const double[3]){1.0, 1.25, 0.9}, &box));
  placement o = ball_placement(box, 0.05);
  assert_ok(placement_lattice(&o, 1.0, size_one, NULL, INT64_MAX, &n, &x)); /* 10 x 12 x 9 touching balls, centred along y */
  assert_int_equal(n, 1080);
  assert_close(least_distance(&o, n, x, NULL), 0.0, 1e-15);
  assert_close(x[0], 0.05, 1e-15);
  assert_close(x[1], 0.075, 1e-15);
  assert_close(x[2], 0.05, 1e-15);
  assert_close(x[3 * 10 + 1] - x[1], 0.1, 1e-15); /* the second row follows along y, the second layer along z */
  assert_close(x[3 * 120 + 2] - x[2], 0.1, 1e-15);
  memory_free(&x);
  assert_ok(placement_lattice(&o, 1.0, size_one, NULL, 130, &n, &x));
  assert_int_equal(n, 130);
  assert_close(x[3 * 129 + 2], 0.15, 1e-15);
  memory_free(&x);
  o.gap = 0.02, o.jitter = 1.0; /* neighbours may touch */
  assert_ok(placement_lattice(&o, 1.0, size_one, NULL, INT64_MAX, &n, &x));
  assert_int_equal(n, 8 * 10 * 7);
  assert_true(least_distance(&o, n, x, NULL) + o.gap >= -1e-15 && least_distance(&o, n, x, NULL) < -0.015);
  memory_free(&x);
  o.gap = 0.0, o.jitter = 0.7; /* smaller bodies have free space */
  assert_ok(placement_lattice(&o, 1.0, size_half, NULL, INT64_MAX, &n, &x));
  assert_int_equal(n, 1080);
  memory_free(&x);
  o.jitter = 0.0;
  assert_ok(level_set_cylinder((const double[3]){0, 0, 0}, (const double[3]){0, 0, 0.1}, 0.1 * (1.0 + sqrt(2.0)) / 2.0 + 1e-9, &pipe));
  o = ball_placement(pipe, 0.05); /* four touching balls fit */
  assert_ok(placement_lattice(&o, 1.0, size_one, NULL, INT64_MAX, &n, &x));
  assert_int_equal(n, 4);
  memory_free(&x);
  o.radius = 0.2;
  for (int k = 0; k < 3; ++k) o.lower[k] = -0.2, o.upper[k] = 0.2;
  assert_ok(placement_lattice(&o, 1.0, size_one, NULL, INT64_MAX, &n, &x));
  assert_int_equal(n, 0);
  memory_free(&x);
  level_set_destroy(&box);
  level_set_destroy(&pipe);
  assert_no_leak();
}

/* Bodies are asymmetric about their positions: a brick of 1 x 2 x 3 with its position in a corner fills a box exactly. */
static void test_bricks(void **state)
{
  (void)state;
  level_set *box;
  int64_t    n;
  double    *x, corner[24];
  assert_ok(level_set_box((const double[3]){-1, -2, -3}, (const double[3]){1, 2, 3}, &box));
  placement o = ball_placement(box, sqrt(14.0));
  v3_copy(o.lower, zero);
  v3_set(o.upper, 1, 2, 3);
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < 3; ++k) corner[3 * i + k] = i >> k & 1 ? o.upper[k] : 0.0;
  o.n_points = 8, o.point = corner;
  assert_ok(placement_lattice(&o, 1.0, size_one, NULL, INT64_MAX, &n, &x));
  assert_int_equal(n, 8);
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < 3; ++k) assert_close(x[3 * i + k], i >> k & 1 ? 0.0 : -o.upper[k], 1e-14);
  memory_free(&x);
  level_set_destroy(&box);
  assert_no_leak();
}

static void test_random(void **state)
{
  enum { N = 400 };
  (void)state;
  level_set *ball;
  double    *x, *again, *size;
  int64_t    n;
  assert_ok(level_set_sphere(zero, 1.0, &ball));
  assert_ok(MEMORY_ALLOC("test", ARRAY(x, 3 * N), ARRAY(again, 3 * N), ARRAY(size, N)));
  placement o = ball_placement(ball, 0.08); /* 0.2 of the volume */
  o.gap       = 0.01;
  for (int ratio = 0; ratio < 2; ++ratio) { /* equal bodies, and sizes over a factor of 10^4 */
    for (int i = 0; i < N; ++i) size[i] = ratio ? pow(10.0, -4.0 * i / (N - 1.0)) : 1.0;
    if (ratio) o.radius = 0.2, o.gap = 1e-6;
    assert_ok(placement_random(&o, N, size, x, &n));
    assert_int_equal(n, N);
    assert_true(least_distance(&o, N, x, size) >= 0.0);
    assert_ok(placement_random(&o, N, size, again, &n));
    assert_memory_equal(x, again, 3 * N * sizeof *x);
  }
  for (int i = 0; i < N; ++i) size[i] = 1.0;
  o.radius = 0.15, o.gap = 0.0; /* 1.35 of the volume: no room */
  assert_ok(placement_random(&o, N, size, x, &n));
  assert_true(n > 80 && n < 0.385 / pow(0.15, 3)); /* the limit of random sequential addition is 0.384 */
  MEMORY_FREE(&x, &again, &size);
  level_set_destroy(&ball);
  assert_no_leak();
}

/* Uniform density: as many centres in each half of the box of possible centres. */
static void test_uniform_density(void **state)
{
  enum { N = 4000 };
  (void)state;
  level_set *box;
  double    *x, *size;
  int64_t    n, n_low[3] = {0};
  assert_ok(level_set_box(zero, (const double[3]){1, 1, 1}, &box));
  assert_ok(MEMORY_ALLOC("test", ARRAY(x, 3 * N), ARRAY(size, N)));
  for (int i = 0; i < N; ++i) size[i] = 1.0;
  placement o = ball_placement(box, 0.02); /* 0.13 of the volume */
  assert_ok(placement_random(&o, N, size, x, &n));
  assert_int_equal(n, N);
  for (int i = 0; i < 3 * N; ++i) n_low[i % 3] += x[i] < 0.5;
  for (int k = 0; k < 3; ++k) assert_close((double)n_low[k], N / 2, 5.0 * sqrt(N / 4.0));
  MEMORY_FREE(&x, &size);
  level_set_destroy(&box);
  assert_no_leak();
}

/* A region exactly as wide as the bodies has room for them. */
static void test_narrow(void **state)
{
  enum { N = 20 };
  (void)state;
  level_set *box;
  double     x[3 * N], size[N];
  int64_t    n;
  assert_ok(level_set_box(zero, (const double[3]){3.0, 0.2, 3.0}, &box));
  for (int i = 0; i < N; ++i) size[i] = 1.0;
  placement o = ball_placement(box, 0.1);
  assert_ok(placement_random(&o, N, size, x, &n));
  assert_int_equal(n, N);
  for (int i = 0; i < N; ++i) assert_close(x[3 * i + 1], 0.1, 1e-9);
  assert_true(least_distance(&o, N, x, size) >= 0.0);
  level_set_destroy(&box);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_lattice), cmocka_unit_test(test_bricks), cmocka_unit_test(test_random), cmocka_unit_test(test_narrow),
          cmocka_unit_test(test_uniform_density))
