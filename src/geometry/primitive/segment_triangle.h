/* Exact intersection test of a segment and a triangle, with the predicates of orient3d.h.
 *
 * The coordinates are regarded as exact; degenerate segments and triangles are allowed. A single common point is an intersection.
 * Used by the search for intersections between surfaces and by the self-intersection check of triangle meshes. */
#ifndef SS_GEOMETRY_PRIMITIVE_SEGMENT_TRIANGLE_H
#define SS_GEOMETRY_PRIMITIVE_SEGMENT_TRIANGLE_H
#include <stdbool.h>

typedef enum {
  SEGMENT_APART,   /* no common point */
  SEGMENT_TOUCHES, /* common points, but an end lies on the triangle or the segment lies in its plane */
  SEGMENT_CROSSES  /* the ends lie strictly on different sides, and the segment intersects the interior or the border */
} segment_intersection;

/* Segment pq and triangle abc without common vertices. A triangle of zero area is treated as a segment or point. */
segment_intersection segment_intersects_triangle(const double p[3], const double q[3], const double a[3], const double b[3],
                                                 const double c[3]);
/* True if segment_intersects_triangle returns SEGMENT_CROSSES; cheaper for coplanar input. */
bool segment_crosses_triangle(const double p[3], const double q[3], const double a[3], const double b[3], const double c[3]);
/* As segment_intersects_triangle, for a segment from corner a of the triangle to q; the common point a does not count. Further common
 * points exist only if q lies in the plane of the triangle and aq starts towards its interior. Never returns SEGMENT_CROSSES. */
segment_intersection segment_intersects_adjacent_triangle(const double a[3], const double q[3], const double b[3], const double c[3]);
#endif
