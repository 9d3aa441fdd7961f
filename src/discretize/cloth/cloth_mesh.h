/* Meshes of cloth: triangle mesh of a sheet; and the nodes of springs along and across the edges and of hinges between triangles. Caller:
 * cloth_body.c. */
#ifndef SS_DISCRETIZE_CLOTH_CLOTH_MESH_H
#define SS_DISCRETIZE_CLOTH_CLOTH_MESH_H
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Create the mesh of a parallelogram with cells[0] x cells[1] cells from `corner` along the edge vectors u and v [m]. Node
 * i + (cells[0] + 1) j is at corner + i u / cells[0] + j v / cells[1]. Each cell is divided along a diagonal, whose direction alternates
 * from cell to cell. The normals of the triangles have the direction u x v. */
PetscErrorCode cloth_sheet(const double corner[3], const double u[3], const double v[3], const int64_t cells[2], triangle_mesh **out);

/* Nodes of springs and hinges. The struct owns its arrays. */
typedef struct {
  int64_t  n_stretch, n_shear, n_across, n_hinges;
  int32_t *stretch; /* [n_stretch][2] ends of edges; of a sheet: without diagonals */
  int32_t *shear;   /* [n_shear][2] both diagonals of the cells of a sheet */
  int32_t *across;  /* [n_across][2] the two corners opposite to an inner edge; of a sheet: without edges that are diagonals */
  int32_t *hinge;   /* [n_hinges][4] inner edges: edge (0, 1), triangles (0, 1, 2) and (1, 0, 3) */
} cloth_links;
/* Create the links of mesh m. cells [2]: numbers of cells if m is from cloth_sheet, otherwise NULL; borders are allowed. Fails with
 * PETSC_ERR_USER_INPUT if the triangles are not a surface, see triangle_topology_create. */
PetscErrorCode cloth_links_create(const triangle_mesh *m, const int64_t *cells, cloth_links *out);
void           cloth_links_destroy(cloth_links *l);
#endif
