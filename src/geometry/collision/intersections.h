/* Where surfaces pass through each other or touch, decided exactly: all pairs of an edge and a triangle that have a point in common
 * (geometry/primitive/segment_triangle.h). It shares nothing with what keeps surfaces apart, neither continuous detection nor its trees of
 * pairs, so that it can judge it.
 *
 * Touching counts: contact keeps surfaces a small distance apart, so what touches has used all of it up, and the next rounding would decide. A
 * pair that shares a vertex counts where it has more in common than that, which takes an edge in the plane of the triangle; the sides of a
 * triangle do not count. Two surfaces without such a pair have no common point, coplanar ones included; one may still be within the other. */
#ifndef SS_GEOMETRY_COLLISION_INTERSECTIONS_H
#define SS_GEOMETRY_COLLISION_INTERSECTIONS_H
#include "geometry/collision/broad_phase.h"

typedef struct {
  int32_t edge, triangle;
  bool    passes; /* the ends are strictly on different sides; else they touch, or lie in one plane */
} intersection;

typedef struct intersections intersections;
/* Points of s are not looked at; arrays are copied. Fails with PETSC_ERR_ARG_OUTOFRANGE on vertices or bodies that do not exist. */
PetscErrorCode intersections_create(const broad_phase_surfaces *s, intersections **out);
void           intersections_destroy(intersections **f); /* copes with NULL */
/* All of them with vertices at x [n_vertices][3], ascending by (edge, triangle), the same on any number of threads: *list [n], owned by f
 * until the next call. *bad: the first vertex that is not finite, or -1; if there is one, *n = 0. */
PetscErrorCode intersections_find(intersections *f, const double *x, int64_t *bad, int64_t *n, const intersection **list);
#endif
