/* Implementation: recursive bisection. A part for m points is cut into parts for m/2 and m - m/2 points with areas in this ratio; the position of
 * a cut is the root of the area, a monotone function. */
#include "geometry/primitive/equal_areas.h"
#include <math.h>
#include <string.h>

typedef struct {
  int    n;
  double x[EQUAL_AREAS_MAX_CORNERS][2];
} polygon;

static double area_of(const polygon *p, double center[2])
{
  double sum = 0.0, first[2] = {0.0, 0.0};
  for (int i = 2; i < p->n; ++i) { /* triangles with corner 0 */
    const double ax = p->x[i - 1][0] - p->x[0][0], ay = p->x[i - 1][1] - p->x[0][1], bx = p->x[i][0] - p->x[0][0],
                 by = p->x[i][1] - p->x[0][1], area = 0.5 * (ax * by - ay * bx);
    sum += area;
    first[0] += area * (ax + bx) / 3.0, first[1] += area * (ay + by) / 3.0;
  }
  for (int k = 0; k < 2; ++k) center[k] = p->x[0][k] + (sum > 0.0 ? first[k] / sum : 0.0);
  return sum;
}

/* The part of p where sign * (x[axis] - at) <= 0. */
static void cut(const polygon *p, int axis, double at, double sign, polygon *out)
{
  out->n = 0;
  for (int i = 0; i < p->n; ++i) {
    const double *x = p->x[i], *y = p->x[i + 1 < p->n ? i + 1 : 0];
    const double  s = sign * (x[axis] - at), t = sign * (y[axis] - at);
    if (s <= 0.0) memcpy(out->x[out->n++], x, sizeof out->x[0]);
    if ((s < 0.0 && t > 0.0) || (s > 0.0 && t < 0.0)) {
      out->x[out->n][axis]       = at;
      out->x[out->n++][1 - axis] = x[1 - axis] + s / (s - t) * (y[1 - axis] - x[1 - axis]);
    }
  }
}

/* Position of the cut that leaves `share` of the area below it: bisection with secant steps (Illinois). */
static double find_cut(const polygon *p, int axis, double low, double high, double share)
{
  polygon      part;
  double       center[2], at = low;
  const double whole = area_of(p, center);
  double       f_low = -share * whole, f_high = (1.0 - share) * whole;
  int          side = 0;
  for (int k = 0; k < 100 && high - low > 0.0; ++k) {
    at = k % 3 == 2 ? 0.5 * (low + high) : low - f_low * (high - low) / (f_high - f_low);
    if (!(at > low && at < high)) break;
    cut(p, axis, at, 1.0, &part);
    const double f = area_of(&part, center) - share * whole;
    if (fabs(f) <= 1e-15 * whole) break;
    if (f < 0.0) {
      low = at, f_low = f;
      if (side < 0) f_high *= 0.5;
      side = -1;
    } else {
      high = at, f_high = f;
      if (side > 0) f_low *= 0.5;
      side = 1;
    }
  }
  return at;
}

static void divide(const polygon *p, int n, double (*x)[2])
{
  double min[2] = {INFINITY, INFINITY}, max[2] = {-INFINITY, -INFINITY};
  if (n == 1) {
    (void)area_of(p, x[0]);
    return;
  }
  for (int i = 0; i < p->n; ++i)
    for (int k = 0; k < 2; ++k) min[k] = fmin(min[k], p->x[i][k]), max[k] = fmax(max[k], p->x[i][k]);
  const int    axis = max[1] - min[1] > (max[0] - min[0]) * (1.0 + 1e-6) ? 1 : 0, below = n / 2;
  const double at = find_cut(p, axis, min[axis], max[axis], (double)below / n);
  polygon      part;
  cut(p, axis, at, 1.0, &part);
  divide(&part, below, x);
  cut(p, axis, at, -1.0, &part);
  divide(&part, n - below, x + below);
}

void polygon_equal_areas(int n_corners, const double (*corner)[2], int n, double (*x)[2])
{
  polygon p = {.n = n_corners};
  memcpy(p.x, corner, (size_t)n_corners * sizeof *corner);
  divide(&p, n, x);
}
