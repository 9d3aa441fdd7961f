/* All intersections of triangle surfaces: pairs of an edge and a triangle with a common point, decided exactly
 * (segment_triangle.h).
 *
 * Independent of continuous collision detection and of the broad phase, so that it can verify them. A single common point counts, because
 * contact keeps a small distance between surfaces. A pair that shares a vertex counts only if it has further common points, which requires
 * that the edge lies in the plane of the triangle; the sides of a triangle do not count. Two surfaces without such a pair have no
 * common point, also if they are coplanar, but one may lie inside the other (winding.h). Used by the measure `intersections`. */
#ifndef SS_GEOMETRY_COLLISION_INTERSECTIONS_H
#define SS_GEOMETRY_COLLISION_INTERSECTIONS_H
#include "geometry/collision/broad_phase.h"

typedef struct {
  int32_t edge, triangle;
  bool    passes; /* true: the ends of the edge lie strictly on different sides of the triangle; false: an end lies in its plane */
} intersection;

typedef struct intersections intersections;
/* Create from the edges and triangles of s; its points are not used. The arrays are copied. PETSC_ERR_ARG_OUTOFRANGE if a vertex or
 * body does not exist. */
PetscErrorCode intersections_create(const broad_phase_surfaces *s, intersections **out);
void           intersections_destroy(intersections **f); /* accepts NULL */
/* All intersections for vertices at x [n_vertices][3], ascending by (edge, triangle), independent of the number of threads. *list
 * [n] is owned by f and valid until the next call. *bad: the first vertex that is not finite, or -1; if there is one, *n = 0. */
PetscErrorCode intersections_find(intersections *f, const double *x, int64_t *bad, int64_t *n, const intersection **list);
#endif
