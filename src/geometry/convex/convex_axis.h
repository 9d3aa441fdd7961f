/* The direction in which two convex solids are farthest from each other, or overlap least. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_AXIS_H
#define SS_GEOMETRY_CONVEX_CONVEX_AXIS_H
#include "geometry/convex/convex_pose.h"

/* Of two polyhedra, over the normals of faces and of pairs of edges that can meet: n [3] is unit, from b towards a. Returns the
 * separation, which is the distance if the solids are apart and a face or two crossing edges are closest, less if corners are,
 * and minus the depth if they overlap. Faces are preferred to edges by round-off. Gives up once it is above `enough`. */
double convex_axis_polyhedra(const convex_pose *a, const convex_pose *b, double enough, double n[3]);
/* Of a cylinder and a cylinder or polyhedron: the same, with the exact distance wherever they are apart. */
double convex_axis_cylinder(const convex_pose *a, const convex_pose *b, double enough, double n[3]);
#endif
