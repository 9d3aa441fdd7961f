/* All intersections of triangle surfaces: pairs of an edge and a triangle with a common point, decided exactly
 * (segment_triangle.h).
 *
 * The module uses neither continuous collision detection nor the broad phase, so it can verify both. A single common point counts, because
 * contact keeps a small distance between surfaces. If the edge and the triangle share a vertex, they count only if they have a second
 * common point; the edge then lies in the plane of the triangle. A triangle and one of its own edges do not count. Two surfaces without
 * such a pair have no common point, also if they are coplanar, but one may lie inside the other (winding.h). Used by the measure
 * `intersections`. */
#ifndef SS_GEOMETRY_COLLISION_INTERSECTIONS_H
#define SS_GEOMETRY_COLLISION_INTERSECTIONS_H
#include "geometry/collision/broad_phase.h"

typedef struct {
  int32_t edge, triangle;
  bool    passes; /* true: the ends of the edge lie strictly on different sides of the triangle; false: an end lies in its plane */
} intersection;

typedef struct intersections intersections;
/* Create from the edges and triangles of s; its points are not used. The arrays are copied. Errors: out of memory;
 * PETSC_ERR_ARG_OUTOFRANGE if a vertex or body does not exist. */
PetscErrorCode intersections_create(const broad_phase_surfaces *s, intersections **out);
void           intersections_destroy(intersections **f); /* accepts NULL */
/* All intersections for vertices at x [n_vertices][3] [m], ascending by (edge, triangle), independent of the number of threads. *list
 * [*n] is owned by f and valid until the next call. *bad: the first vertex with a position that is not finite, or -1; *n is 0 if *bad
 * >= 0. Error: out of memory. */
PetscErrorCode intersections_find(intersections *f, const double *x, int64_t *bad, int64_t *n, const intersection **list);
#endif
