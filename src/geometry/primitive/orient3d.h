/* Which side of a plane, or of a line, a point is on: decided exactly, the coordinates taken for what they are. Where floating point with its
 * rounding bounded cannot tell, the determinant is written as an exact sum of doubles, of which the largest has its sign [Shewchuk1997].
 *
 * Exact for finite coordinates that are 0 or between 2^-300 and 2^300 in magnitude: products of three neither overflow nor lose digits. */
#ifndef SS_GEOMETRY_PRIMITIVE_ORIENT3D_H
#define SS_GEOMETRY_PRIMITIVE_ORIENT3D_H

/* Sign of (b - a) x (c - a) . (d - a): +1, -1 or 0; 0 means exactly in one plane. */
int orient3d(const double a[3], const double b[3], const double c[3], const double d[3]);
/* Sign of component k of (b - a) x (c - a): +1 where a, b, c turn left for who looks down axis k; 0 in all three: exactly in one line. */
int orient3d_turn(const double a[3], const double b[3], const double c[3], int k);
/* Sign of normal . (x - point): +1 where x is ahead of the plane through point that normal is upright on. */
int orient3d_ahead(const double normal[3], const double point[3], const double x[3]);
#endif
