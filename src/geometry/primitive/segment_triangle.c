/* Implementation: signs of orientation determinants; coplanar cases are projected along a coordinate axis. */
#include "geometry/primitive/segment_triangle.h"
#include "core/math3.h"
#include "geometry/primitive/orient3d.h"

/* A coordinate axis along which the projection of abc has an area; -1: a, b and c are collinear. */
static int projection_axis(const double *a, const double *b, const double *c)
{
  for (int k = 0; k < 3; ++k)
    if (orient3d_projected(a, b, c, k) != 0) return k;
  return -1;
}

/* The bounding boxes of both segments overlap. For collinear segments this is equivalent to an intersection. */
static bool boxes_overlap(const double *p, const double *q, const double *a, const double *b)
{
  for (int k = 0; k < 3; ++k)
    if (fmax(p[k], q[k]) < fmin(a[k], b[k]) || fmax(a[k], b[k]) < fmin(p[k], q[k])) return false;
  return true;
}

/* The closed segments pq and ab have a common point. */
static bool segments_intersect(const double *p, const double *q, const double *a, const double *b)
{
  if (orient3d(p, q, a, b) != 0) return false;
  /* Coplanar: project along an axis that is not parallel to the common plane. */
  const double *corner[4][3] = {{p, q, a}, {p, q, b}, {a, b, p}, {a, b, q}};
  int           k            = -1, turn[4];
  for (int i = 0; i < 4 && k < 0; ++i) k = projection_axis(corner[i][0], corner[i][1], corner[i][2]);
  if (k < 0) return boxes_overlap(p, q, a, b);
  for (int i = 0; i < 4; ++i) turn[i] = orient3d_projected(corner[i][0], corner[i][1], corner[i][2], k);
  return turn[0] * turn[1] <= 0 && turn[2] * turn[3] <= 0;
}

/* The point x in the plane of abc lies inside the triangle or on its border; projected along axis k. */
static bool is_inside_projected(const double *x, const double *a, const double *b, const double *c, int k)
{
  const int s = orient3d_projected(a, b, c, k);
  return s * orient3d_projected(a, b, x, k) >= 0 && s * orient3d_projected(b, c, x, k) >= 0 && s * orient3d_projected(c, a, x, k) >= 0;
}

/* Intersection test when all points are coplanar, or a, b and c are collinear. */
static bool intersects_coplanar(const double *p, const double *q, const double *a, const double *b, const double *c)
{
  const int k = projection_axis(a, b, c);
  if (k >= 0 && (is_inside_projected(p, a, b, c, k) || is_inside_projected(q, a, b, c, k))) return true;
  /* Two sides suffice: a segment that enters through the third side and does not end inside leaves through another one, and two
   * sides cover a collinear triangle. */
  return segments_intersect(p, q, a, b) || segments_intersect(p, q, b, c);
}

/* The line through p and q intersects the triangle: its point in the plane of abc lies on the same side of all edges, or on an
 * edge. */
static bool line_intersects(const double *p, const double *q, const double *a, const double *b, const double *c)
{
  const int s[3] = {orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)};
  return s[0] * s[1] >= 0 && s[1] * s[2] >= 0 && s[2] * s[0] >= 0;
}

segment_intersection segment_intersects_triangle(const double p[3], const double q[3], const double a[3], const double b[3],
                                                 const double c[3])
{
  const int side_p = orient3d(a, b, c, p), side_q = orient3d(a, b, c, q);
  if (side_p * side_q > 0) return SEGMENT_APART;
  if (side_p == 0 && side_q == 0) return intersects_coplanar(p, q, a, b, c) ? SEGMENT_TOUCHES : SEGMENT_APART;
  if (!line_intersects(p, q, a, b, c)) return SEGMENT_APART;
  return side_p * side_q < 0 ? SEGMENT_CROSSES : SEGMENT_TOUCHES;
}

bool segment_crosses_triangle(const double p[3], const double q[3], const double a[3], const double b[3], const double c[3])
{
  const int side_p = orient3d(a, b, c, p);
  return side_p != 0 && side_p * orient3d(a, b, c, q) < 0 && line_intersects(p, q, a, b, c);
}

/* For collinear a, b, q: q lies on the ray from a through b and differs from a. */
static bool is_on_ray(const double *a, const double *b, const double *q)
{
  for (int k = 0; k < 3; ++k)
    if (b[k] != a[k]) return b[k] > a[k] ? q[k] > a[k] : q[k] < a[k];
  return false;
}

segment_intersection segment_intersects_adjacent_triangle(const double a[3], const double q[3], const double b[3], const double c[3])
{
  bool is_inwards;
  if (orient3d(a, b, c, q) != 0) return SEGMENT_APART;
  const int k = projection_axis(a, b, c);
  if (k >= 0) {
    const int s = orient3d_projected(a, b, c, k);
    is_inwards  = s * orient3d_projected(a, b, q, k) >= 0 && s * orient3d_projected(a, q, c, k) >= 0 &&
                 (q[0] != a[0] || q[1] != a[1] || q[2] != a[2]);
  } else is_inwards = (projection_axis(a, b, q) < 0 && is_on_ray(a, b, q)) || (projection_axis(a, c, q) < 0 && is_on_ray(a, c, q));
  return is_inwards ? SEGMENT_TOUCHES : SEGMENT_APART;
}
