/* Distance of two convex solids, and the axis along which they are separated most or overlap least. Called by convex_pair and
 * convex_sweep.
 *
 * convex_distance is the algorithm of Gilbert, Johnson and Keerthi on support points; it needs disjoint solids. The axis functions
 * also treat overlapping solids: separating-axis tests over faces and pairs of edges, for cylinders followed by a local search. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_DISTANCE_H
#define SS_GEOMETRY_CONVEX_CONVEX_DISTANCE_H
#include "geometry/convex/convex_pose.h"

/* Distance [m] of the core of a, translated by `shift`, from the core of b; no half-spaces [GilbertJohnsonKeerthi1988].
 *   p, q [3]  closest points of a (translated) and b
 *   n [3]     unit vector from b towards a
 * Returns 0 if the cores overlap; n is not set then. */
double convex_distance(const convex_pose *a, const convex_pose *b, const double shift[3], double p[3], double q[3], double n[3]);

/* Axis of largest separation of two polyhedra, among the normals of their faces and the normals of pairs of edges that form a face of
 * the Minkowski difference. n [3]: unit vector from b towards a. Returns the separation along n [m]. For disjoint solids it equals the
 * distance if the closest features are a face or two crossing edges, and is smaller if they are corners. For overlapping solids it is
 * minus the penetration depth. If both agree within round-off, a face normal is preferred to that of an edge pair. The search stops as
 * soon as the separation exceeds `cutoff` [m]. */
double convex_axis_polyhedra(const convex_pose *a, const convex_pose *b, double cutoff, double n[3]);
/* As convex_axis_polyhedra, for a cylinder and a cylinder or polyhedron. Returns the exact distance if the solids are disjoint. */
double convex_axis_cylinder(const convex_pose *a, const convex_pose *b, double cutoff, double n[3]);
#endif
