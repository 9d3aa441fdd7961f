#include "geometry/primitive/segment_triangle.h"
#include "core/math3.h"
#include "geometry/primitive/orient3d.h"

/* An axis along which abc does not look like a line; -1: it is one. */
static int open_axis(const double *a, const double *b, const double *c)
{
  for (int k = 0; k < 3; ++k)
    if (orient3d_turn(a, b, c, k) != 0) return k;
  return -1;
}

/* The boxes around both meet: for what lies in one line, they do themselves. */
static bool boxes_meet(const double *p, const double *q, const double *a, const double *b)
{
  for (int k = 0; k < 3; ++k)
    if (fmax(p[k], q[k]) < fmin(a[k], b[k]) || fmax(a[k], b[k]) < fmin(p[k], q[k])) return false;
  return true;
}

/* Closed segments pq and ab. */
static bool segments_meet(const double *p, const double *q, const double *a, const double *b)
{
  if (orient3d(p, q, a, b) != 0) return false;
  /* In one plane: seen along an axis that this plane is not parallel to. */
  const double *corner[4][3] = {{p, q, a}, {p, q, b}, {a, b, p}, {a, b, q}};
  int           k            = -1, turn[4];
  for (int i = 0; i < 4 && k < 0; ++i) k = open_axis(corner[i][0], corner[i][1], corner[i][2]);
  if (k < 0) return boxes_meet(p, q, a, b);
  for (int i = 0; i < 4; ++i) turn[i] = orient3d_turn(corner[i][0], corner[i][1], corner[i][2], k);
  return turn[0] * turn[1] <= 0 && turn[2] * turn[3] <= 0;
}

/* x, in the plane of abc, is within it, as seen along k. */
static bool is_within(const double *x, const double *a, const double *b, const double *c, int k)
{
  const int s = orient3d_turn(a, b, c, k);
  return s * orient3d_turn(a, b, x, k) >= 0 && s * orient3d_turn(b, c, x, k) >= 0 && s * orient3d_turn(c, a, x, k) >= 0;
}

/* All in one plane, or abc in one line. */
static bool meets_flat(const double *p, const double *q, const double *a, const double *b, const double *c)
{
  const int k = open_axis(a, b, c);
  if (k >= 0 && (is_within(p, a, b, c, k) || is_within(q, a, b, c, k))) return true;
  /* Two sides are enough: who comes in by the third without ending there leaves by another, and a line is covered by two. */
  return segments_meet(p, q, a, b) || segments_meet(p, q, b, c);
}

/* The line through p and q meets the plane of abc in one point: that is to the same side of all edges, or on some. */
static bool line_meets(const double *p, const double *q, const double *a, const double *b, const double *c)
{
  const int s[3] = {orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)};
  return s[0] * s[1] >= 0 && s[1] * s[2] >= 0 && s[2] * s[0] >= 0;
}

segment_meeting segment_meets_triangle(const double p[3], const double q[3], const double a[3], const double b[3],
                                       const double c[3])
{
  const int side_p = orient3d(a, b, c, p), side_q = orient3d(a, b, c, q);
  if (side_p * side_q > 0) return SEGMENT_APART;
  if (side_p == 0 && side_q == 0) return meets_flat(p, q, a, b, c) ? SEGMENT_TOUCHES : SEGMENT_APART;
  if (!line_meets(p, q, a, b, c)) return SEGMENT_APART;
  return side_p * side_q < 0 ? SEGMENT_PASSES : SEGMENT_TOUCHES;
}

bool segment_passes_triangle(const double p[3], const double q[3], const double a[3], const double b[3], const double c[3])
{
  const int side_p = orient3d(a, b, c, p);
  return side_p != 0 && side_p * orient3d(a, b, c, q) < 0 && line_meets(p, q, a, b, c);
}

/* q is on the ray from a through b, and not a itself; all three in one line. */
static bool is_on_ray(const double *a, const double *b, const double *q)
{
  for (int k = 0; k < 3; ++k)
    if (b[k] != a[k]) return b[k] > a[k] ? q[k] > a[k] : q[k] < a[k];
  return false;
}

segment_meeting segment_meets_own_triangle(const double a[3], const double q[3], const double b[3], const double c[3])
{
  bool is_inwards;
  if (orient3d(a, b, c, q) != 0) return SEGMENT_APART;
  const int k = open_axis(a, b, c);
  if (k >= 0) {
    const int s = orient3d_turn(a, b, c, k);
    is_inwards =
        s * orient3d_turn(a, b, q, k) >= 0 && s * orient3d_turn(a, q, c, k) >= 0 && (q[0] != a[0] || q[1] != a[1] || q[2] != a[2]);
  } else
    is_inwards = (open_axis(a, b, q) < 0 && is_on_ray(a, b, q)) || (open_axis(a, c, q) < 0 && is_on_ray(a, c, q));
  return is_inwards ? SEGMENT_TOUCHES : SEGMENT_APART;
}
