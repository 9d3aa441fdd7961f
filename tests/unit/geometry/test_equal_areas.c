/* Points of equal area of convex polygons: number, centroid, second moments of a square and a disc, positions inside. */
#include "test.h"
#include "geometry/primitive/equal_areas.h"
#include <math.h>

static void test_square(void **state)
{
  (void)state;
  static const double square[4][2] = {{0, 0}, {2, 0}, {2, 2}, {0, 2}};
  double              x[64][2];
  polygon_equal_areas(4, square, 64, x); /* 8 x 8 cells */
  for (int i = 0; i < 64; ++i) {
    bool is_found = false;
    for (int a = 0; a < 64; ++a) is_found |= hypot(x[i][0] - 0.25 * (a % 8 + 0.5), x[i][1] - 0.25 * (a / 8 + 0.5)) < 1e-12;
    assert_true(is_found);
    for (int k = 0; k < i; ++k) assert_true(hypot(x[i][0] - x[k][0], x[i][1] - x[k][1]) > 0.2);
  }
}

/* The mean of the points is the centroid. Mean squares are smaller than those of the area by the cells' own, of the order of 1/(12 n). Rings and sectors of
 * equal area contain equal numbers of points to within 10 % of the number for 1,000 points. */
static void test_disc(void **state)
{
  (void)state;
  enum { CORNERS = 46, MOST = 1000 };
  static const int numbers[] = {1, 2, 7, 60, 127, MOST};
  double           corner[CORNERS][2], x[MOST][2];
  const double     step = 2.0 * M_PI / CORNERS, r = sqrt(step / sin(step));
  for (int k = 0; k < CORNERS; ++k) corner[k][0] = 3.0 + r * cos(step * k), corner[k][1] = -1.0 + r * sin(step * k);
  for (int c = 0; c < 6; ++c) {
    const int n       = numbers[c];
    double    mean[2] = {0.0, 0.0}, square = 0.0;
    int       ring[10] = {0}, sector[10] = {0};
    polygon_equal_areas(CORNERS, (const double(*)[2])corner, n, x);
    for (int i = 0; i < n; ++i) {
      const double u = x[i][0] - 3.0, v = x[i][1] + 1.0, q = u * u + v * v;
      mean[0] += u / n, mean[1] += v / n, square += q / n;
      ++ring[(int)fmin(9.0, 10.0 * q)];
      ++sector[(int)(10.0 * (atan2(v, u) / (2.0 * M_PI) + 0.5)) % 10];
    }
    assert_close(mean[0], 0.0, 1e-12);
    assert_close(mean[1], 0.0, 1e-12);
    assert_close(square, 0.5, 0.7 / n);
    for (int k = 0; k < 10 && n == MOST; ++k) {
      assert_close(ring[k], 100.0, 10.0);
      assert_close(sector[k], 100.0, 10.0);
    }
  }
}

TEST_MAIN(cmocka_unit_test(test_square), cmocka_unit_test(test_disc))
