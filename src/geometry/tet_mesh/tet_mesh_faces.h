/* Faces of tetrahedra; only files named tet_mesh*.c include this. */
#ifndef SS_GEOMETRY_TET_MESH_TET_MESH_FACES_H
#define SS_GEOMETRY_TET_MESH_TET_MESH_FACES_H
#include "geometry/tet_mesh/tet_mesh.h"

/* Face i lies opposite to corner i; its corners are listed counter-clockwise seen from outside a positive tetrahedron. */
static const int TET_FACE[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

/* Vertices of face 4 t + i, ascending; returns whether the outward order is an odd permutation of that. */
static inline bool tet_face_sorted(const tet_mesh *m, int32_t face, int32_t v[3])
{
  bool is_odd = false;
  for (int k = 0; k < 3; ++k) v[k] = m->tet[4 * (int64_t)(face / 4) + TET_FACE[face % 4][k]];
  for (int pass = 0; pass < 3; ++pass) {
    const int k = pass % 2;
    if (v[k] > v[k + 1]) {
      const int32_t swap = v[k];
      v[k] = v[k + 1], v[k + 1] = swap, is_odd = !is_odd;
    }
  }
  return is_odd;
}

/* face [4 n_tets]: all faces, those with the same vertices next to each other, ascending by vertices, then by number.
 * Vertices must exist. */
PetscErrorCode tet_faces_sort(const tet_mesh *m, int32_t **face);
/* Where the run of equal faces that starts at `at` ends. */
int64_t        tet_faces_run(const tet_mesh *m, const int32_t *face, int64_t at);
/* Faces with one tetrahedron: tri [n][3] outward, tet [n], ascending. */
PetscErrorCode tet_faces_boundary(const tet_mesh *m, int64_t *n, int32_t **tri, int32_t **tet);
/* These triangles with their own vertices, vertex [surface vertices] ascending. */
PetscErrorCode tet_faces_surface(const tet_mesh *m, int64_t n, const int32_t *tri, triangle_mesh **surface, int32_t **vertex);
#endif
