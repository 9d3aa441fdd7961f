/* Tetrahedral meshes of deformable solids, with their boundary surfaces.
 *
 * A tetrahedron (a, b, c, d) is positive: (b - a) x (c - a) . (d - a) > 0. Meshes from the generators (tet_mesh_primitives.h,
 * tet_mesh_stuffing.h) and from files (tet_mesh_import) are sound: tet_mesh_check reports no defect. Positions are the rest
 * positions; a moving body stores its own. Used by FEM bodies. */
#ifndef SS_GEOMETRY_TET_MESH_TET_MESH_H
#define SS_GEOMETRY_TET_MESH_TET_MESH_H
#include "core/error.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

typedef struct {
  int64_t  n_vertices, n_tets;
  double  *x;   /* [n_vertices][3] m */
  int32_t *tet; /* [n_tets][4] */
  /* derived by tet_mesh_finish, NULL before */
  double *volume; /* [n_tets] m^3 */
  /* [n_vertices] a quarter of the volumes of adjacent tetrahedra; times density: the lumped mass [m^3] */
  double        *vertex_volume;
  triangle_mesh *surface;        /* the boundary, oriented outwards; triangles in the order of their tetrahedra */
  int32_t       *surface_vertex; /* [surface->n_vertices] vertex of the mesh for each surface vertex, ascending */
  int32_t       *surface_tet;    /* [surface->n_triangles] the tetrahedron of which each triangle is a face */
} tet_mesh;

/* Allocate a mesh with zeroed arrays; at most INT32_MAX vertices and INT32_MAX / 4 tetrahedra. Free it with tet_mesh_destroy. */
PetscErrorCode tet_mesh_create(int64_t n_vertices, int64_t n_tets, tet_mesh **out);
void           tet_mesh_destroy(tet_mesh **m);
/* Compute volumes and surface from x and tet, which must be sound (tet_mesh_check). Call it again after either has changed. */
PetscErrorCode tet_mesh_finish(tet_mesh *m);
/* x <- c + R x and x <- factor x (factor > 0), including the surface; volumes are updated. */
void tet_mesh_transform(tet_mesh *m, const double c[3], const double R[9]);
void tet_mesh_scale(tet_mesh *m, double factor);
/* Remove vertices that no tetrahedron uses; the others keep their order. new_index [n_vertices before], may be NULL: the new number
 * of each vertex, -1: removed. Derived data are freed. */
PetscErrorCode tet_mesh_compact(tet_mesh *m, int32_t *new_index);
/* (b - a) x (c - a) . (d - a) / 6 of one tetrahedron [m^3]. */
double tet_mesh_signed_volume(const double *x, const int32_t tet[4]);

/* ---- defects ---- */

/* Defects of a mesh. For a sound mesh all counts are 0 and n_parts is 1. `first_*` is an example; -1: none. The vertex order of a
 * tetrahedron is compared with that of its neighbours through their common faces. Flipped: the volume is negative because the vertices
 * are listed in mirrored order; tet_mesh_orient corrects it. Inverted: the sign of the volume contradicts the vertex order, so that the
 * tetrahedron lies on the wrong side of a common face, and the mesh is folded. */
typedef struct {
  int64_t n_not_finite, first_not_finite;      /* vertices */
  int64_t n_bad_index, first_bad_index;        /* tetrahedra with vertex numbers out of range; further checks are skipped */
  int64_t n_degenerate, first_degenerate;      /* |volume| at most 1e-9 of the longest edge cubed, or a repeated vertex */
  int64_t n_nonmanifold, first_nonmanifold[3]; /* faces with more than two tetrahedra */
  /* pairs of neighbours that no choice of orientation makes consistent: the mesh is not orientable */
  int64_t n_twisted, first_twisted[2];
  int64_t n_flipped, first_flipped;        /* negative because the vertices are listed in the mirrored order */
  int64_t n_inverted, first_inverted;      /* on the wrong side of a common face */
  int64_t n_duplicate, first_duplicate[2]; /* vertices within 1e-9 of the mesh size of an earlier vertex */
  int64_t n_unused, first_unused;          /* vertices without a tetrahedron; they would have no mass */
  int64_t n_parts, first_other_part;       /* components connected through faces; a tetrahedron outside the first component */
  /* edges (two vertices) or vertices (the second -1) where the boundary touches itself */
  int64_t n_touching, first_touching[2];
} tet_mesh_defects;
PetscErrorCode tet_mesh_check(const tet_mesh *m, tet_mesh_defects *out);
/* allow_parts: accept several components. */
bool tet_mesh_is_sound(const tet_mesh_defects *d, bool allow_parts);

/* Numbers of vertices and tetrahedra in the file, for messages. A NULL pointer to the struct or a NULL member: numbers from 0. */
typedef struct {
  const int64_t *vertex, *tet; /* [n_vertices], [n_tets] */
} tet_mesh_names;
/* PETSC_ERR_USER_INPUT with "name: most severe defect, its number, position and remedy" unless the mesh is sound. */
PetscErrorCode tet_mesh_require(const char *name, const tet_mesh *m, bool allow_parts, const tet_mesh_names *names);
/* Swap the last two vertices of all flipped tetrahedra. *n_flipped: number of flipped tetrahedra; may be NULL. */
PetscErrorCode tet_mesh_orient(tet_mesh *m, int64_t *n_flipped);
#endif
