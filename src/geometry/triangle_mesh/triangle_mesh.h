/* Triangle meshes: the closed surface of a solid, or the open or closed surface of a cloth.
 *
 * Triangles (a, b, c) are oriented so that (b - a) x (c - a) points out of the solid. All functions that need an inside (volume, sampled
 * level sets, convex solids) require a mesh without defects; triangle_mesh_check reports them. Used for shapes, for the surfaces of
 * tetrahedral meshes and for cloth. */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_MESH_H
#define SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_MESH_H
#include "core/error.h"
#include "geometry/primitive/mass_properties.h"

typedef struct {
  int64_t  n_vertices, n_triangles;
  double  *x;   /* [n_vertices][3] m */
  int32_t *tri; /* [n_triangles][3] */
} triangle_mesh;

/* Allocate a mesh with zeroed arrays; at most INT32_MAX rows each. Free it with triangle_mesh_destroy. */
PetscErrorCode triangle_mesh_create(int64_t n_vertices, int64_t n_triangles, triangle_mesh **out);
PetscErrorCode triangle_mesh_copy(const triangle_mesh *m, triangle_mesh **out);
void           triangle_mesh_destroy(triangle_mesh **m);

/* x <- c + R x, and x <- factor x. */
void triangle_mesh_transform(triangle_mesh *m, const double c[3], const double R[9]);
void triangle_mesh_scale(triangle_mesh *m, double factor);
void triangle_mesh_flip(triangle_mesh *m); /* reverse the orientation of every triangle */
void triangle_mesh_bounds(const triangle_mesh *m, double min[3], double max[3]);
/* Remove vertices that no triangle uses; the order of vertices and of triangles is kept. */
PetscErrorCode triangle_mesh_compact(triangle_mesh *m);
/* Renumber the vertices by recursive bisection of space: the vertices i 2^k ... (i + 1) 2^k - 1 (k up to 8) are close to each other.
 * Triangles are sorted by their smallest vertex. */
PetscErrorCode triangle_mesh_sort(triangle_mesh *m);

/* Defects of a mesh. A sound mesh has volume > 0 [m^3], and all counts are 0 except n_unused and n_parts. `first_*` is an example; -1:
 * none. */
typedef struct {
  int64_t n_not_finite, first_not_finite;      /* vertices */
  int64_t n_bad_index, first_bad_index;        /* triangles with vertex numbers out of range; further checks are skipped */
  int64_t n_degenerate, first_degenerate;      /* triangles of zero area (below 1e-12 of the longest edge squared) */
  int64_t n_open, first_open[2];               /* edges with one triangle */
  int64_t n_nonmanifold, first_nonmanifold[2]; /* edges with more than two triangles */
  int64_t n_misoriented, first_misoriented[2]; /* edges whose two triangles have opposite orientations */
  int64_t n_pinched, first_pinched;            /* vertices shared by separate fans of triangles */
  int64_t n_unused;                            /* vertices without a triangle: no defect, see triangle_mesh_compact */
  int64_t n_parts;                             /* connected components */
  double  volume;                              /* signed; negative: inside out */
} triangle_mesh_defects;
PetscErrorCode triangle_mesh_check(const triangle_mesh *m, triangle_mesh_defects *out);
bool           triangle_mesh_is_sound(const triangle_mesh_defects *d);
/* One line for users about the most severe defect: kind, number, position, remedy. "" if the mesh is sound. */
void triangle_mesh_defects_text(const triangle_mesh *m, const triangle_mesh_defects *d, size_t size, char *text);
/* Number of pairs of triangles that intersect each other, in a mesh with finite vertices. A pair counts if an edge of one triangle
 * crosses the other (exact test, segment_triangle.h) and the penetration exceeds the round-off of the coordinates. Coplanar
 * triangles and triangles that touch at a corner do not count.
 *   first [2]  the pair with the smallest numbers; -1 if there is none
 *   depth      the largest distance by which such an edge would have to move to no longer intersect: past one of its ends, or past
 *              the border of the triangle (at most its inradius); 0 if there is none; may be NULL [m] */
PetscErrorCode triangle_mesh_crossings(const triangle_mesh *m, int64_t *n, int32_t first[2], double *depth);
/* Result of triangle_mesh_crossings as one line for users; "" if there are no intersections. */
PetscErrorCode triangle_mesh_crossings_text(const triangle_mesh *m, size_t size, char *text);

/* Bisect edges until none is longer than `spacing` [m]. The shape of the surface does not change. PETSC_ERR_USER_INPUT beyond 10 million
 * vertices. */
PetscErrorCode triangle_mesh_refine(triangle_mesh *m, double spacing);

/* Exact integrals over the polyhedron by the divergence theorem. The reference point is the centre of its bounds, so that meshes
 * far from the origin do not suffer from cancellation. The order of summation is fixed. */
mass_properties triangle_mesh_mass(const triangle_mesh *m);
#endif
