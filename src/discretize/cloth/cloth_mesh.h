/* The triangle mesh of a piece of cloth: springs along and across its edges, and hinges between its triangles. Caller:
 * cloth_body.c. */
#ifndef SS_DISCRETIZE_CLOTH_CLOTH_MESH_H
#define SS_DISCRETIZE_CLOTH_CLOTH_MESH_H
#include "geometry/triangle_mesh/triangle_mesh.h"

/* A parallelogram of cells[0] x cells[1] cells from `corner` along u and v; node i + (cells[0] + 1) j is at corner + i u / cells[0] +
 * j v / cells[1]. Each cell is cut along a diagonal, whose direction alternates like the colours of a chessboard. Triangles face u x v. */
PetscErrorCode cloth_sheet(const double corner[3], const double u[3], const double v[3], const int64_t cells[2], triangle_mesh **out);

/* Pairs and quadruples of nodes; owned. */
typedef struct {
  int64_t  n_stretch, n_shear, n_across, n_hinges;
  int32_t *stretch; /* [n][2] ends of edges; of a sheet: without diagonals */
  int32_t *shear;   /* [n][2] both diagonals of a sheet's cells */
  int32_t *across;  /* [n][2] the corners opposite to an inner edge; of a sheet: without diagonals */
  int32_t *hinge;   /* [n][4] inner edges: triangles (0, 1, 2) and (1, 0, 3) */
} cloth_links;
/* cells: of a sheet; NULL: any surface, borders allowed. Fails with PETSC_ERR_USER_INPUT where triangles do not make a surface, see
 * triangle_topology_create. */
PetscErrorCode cloth_links_create(const triangle_mesh *m, const int64_t *cells, cloth_links *out);
void           cloth_links_destroy(cloth_links *l);
#endif
