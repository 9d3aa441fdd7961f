/* Implementation: up to WINDING_RAYS rays in pseudo-random directions, until one contains no border point of a triangle. */
#include "geometry/primitive/winding.h"
#include "core/math3.h"
#include "geometry/primitive/orient3d.h"
#include "core/random.h"

typedef enum { RAY_MISSES, RAY_CROSSES, RAY_TOUCHES_BORDER } ray_result;

/* Exact test of the ray pq against triangle abc. *sign: +1 if the ray crosses from the back of the triangle to its front, else
 * -1. */
static ray_result cross_triangle(const double *p, const double *q, const double *a, const double *b, const double *c, int *sign)
{
  const int side_p = orient3d(a, b, c, p), side_q = orient3d(a, b, c, q);
  if (side_p * side_q > 0) return RAY_MISSES;
  const int s[3] = {orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)};
  if (s[0] * s[1] < 0 || s[1] * s[2] < 0 || s[2] * s[0] < 0) return RAY_MISSES;
  if (side_p * side_q == 0 || s[0] * s[1] * s[2] == 0) return RAY_TOUCHES_BORDER;
  *sign = side_q;
  return RAY_CROSSES;
}

/* A point outside the bounding box of all vertices and p. The direction is pseudo-random, so that it is not aligned with the
 * mesh. */
static void ray_end(int64_t n, const int32_t *triangle, const double *x, const double p[3], uint64_t i, double out[3])
{
  double min[3], max[3], size = 0.0, d[3];
  v3_copy(min, p), v3_copy(max, p);
  for (int64_t k = 0; k < 3 * n; ++k)
    for (int c = 0; c < 3; ++c)
      min[c] = fmin(min[c], x[3 * (int64_t)triangle[k] + c]), max[c] = fmax(max[c], x[3 * (int64_t)triangle[k] + c]);
  for (int c = 0; c < 3; ++c) size += max[c] - min[c], d[c] = random_range(1, i, (uint64_t)c, -1.0, 1.0);
  d[i % 3] = i % 2 ? 2.0 : -2.0;
  for (int c = 0; c < 3; ++c) out[c] = p[c] + size * d[c];
}

bool winding_number(int64_t n, const int32_t *triangle, const double *x, const double p[3], int64_t *winding)
{
  for (uint64_t i = 0; i < WINDING_RAYS; ++i) {
    double q[3];
    bool   is_clear = true;
    *winding        = 0;
    ray_end(n, triangle, x, p, i, q);
    for (int64_t t = 0; t < n && is_clear; ++t) {
      const int32_t *c    = triangle + 3 * t;
      int            sign = 0;
      is_clear = cross_triangle(p, q, x + 3 * (int64_t)c[0], x + 3 * (int64_t)c[1], x + 3 * (int64_t)c[2], &sign) != RAY_TOUCHES_BORDER;
      *winding += sign;
    }
    if (is_clear) return true;
  }
  return false;
}
