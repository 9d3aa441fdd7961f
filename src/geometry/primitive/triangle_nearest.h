/* Closest point of a triangle. No state, thread-safe. Used by triangle_bvh and by the augury contact. */
#ifndef SS_GEOMETRY_PRIMITIVE_TRIANGLE_NEAREST_H
#define SS_GEOMETRY_PRIMITIVE_TRIANGLE_NEAREST_H

/* Closest point to p of the triangle a, b, c, all [3], by Voronoi regions [Ericson2005, sec. 5.1.5].
 *   w [3]   barycentric weights of the closest point: not negative, exactly 0 for corners that do not belong to the returned feature
 * Returns the feature that contains the closest point: 0..2 vertex, 3..5 edge from vertex feature - 3 to the next one, 6 face. For a
 * triangle of zero area it is usually a vertex or an edge. w is not finite if a corner or p is not finite. */
int triangle_nearest(const double a[3], const double b[3], const double c[3], const double p[3], double w[3]);
#endif
