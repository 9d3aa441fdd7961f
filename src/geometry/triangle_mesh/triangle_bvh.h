/* Signed distance to a closed triangle mesh: a bounding-volume hierarchy, and angle-weighted pseudonormals.
 *
 * The pseudonormals give the correct sign also where the closest point lies on an edge or a vertex [BaerentzenAanaes2005]. Used to
 * sample level sets and by the mesh contact of the penalty formulation. */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_BVH_H
#define SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_BVH_H
#include "geometry/triangle_mesh/triangle_mesh.h"

typedef struct triangle_bvh triangle_bvh;

/* The mesh is borrowed. It must be sound (triangle_mesh_check) and outlive the tree. */
PetscErrorCode triangle_bvh_create(const triangle_mesh *m, triangle_bvh **out);
void           triangle_bvh_destroy(triangle_bvh **b);
/* Signed distance of x from the surface [m], negative inside. nearest [3]: the closest point; may be NULL. *hint in: a triangle that is
 * probably close, or -1; out: the closest triangle. The hint changes the distance by round-off only. Thread-safe. */
double triangle_bvh_distance(const triangle_bvh *b, const double x[3], int32_t *hint, double nearest[3]);
/* The same if the signed distance is below `limit`; otherwise any number that is not below it, with an undefined closest point. For limit <= 0 the
 * search then ends at the first triangle within -limit, often that of the hint. */
double triangle_bvh_distance_below(const triangle_bvh *b, const double x[3], double limit, int32_t *hint, double nearest[3]);
#endif
