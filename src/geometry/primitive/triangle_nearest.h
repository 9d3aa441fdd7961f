/* The nearest point of a triangle. Pure geometry, no state, thread-safe. */
#ifndef SS_GEOMETRY_PRIMITIVE_TRIANGLE_NEAREST_H
#define SS_GEOMETRY_PRIMITIVE_TRIANGLE_NEAREST_H

/* Of the triangle a, b, c to p, all [3]: w [3], its weights, none negative, exactly 0 of corners that are not of the feature it is on, by
 * Voronoi regions [Ericson2005, sec. 5.1.5]. Returns the feature: 0..2 vertex, 3..5 edge from vertex feature - 3, 6 face. Of a triangle
 * without area one of its vertices or edges, as a rule; w is not finite where corners or p are not. */
int triangle_nearest(const double a[3], const double b[3], const double c[3], const double p[3], double w[3]);
#endif
