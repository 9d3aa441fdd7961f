/* Closed triangle surfaces: the outside of a body.
 *
 * Triangles are oriented so that (b - a) x (c - a) points out of the body. Everything that needs an inside (volume,
 * sampled level sets, contact) wants a mesh without defects; triangle_mesh_check finds them and says what they are.  */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_MESH_H
#define SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_MESH_H
#include "core/error.h"
#include "geometry/primitive/mass_properties.h"

typedef struct {
  int64_t  n_vertices, n_triangles;
  double  *x;   /* [n_vertices][3] m */
  int32_t *tri; /* [n_triangles][3] */
} triangle_mesh;

/* Zeroed arrays of these sizes, at most INT32_MAX rows each. */
PetscErrorCode triangle_mesh_create(int64_t n_vertices, int64_t n_triangles, triangle_mesh **out);
PetscErrorCode triangle_mesh_copy(const triangle_mesh *m, triangle_mesh **out);
void           triangle_mesh_destroy(triangle_mesh **m);

/* x <- c + R x. */
void triangle_mesh_transform(triangle_mesh *m, const double c[3], const double R[9]);
void triangle_mesh_scale(triangle_mesh *m, double factor);
void triangle_mesh_flip(triangle_mesh *m); /* turn every triangle over */
void triangle_mesh_bounds(const triangle_mesh *m, double min[3], double max[3]);
/* Drop vertices that no triangle uses; triangles keep their order, vertices theirs. */
PetscErrorCode triangle_mesh_compact(triangle_mesh *m);
/* Renumber vertices by repeated halving of space, so that runs of 2^k of them (k up to 8, starting at multiples of 2^k) are
 * compact, and triangles by their smallest vertex. */
PetscErrorCode triangle_mesh_sort(triangle_mesh *m);

/* What is wrong with a mesh; all counts 0 and volume > 0 for a sound one. `first_*` is an example, -1 if there is none. */
typedef struct {
  int64_t n_not_finite, first_not_finite;         /* vertices */
  int64_t n_bad_index, first_bad_index;           /* triangles naming vertices that do not exist: the rest is not looked at */
  int64_t n_degenerate, first_degenerate;         /* triangles without area (below 1e-12 of their longest edge squared) */
  int64_t n_open, first_open[2];                  /* edges with one triangle */
  int64_t n_crowded, first_crowded[2];            /* edges with more than two */
  int64_t n_misoriented, first_misoriented[2];    /* edges whose two triangles disagree about outside */
  int64_t n_pinched, first_pinched;               /* vertices where separate fans of triangles meet */
  int64_t n_unused;                               /* vertices without a triangle: harmless, see triangle_mesh_compact */
  int64_t n_parts;                                /* connected surfaces */
  double  volume;                                 /* signed; negative: inside out */
} triangle_mesh_defects;
PetscErrorCode triangle_mesh_check(const triangle_mesh *m, triangle_mesh_defects *out);
bool           triangle_mesh_is_sound(const triangle_mesh_defects *d);
/* One line for users about the worst defect: what, how many, where in space, what to do. "" if sound. */
void triangle_mesh_defects_text(const triangle_mesh *m, const triangle_mesh_defects *d, size_t size, char *text);
/* Pairs of triangles of a mesh with finite vertices that pass through each other: an edge of one begins and ends on different sides of
 * the other and does not miss it, exactly (segment_triangle.h), and it would take more than the rounding of coordinates to come out. Those
 * that lie on each other, or touch with a corner, do not count.
 *   first [2]  the pair with the smallest numbers, -1 if there is none
 *   depth      the farthest that one of those edges would have to be moved to come out, past an end of its own or the rim of the triangle (at
 *              most the radius of the circle that fits in); 0 if there is none; may be NULL [m] */
PetscErrorCode triangle_mesh_crossings(const triangle_mesh *m, int64_t *n, int32_t first[2], double *depth);
/* The same as a line for users; "" if there is none. */
PetscErrorCode triangle_mesh_crossings_text(const triangle_mesh *m, size_t size, char *text);

/* Split edges longer than `spacing` at their middle until there are none; the surface stays the same. Fails with
 * PETSC_ERR_USER_INPUT beyond 10 million vertices. */
PetscErrorCode triangle_mesh_refine(triangle_mesh *m, double spacing);

/* Exact integrals over the polyhedron by the divergence theorem, about the centre of its bounds so that far-away bodies
 * lose nothing to cancellation. Order of summation is fixed. */
mass_properties triangle_mesh_mass(const triangle_mesh *m);
#endif
