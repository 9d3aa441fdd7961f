/* Contact points of two convex solids within a margin: pairs of close points, called touches (convex_pose.h). Lengths in m. Called by
 * the contact detection of rigid bodies. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_PAIR_H
#define SS_GEOMETRY_CONVEX_CONVEX_PAIR_H
#include "geometry/convex/convex_pose.h"

/* Write at most CONVEX_MAX_TOUCHES touches with a gap of at most `margin`; their feature numbers are distinct.
 *   flat sides         corners of the common area of two faces, the crossing of two edges, a corner, or the closest points
 *   sphere, capsule    closest points, both ends of a capsule, closest points of its side and of edges or other sides
 *   cylinder           two points of its side, points of the rim of a flat end that is nearly parallel to the face, or the deepest point
 *   half-space         corners or deepest points of the other solid
 * Two half-spaces have no touches. Unit normals point from b towards a. Gaps on curved surfaces are exact at the closest points only. */
void convex_pair_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out);

/* Number of contact points of equal area requested for two solids: the larger area_points. */
int convex_pair_area_points(const convex_pose *a, const convex_pose *b);
/* Replace the touches of flat contact by points of equal area: divide the common area of two nearly parallel faces into n =
 * convex_pair_area_points cells of equal area and write the touches at their centroids with gaps of at most `margin` to out [n]. Returns
 * their number; -1 if the solids have no such area, or if it is tilted by more than AREA_FLAT: use convex_pair_touches then. The end of a
 * cylinder is a polygon with the area of the disc. */
int convex_pair_area_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touch *out);

/* Whether a touch with this feature number was written by convex_pair_area_touches. */
bool convex_touch_is_area(uint64_t feature);

/* Signed distance of x from the surface of a cylinder or polyhedron, negative inside, with the closest point q [3] and the normal
 * [3] there. */
double convex_point_distance(const convex_pose *p, const double x[3], double normal[3], double q[3]);
#endif
