/* Tetrahedral meshes: the inside of a deformable body, with its surface.
 *
 * A tetrahedron (a, b, c, d) is positive: (b - a) x (c - a) . (d - a) > 0. What comes out of the generators and out of
 * tet_mesh_import is sound: tet_mesh_check finds nothing. Positions are those at rest; a body that moves keeps its own. */
#ifndef SS_GEOMETRY_TET_MESH_TET_MESH_H
#define SS_GEOMETRY_TET_MESH_TET_MESH_H
#include "core/error.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

typedef struct {
  int64_t        n_vertices, n_tets;
  double        *x;              /* [n_vertices][3] m */
  int32_t       *tet;            /* [n_tets][4] */
  /* derived by tet_mesh_finish, NULL before */
  double        *volume;         /* [n_tets] m^3 */
  double        *vertex_volume;  /* [n_vertices] a quarter of the volumes around: times density, the lumped mass [m^3] */
  triangle_mesh *surface;        /* the boundary, outward, triangles in the order of their tetrahedra */
  int32_t       *surface_vertex; /* [surface->n_vertices] its vertices among those above, ascending */
  int32_t       *surface_tet;    /* [surface->n_triangles] the tetrahedron behind each triangle */
} tet_mesh;

/* Zeroed arrays of these sizes, at most INT32_MAX vertices and INT32_MAX / 4 tetrahedra. */
PetscErrorCode tet_mesh_create(int64_t n_vertices, int64_t n_tets, tet_mesh **out);
void           tet_mesh_destroy(tet_mesh **m);
/* Volumes and surface from x and tet, which must be sound (tet_mesh_check); again after either has changed. */
PetscErrorCode tet_mesh_finish(tet_mesh *m);
/* x <- c + R x, x <- factor x (factor > 0), of the surface, too; volumes follow. */
void           tet_mesh_transform(tet_mesh *m, const double c[3], const double R[9]);
void           tet_mesh_scale(tet_mesh *m, double factor);
/* Drop vertices that no tetrahedron uses; the others keep their order. new_index [n_vertices before], or NULL: where each went,
 * -1: nowhere. */
PetscErrorCode tet_mesh_compact(tet_mesh *m, int32_t *new_index);
/* (b - a) x (c - a) . (d - a) / 6. */
double         tet_mesh_signed_volume(const double *x, const int32_t tet[4]);

/* ---- what may be wrong ---- */

/* All counts 0 and n_parts 1 for a sound one. `first_*` is an example, -1 if there is none. Two orders of a tetrahedron's vertices
 * differ by a mirror image: neighbours tell which one is meant. Where all agree, a negative tetrahedron is only listed the other
 * way round (tet_mesh_orient repairs that); where its neighbours, so listed, are positive, it lies on the wrong side of their
 * shared face, and the mesh is folded. */
typedef struct {
  int64_t n_not_finite, first_not_finite;       /* vertices */
  int64_t n_bad_index, first_bad_index;         /* tetrahedra naming vertices that do not exist: the rest is not looked at */
  int64_t n_degenerate, first_degenerate;       /* |volume| at most 1e-9 of the longest edge cubed, or a vertex named twice */
  int64_t n_crowded, first_crowded[3];          /* faces with more than two tetrahedra */
  int64_t n_twisted, first_twisted[2];          /* pairs of neighbours that no order makes agree: the mesh is not orientable */
  int64_t n_flipped, first_flipped;             /* negative, but only listed the other way round */
  int64_t n_inverted, first_inverted;           /* on the wrong side of a face */
  int64_t n_duplicate, first_duplicate[2];      /* vertices within 1e-9 of the mesh's size of an earlier one */
  int64_t n_unused, first_unused;               /* vertices without a tetrahedron: they would have no mass */
  int64_t n_parts, first_other_part;            /* connected through faces; a tetrahedron outside the first part */
  int64_t n_touching, first_touching[2];        /* edges (two vertices) or vertices (the second -1) where the boundary touches itself */
} tet_mesh_defects;
PetscErrorCode tet_mesh_check(const tet_mesh *m, tet_mesh_defects *out);
/* allow_parts: several parts are all right. */
bool           tet_mesh_is_sound(const tet_mesh_defects *d, bool allow_parts);

/* What the file called things; NULL, or a NULL member: numbers from 0. */
typedef struct {
  const int64_t *vertex, *tet; /* [n_vertices], [n_tets] */
} tet_mesh_names;
/* PETSC_ERR_USER_INPUT with "name: that line" unless sound. */
PetscErrorCode tet_mesh_require(const char *name, const tet_mesh *m, bool allow_parts, const tet_mesh_names *names);
/* List the flipped tetrahedra the other way round (their last two vertices change places); n_flipped may be NULL. */
PetscErrorCode tet_mesh_orient(tet_mesh *m, int64_t *n_flipped);
#endif
