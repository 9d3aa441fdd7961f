/* Share of a cube or a square where a function is negative, from its values at the corners. */
#ifndef SS_DISCRETIZE_MAC_MAC_CUBE_H
#define SS_DISCRETIZE_MAC_MAC_CUBE_H

/* phi at corners 4 i + 2 j + k of the cube. Exact for functions linear on the tetrahedra of both ways to cut a cube into five, of
 * which it is the mean: the result does not change when the cube is turned or mirrored (but for rounding). Affine functions: exact.
 * What lies in the surface altogether counts by the sign of the sum of phi, and where that is 0 as half: -phi has the rest. */
double mac_cube_fraction(const double phi[8]);
/* phi at corners 2 i + j of the square: the mean of both ways to cut it into two triangles. */
double mac_square_fraction(const double phi[4]);
#endif
