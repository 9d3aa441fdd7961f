/* Closest points of segments against fine sampling and against the conditions of a minimum, including degenerate segments. */
#include "test.h"
#include "geometry/primitive/segment_pair.h"
#include "core/math3.h"
#include "core/random.h"
#include <float.h>
#include <string.h>

enum { CASES = 20000, KINDS = 8 };

/* Coordinates of two segments: free, parallel, antiparallel, almost parallel, in one line, touching ends, without length,
 * needles. */
static void draw(int i, double a[6], double b[6])
{
  double e[3];
  for (int k = 0; k < 6; ++k) {
    a[k] = random_range(1, (uint64_t)(6 * i + k), 0, -1.0, 1.0);
    b[k] = random_range(1, (uint64_t)(6 * i + k), 1, -1.0, 1.0);
  }
  const double scale = random_range(1, (uint64_t)i, 2, -2.0, 2.0), tiny = pow(10.0, random_range(1, (uint64_t)i, 3, -16.0, -1.0));
  v3_sub(e, a + 3, a);
  for (int k = 0; k < 3; ++k) switch (i % KINDS) {
    case 1: b[3 + k] = b[k] + scale * e[k]; break;
    case 2: b[3 + k] = b[k] - e[k]; break;
    case 3: b[3 + k] = b[k] + scale * e[k] + tiny * a[k]; break;
    case 4: b[k] = a[k] + scale * e[k], b[3 + k] = a[k] - 0.7 * scale * e[k]; break;
    case 5: b[k] = a[3 + k]; break;
    case 6: b[3 + k] = b[k]; break;
    case 7: a[3 + k] = a[k] + tiny * e[k], b[3 + k] = b[k] + scale * e[k]; break;
    default: break;
    }
}

static double distance(const double a[6], const double b[6], double s, double t)
{
  double d[3];
  for (int k = 0; k < 3; ++k) d[k] = (1.0 - s) * a[k] + s * a[3 + k] - (1.0 - t) * b[k] - t * b[3 + k];
  return v3_norm(d);
}

/* No point nearby or elsewhere on the pair is nearer; by convexity neighbours suffice, corners and a lattice are there for
 * errors of another kind. */
static void is_nearest(void **unused)
{
  (void)unused;
  const double tolerance = 2e-9; /* SEGMENT_SNAP moves by that part of a length of at most 4 */
  double       worst     = 0.0;
  for (int i = 0; i < CASES; ++i) {
    double          a[6], b[6];
    segment_nearest near, rim[4];
    draw(i, a, b);
    segment_pair_nearest(a, b, &near, rim);
    assert_true(near.s >= 0.0 && near.s <= 1.0 && near.t >= 0.0 && near.t <= 1.0);
    assert_close(near.distance, distance(a, b, near.s, near.t), 1e-14);
    for (int k = 0; k < 121; ++k) worst = fmax(worst, near.distance - distance(a, b, 0.1 * (k / 11), 0.1 * (k % 11)));
    for (double h = 1e-6; h < 0.2; h *= 10.0)
      for (int k = 0; k < 9; ++k) {
        const double s = fmin(fmax(near.s + h * (k / 3 - 1), 0.0), 1.0), t = fmin(fmax(near.t + h * (k % 3 - 1), 0.0), 1.0);
        worst = fmax(worst, near.distance - distance(a, b, s, t));
      }
    for (int k = 0; k < 4; ++k)
      for (int m = 0; m <= 50; ++m) {
        const double at = 0.02 * m;
        worst           = fmax(worst, rim[k].distance - (k < 2 ? distance(a, b, k, at) : distance(a, b, at, k - 2)));
      }
  }
  assert_close(worst, 0.0, tolerance);
}

/* Exchanged or reversed segments have the same distance. */
static void is_symmetric(void **unused)
{
  (void)unused;
  double worst = 0.0;
  for (int i = 0; i < CASES; ++i) {
    double          a[6], b[6], r[6];
    segment_nearest one, two, three;
    draw(i, a, b);
    memcpy(r, a + 3, 3 * sizeof *r);
    memcpy(r + 3, a, 3 * sizeof *r);
    segment_pair_nearest(a, b, &one, NULL);
    segment_pair_nearest(b, a, &two, NULL);
    segment_pair_nearest(r, b, &three, NULL);
    worst = fmax(worst, fmax(fabs(one.distance - two.distance), fabs(one.distance - three.distance)));
  }
  assert_close(worst, 0.0, 2e-9);
}

/* Along each other: parallel with an overlap, not across, not end to end. */
static void reports_parallel_segments(void **unused)
{
  (void)unused;
  const double a[6] = {0, 0, 0, 1, 0, 0};
  static const struct {
    double b[6];
    bool   is_along;
  } rows[] = {
      {{0.3, 0.1, -1e-3, 1.4, 0.1, 1e-3}, true},  {{1.4, 0.1, -1e-3, 0.3, 0.1, 1e-3}, true}, {{0.3, 0.1, -0.01, 0.7, 0.1, 0.01}, true},
      {{-2.0, 0.1, -1e-3, 3.0, 0.1, 1e-3}, true}, {{0.5, 0.1, -1, 0.5, 0.1, 1}, false},      {{0.3, 0.1, -0.5, 0.7, 0.1, 0.5}, false},
      {{0.3, 0.1, -1e-3, 0.9, 0.1, 0.3}, false},  {{0.1, 0.1, 0.3, 0.7, 0.1, -1e-3}, false},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    segment_nearest near, rim[4];
    segment_pair_nearest(a, rows[k].b, &near, rim);
    assert_true(near.s > 0.0 && near.s < 1.0 && near.t > 0.0 && near.t < 1.0);
    assert_int_equal(segment_pair_overlaps_lengthwise(a, rows[k].b, &near, rim, near.distance + 0.01), rows[k].is_along);
  }
}

TEST_MAIN(cmocka_unit_test(is_nearest), cmocka_unit_test(is_symmetric), cmocka_unit_test(reports_parallel_segments))
