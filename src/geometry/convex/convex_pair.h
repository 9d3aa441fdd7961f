/* All touches of two convex solids within a margin. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_PAIR_H
#define SS_GEOMETRY_CONVEX_CONVEX_PAIR_H
#include "geometry/convex/convex_pose.h"

/* At most CONVEX_MAX_TOUCHES, with names that are unique among them:
 *   flat sides            corners of what faces have in common; the crossing of two edges; a corner; the closest points of corners
 *   sphere, capsule       closest points; both ends of a capsule and where its side meets edges or other sides
 *   cylinder              two points of its side; points of its rim while it stands on a flat end, and the lowest one
 *   half-space            corners and lowest points of the other
 * Two half-spaces never touch. The gap is exact where surfaces bend as far as the closest points say. */
void convex_pair_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out);

/* Signed distance of x from the surface of a cylinder or polyhedron, its normal there, and the closest point q. */
double convex_point_distance(const convex_pose *p, const double x[3], double normal[3], double q[3]);
#endif
