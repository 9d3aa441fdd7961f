/* Who is next to whom on a triangle surface: for walking over it, and for its edges. Borders are allowed (cloth).
 *
 * Positions play no part, so that one topology serves a deforming surface for ever. "Side i" of a triangle is the one
 * opposite to its corner i, from corner (i + 1) % 3 to corner (i + 2) % 3.                                            */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_TOPOLOGY_H
#define SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_TOPOLOGY_H
#include "core/error.h"

typedef struct {
  int64_t  n_vertices, n_triangles, n_edges;
  int32_t *tri;           /* [n_triangles][3], a copy */
  int32_t *neighbor;      /* [n_triangles][3] triangle across side i, -1 at a border */
  int32_t *neighbor_side; /* [n_triangles][3] which of that triangle's sides it is, -1 at a border */
  int32_t *edge;          /* [n_edges][2] low vertex first; edges ascend by (low, high) */
  int32_t *edge_triangle; /* [n_edges][2] the lower triangle first; -1 at a border */
  int32_t *side_edge;     /* [n_triangles][3] edge of side i */
  int32_t *fan_start;     /* [n_vertices + 1] */
  int32_t *fan;           /* [fan_start[n_vertices]] triangles around each vertex, ascending */
} triangle_topology;

/* tri [n_triangles][3]: copied; indices must be in range. Fails with PETSC_ERR_USER_INPUT, naming the vertices, where more than two triangles
 * share an edge, where two that share one disagree about its direction, or where a triangle names a vertex twice. */
PetscErrorCode triangle_topology_create(int64_t n_vertices, int64_t n_triangles, const int32_t *tri, triangle_topology **out);
void           triangle_topology_destroy(triangle_topology **t);
/* Which corner of `triangle` is `vertex`: 0, 1, 2; -1 if none. */
static inline int triangle_topology_corner(const triangle_topology *t, int32_t triangle, int32_t vertex)
{
  const int32_t *v = t->tri + 3 * (int64_t)triangle;
  return v[0] == vertex ? 0 : v[1] == vertex ? 1 : v[2] == vertex ? 2 : -1;
}
#endif
