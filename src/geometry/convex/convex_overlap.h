/* Overlap of two convex solids: the shortest translation that separates them, and one point of the overlap. Called by the overlap check of
 * scenes and by the report of penetration (sim/scene/overlap_pair.h). */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_OVERLAP_H
#define SS_GEOMETRY_CONVEX_CONVEX_OVERLAP_H
#include "geometry/convex/convex_pose.h"

/* Overlap depth of a and b [m]: the length of the shortest translation of one of them that separates them; 0 if they are disjoint or both
 * are half-spaces. Exact up to round-off for spheres, half-spaces, polyhedra, and all pairs whose cores (convex_pose.h) are disjoint. If a
 * cylinder overlaps the core of the other solid, the axis of the translation is a local optimum from several
 * starts; the depth is then an upper bound (up to 10 % too large in the unit test).
 *   normal [3]  unit vector from b towards a: direction of that translation of a; undefined if the depth is 0 */
double convex_overlap_depth(const convex_pose *a, const convex_pose *b, double normal[3]);
/* A point x [3] inside the overlap, for messages: the mean of the deepest contact points, or the midpoint between the solids' deepest
 * points. depth > 0, normal: from convex_overlap_depth. */
void convex_overlap_point(const convex_pose *a, const convex_pose *b, double depth, const double normal[3], double x[3]);
#endif
