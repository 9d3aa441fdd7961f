/* How far two convex solids are apart, for any that can say which of their points is farthest along a direction. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_DISTANCE_H
#define SS_GEOMETRY_CONVEX_CONVEX_DISTANCE_H
#include "geometry/convex/convex_pose.h"

/* Distance between the cores of a, moved by `shift`, and of b (neither a half-space); 0 if they overlap, and then n is not set.
 *   p, q [3]  the points of a (moved) and b that are closest to each other     n [3]  unit, from b towards a
 * By the algorithm of [GilbertJohnsonKeerthi1988]. */
double convex_distance(const convex_pose *a, const convex_pose *b, const double shift[3], double p[3], double q[3], double n[3]);

/* The direction, from b towards a, in which they are farthest from each other, or overlap least: start at n with
 * convex_separation(n) = `separation`, and climb. Returns the separation there. Finds the maximum next to where it starts,
 * exactly if the solids are apart. */
double convex_climb(const convex_pose *a, const convex_pose *b, double n[3], double separation);
#endif
