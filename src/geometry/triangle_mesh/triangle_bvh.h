/* Nearest point of a closed triangle mesh, with its side: a tree of boxes, and angle-weighted pseudonormals, whose sign
 * is right even where the nearest point is an edge or a vertex [BaerentzenAanaes2005].                               */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_BVH_H
#define SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_BVH_H
#include "geometry/triangle_mesh/triangle_mesh.h"

typedef struct triangle_bvh triangle_bvh;

/* The mesh is borrowed and must be sound and outlive the tree. */
PetscErrorCode triangle_bvh_create(const triangle_mesh *m, triangle_bvh **out);
void           triangle_bvh_destroy(triangle_bvh **b);
/* Signed distance of x, negative inside; nearest [3] may be NULL. *hint: a triangle that is probably near, -1 for none;
 * on return the nearest one. The distance does not depend on the hint but for round-off. Thread-safe. */
double triangle_bvh_distance(const triangle_bvh *b, const double x[3], int32_t *hint, double nearest[3]);
#endif
