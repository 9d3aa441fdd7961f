/* Does a segment meet a triangle? Decided exactly (geometry/primitive/orient3d.h), for the numbers as they are, degenerate ones included. Both are closed
 * sets: what shares a single point meets. */
#ifndef SS_GEOMETRY_PRIMITIVE_SEGMENT_TRIANGLE_H
#define SS_GEOMETRY_PRIMITIVE_SEGMENT_TRIANGLE_H
#include <stdbool.h>

typedef enum {
  SEGMENT_APART,   /* no common point */
  SEGMENT_TOUCHES, /* common points, but no passage: an end lies on the triangle, or the segment in its plane */
  SEGMENT_PASSES   /* the ends are strictly on different sides, and the way between them meets the inside or the rim */
} segment_meeting;

/* Segment pq, triangle abc, without common corners. A triangle without area is the line or point that it is. */
segment_meeting segment_meets_triangle(const double p[3], const double q[3], const double a[3], const double b[3],
                                       const double c[3]);
/* Is that SEGMENT_PASSES? Cheaper where all lies in one plane. */
bool segment_passes_triangle(const double p[3], const double q[3], const double a[3], const double b[3], const double c[3]);
/* The same for a segment from corner a of the triangle to q: does it have more in common with the triangle than a? It can lie in its plane
 * and begin inwards, nothing else: where q is off the plane the two share a alone, as neighbours on a surface do. */
segment_meeting segment_meets_own_triangle(const double a[3], const double q[3], const double b[3], const double c[3]);
#endif
