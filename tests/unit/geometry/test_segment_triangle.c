/* Segments and triangles with small integer coordinates, for which degenerate cases are frequent, against an independent test: two
 * convex sets have no common point if and only if a direction separates all corners of one from all corners of the other. */
#include "test.h"
#include "core/random.h"
#include "geometry/primitive/segment_triangle.h"

typedef struct {
  int64_t x[3];
} whole;

static whole minus(whole a, whole b) { return (whole){{a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2]}}; }
static whole cross(whole a, whole b)
{
  return (whole){{a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2], a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
}
static int64_t dot(whole a, whole b) { return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2]; }

/* x: segment, then triangle */
static bool tells_apart(whole n, const whole x[5])
{
  int64_t lo[2] = {INT64_MAX, INT64_MAX}, hi[2] = {INT64_MIN, INT64_MIN};
  for (int i = 0; i < 5; ++i) {
    const int64_t h = dot(n, x[i]);
    lo[i >= 2]      = h < lo[i >= 2] ? h : lo[i >= 2];
    hi[i >= 2]      = h > hi[i >= 2] ? h : hi[i >= 2];
  }
  return hi[0] < lo[1] || hi[1] < lo[0];
}

/* The difference of two such sets is a polytope of up to three dimensions, whose facets have normals among: differences of corners,
 * their products, and products of these with differences again, for what is flat, or a line. */
static bool are_apart(const whole x[5])
{
  whole d[10];
  int   n = 0;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < i; ++j) d[n++] = minus(x[i], x[j]);
  for (int i = 0; i < n; ++i) {
    if (tells_apart(d[i], x)) return true;
    for (int j = 0; j < i; ++j) {
      const whole c = cross(d[i], d[j]);
      if (tells_apart(c, x)) return true;
      for (int k = 0; k < n; ++k)
        if (tells_apart(cross(c, d[k]), x)) return true;
    }
  }
  return false;
}

static void draw(uint64_t i, whole x[5], double y[5][3])
{
  const uint64_t range = 2 + i % 4, flat = i % 3; /* a third of them in one plane */
  for (int p = 0; p < 5; ++p)
    for (int k = 0; k < 3; ++k) x[p].x[k] = (int64_t)random_index(11, i, (uint64_t)(3 * p + k), range);
  if (flat == 0)
    for (int p = 0; p < 5; ++p) x[p].x[2] = x[p].x[0] - 2 * x[p].x[1];
  for (int p = 0; p < 5; ++p)
    for (int k = 0; k < 3; ++k) y[p][k] = (double)x[p].x[k];
}

static int side(const whole *t, whole p)
{
  const int64_t h = dot(cross(minus(t[1], t[0]), minus(t[2], t[0])), minus(p, t[0]));
  return (h > 0) - (h < 0);
}

static void test_meets(void **state)
{
  int64_t seen[3] = {0};
  (void)state;
  for (uint64_t i = 0; i < 60000; ++i) {
    whole  x[5];
    double y[5][3];
    draw(i, x, y);
    const segment_intersection found    = segment_intersects_triangle(y[0], y[1], y[2], y[3], y[4]);
    const segment_intersection expected = are_apart(x)                                ? SEGMENT_APART
                                          : side(x + 2, x[0]) * side(x + 2, x[1]) < 0 ? SEGMENT_CROSSES
                                                                                      : SEGMENT_TOUCHES;
    if (found != expected) fail_msg("%lld: %d, not %d", (long long)i, (int)found, (int)expected);
    ++seen[expected];
    assert_int_equal(segment_crosses_triangle(y[0], y[1], y[2], y[3], y[4]), expected == SEGMENT_CROSSES);
    /* The order of the points does not matter. */
    assert_int_equal(segment_intersects_triangle(y[1], y[0], y[3], y[2], y[4]), found);
    assert_int_equal(segment_intersects_triangle(y[0], y[1], y[4], y[3], y[2]), found);
    assert_int_equal(segment_intersects_triangle(y[1], y[0], y[3], y[4], y[2]), found);
  }
  for (int k = 0; k < 3; ++k) assert_true(seen[k] > 1000);
}

/* A segment that begins at a corner goes inwards if a point a thousandth of the way on is in the triangle. */
static void test_own(void **state)
{
  int64_t seen = 0;
  (void)state;
  for (uint64_t i = 0; i < 60000; ++i) {
    whole  x[5], z[5];
    double y[5][3];
    draw(i, x, y);
    const whole a = x[2], q = x[0], step = minus(q, a);
    for (int k = 0; k < 3; ++k) z[0].x[k] = z[1].x[k] = 1000 * a.x[k] + step.x[k];
    for (int p = 2; p < 5; ++p)
      for (int k = 0; k < 3; ++k) z[p].x[k] = 1000 * x[p].x[k];
    const segment_intersection found    = segment_intersects_adjacent_triangle(y[2], y[0], y[3], y[4]);
    const segment_intersection expected = dot(step, step) > 0 && !are_apart(z) ? SEGMENT_TOUCHES : SEGMENT_APART;
    if (found != expected) fail_msg("%lld: %d, not %d", (long long)i, (int)found, (int)expected);
    assert_int_equal(segment_intersects_adjacent_triangle(y[2], y[0], y[4], y[3]), found);
    seen += expected == SEGMENT_TOUCHES;
  }
  assert_true(seen > 1000);
}

/* By the last place: a segment upright through an inner point of an edge, whose coordinates are doubles; moved off it by one unit
 * in the last place it passes or misses. */
static void test_last_place(void **state)
{
  (void)state;
  const double a[3] = {0, 0, 0.3}, b[3] = {3, 1, 0.3}, c[3] = {1, 3, 0.3};
  const double x = 1.5, y = 0.5;
  const double on[2][3] = {{x, y, -7.1}, {x, y, 5.3}}, in[2][3] = {{x, nextafter(y, 1), -7.1}, {x, nextafter(y, 1), 5.3}};
  const double off[2][3]   = {{x, nextafter(y, 0), -7.1}, {x, nextafter(y, 0), 5.3}};
  const double under[2][3] = {{1, 1, -7.1}, {1, 1, nextafter(0.3, 0)}}, at[2][3] = {{1, 1, -7.1}, {1, 1, 0.3}},
               over[2][3] = {{1, 1, -7.1}, {1, 1, nextafter(0.3, 1)}};
  assert_int_equal(segment_intersects_triangle(on[0], on[1], a, b, c), SEGMENT_CROSSES);
  assert_int_equal(segment_intersects_triangle(in[0], in[1], a, b, c), SEGMENT_CROSSES);
  assert_int_equal(segment_intersects_triangle(off[0], off[1], a, b, c), SEGMENT_APART);
  assert_int_equal(segment_intersects_triangle(under[0], under[1], a, b, c), SEGMENT_APART);
  assert_int_equal(segment_intersects_triangle(at[0], at[1], a, b, c), SEGMENT_TOUCHES);
  assert_int_equal(segment_intersects_triangle(over[0], over[1], a, b, c), SEGMENT_CROSSES);
}

TEST_MAIN(cmocka_unit_test(test_meets), cmocka_unit_test(test_own), cmocka_unit_test(test_last_place))
