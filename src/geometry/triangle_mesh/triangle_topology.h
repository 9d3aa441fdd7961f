/* Adjacency of a triangle surface: neighbours, edges, and the triangles around each vertex. Open borders are allowed (cloth).
 *
 * Positions are not used, so that one topology is valid for a deforming surface during the whole run. Side i of a triangle is opposite to
 * its corner i; it extends from corner (i + 1) % 3 to corner (i + 2) % 3. Used by the contact of meshes and surfaces and by cloth. */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_TOPOLOGY_H
#define SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_TOPOLOGY_H
#include "core/error.h"

typedef struct {
  int64_t  n_vertices, n_triangles, n_edges;
  int32_t *tri;           /* [n_triangles][3], a copy */
  int32_t *neighbor;      /* [n_triangles][3] triangle across side i, -1 at a border */
  int32_t *neighbor_side; /* [n_triangles][3] number of that side in the neighbour, -1 at a border */
  int32_t *edge;          /* [n_edges][2] low vertex first; edges ascend by (low, high) */
  int32_t *edge_triangle; /* [n_edges][2] triangles of the edge, the lower number first; second -1 at a border */
  int32_t *side_edge;     /* [n_triangles][3] edge of side i */
  int32_t *fan_start;     /* [n_vertices + 1] */
  int32_t *fan;           /* [fan_start[n_vertices]] triangles around each vertex, ascending */
} triangle_topology;

/* Create the topology of tri [n_triangles][3], which is copied; indices must be in range. PETSC_ERR_USER_INPUT with the numbers of the
 * vertices if more than two triangles share an edge, two neighbours have opposite orientations, or a triangle contains a vertex twice. */
PetscErrorCode triangle_topology_create(int64_t n_vertices, int64_t n_triangles, const int32_t *tri, triangle_topology **out);
void           triangle_topology_destroy(triangle_topology **t);
/* Corner number (0, 1, 2) of `vertex` in `triangle`; -1 if the triangle does not contain it. */
static inline int triangle_topology_corner(const triangle_topology *t, int32_t triangle, int32_t vertex)
{
  const int32_t *v = t->tri + 3 * (int64_t)triangle;
  return v[0] == vertex ? 0 : v[1] == vertex ? 1 : v[2] == vertex ? 2 : -1;
}
#endif
