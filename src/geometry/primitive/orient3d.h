/* Exact orientation predicates: on which side of a plane, or of a line in projection, a point lies.
 *
 * A determinant is first evaluated in floating point with an error bound. If its sign is uncertain, the determinant is computed
 * exactly as a sum of non-overlapping doubles; the sign of the largest term is that of the sum [Shewchuk1997]. The input coordinates
 * are regarded as exact. The result is exact for coordinates that are 0 or between 2^-300 and 2^300 in magnitude: triple products then
 * neither overflow nor lose digits. Used by segment_triangle, winding and the search for intersections. */
#ifndef SS_GEOMETRY_PRIMITIVE_ORIENT3D_H
#define SS_GEOMETRY_PRIMITIVE_ORIENT3D_H

/* Sign of (b - a) x (c - a) . (d - a): +1, -1 or 0. 0: the four points are exactly coplanar. */
int orient3d(const double a[3], const double b[3], const double c[3], const double d[3]);
/* Sign of component k of (b - a) x (c - a): +1 if a, b, c are in counter-clockwise order, seen from the positive end of axis k. If it is
 * 0 for k = 0, 1 and 2, the points are exactly collinear. */
int orient3d_projected(const double a[3], const double b[3], const double c[3], int k);
/* Sign of normal . (x - point): +1 if x lies on the side of the plane through `point` to which `normal` points. */
int orient3d_plane_side(const double normal[3], const double point[3], const double x[3]);
#endif
