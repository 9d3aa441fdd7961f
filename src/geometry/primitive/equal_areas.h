/* Points that represent equal areas of a convex polygon. Used for contact patches between flat faces (geometry/convex). */
#ifndef SS_GEOMETRY_PRIMITIVE_EQUAL_AREAS_H
#define SS_GEOMETRY_PRIMITIVE_EQUAL_AREAS_H

enum { EQUAL_AREAS_MAX_CORNERS = 128 };

/* Divide the convex polygon corner [n_corners][2] (counter-clockwise, area > 0, n_corners <= EQUAL_AREAS_MAX_CORNERS / 2) into n cells of
 * equal area by cuts along the coordinate axes, each across the longer side of the part; equal sides count as longer along the first axis. Set
 * x [n][2] to the centroids of the cells. Sums over the points times area/n integrate linear functions over the polygon exactly, up
 * to rounding. The points depend continuously on the polygon, except where a part becomes longer along the other axis. */
void polygon_equal_areas(int n_corners, const double (*corner)[2], int n, double (*x)[2]);
#endif
