/* How far two convex solids are apart, for any that can say which of their points is farthest along a direction. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_DISTANCE_H
#define SS_GEOMETRY_CONVEX_CONVEX_DISTANCE_H
#include "geometry/convex/convex_pose.h"

/* Distance between the cores of a, moved by `shift`, and of b (neither a half-space); 0 if they overlap, and then n is not set.
 *   p, q [3]  the points of a (moved) and b that are closest to each other     n [3]  unit, from b towards a
 * By the algorithm of [GilbertJohnsonKeerthi1988]. */
double convex_distance(const convex_pose *a, const convex_pose *b, const double shift[3], double p[3], double q[3], double n[3]);

/* Of two polyhedra, over the normals of faces and of pairs of edges that can meet: n [3] is unit, from b towards a. Returns the
 * separation, which is the distance if the solids are apart and a face or two crossing edges are closest, less if corners are,
 * and minus the depth if they overlap. Faces are preferred to edges by round-off. Gives up once it is above `enough`. */
double convex_axis_polyhedra(const convex_pose *a, const convex_pose *b, double enough, double n[3]);
/* Of a cylinder and a cylinder or polyhedron: the same, with the exact distance wherever they are apart. */
double convex_axis_cylinder(const convex_pose *a, const convex_pose *b, double enough, double n[3]);
#endif
