/* Broad phase: candidate pairs of points and triangles, and of edges, whose vertices move along straight lines during a step.
 *
 * A candidate pair consists of two primitives whose swept bounding boxes are within a margin of each other. The boxes of triangles
 * and of edges are stored in two trees (box_tree.h), which are refitted every step and sorted again when the area of their nodes has
 * grown too much. The pairs and their order depend neither on the number of threads nor on when the trees were sorted. Used by the
 * contact of surfaces, meshes and fibres. */
#ifndef SS_GEOMETRY_COLLISION_BROAD_PHASE_H
#define SS_GEOMETRY_COLLISION_BROAD_PHASE_H
#include "core/pair_classes.h"
#include "geometry/primitive/box_tree.h"

/* All primitives; they share one set of vertices. broad_phase_create copies the arrays. */
typedef struct {
  int64_t             n_vertices, n_points, n_edges, n_triangles; /* at most INT32_MAX each */
  const int32_t      *point;     /* [n_points] distinct vertices that are tested as points; NULL: all vertices, n_points = n_vertices */
  const int32_t      *edge;      /* [n_edges][2] vertices */
  const int32_t      *triangle;  /* [n_triangles][3] vertices */
  int32_t             n_bodies;  /* 0: a single body, which is tested against itself */
  const int32_t      *body;      /* [n_vertices] body of each vertex, equal for all vertices of a primitive; NULL if n_bodies = 0 */
  const bool         *can_touch; /* [n_slots] symmetric: pairs of bodies, and bodies with themselves, that are tested; slots of `pairs` */
  const pair_classes *pairs;     /* borrowed for the lifetime of the broad phase; NULL: can_touch is [n_bodies][n_bodies] */
} broad_phase_surfaces;

/* Point-triangle pair: first is an index into point[], second a triangle. Edge-edge pair: two edges, second > first. */
typedef struct {
  int32_t first, second;
} broad_phase_pair;

typedef struct broad_phase broad_phase;
/* Errors: out of memory; PETSC_ERR_ARG_OUTOFRANGE if a vertex or body does not exist. */
PetscErrorCode broad_phase_create(const broad_phase_surfaces *s, broad_phase **out);
void           broad_phase_destroy(broad_phase **b);
/* Fit the boxes to a step with positions x0 at its start and x1 at its end, [n_vertices][3] each [m], borrowed; margin >= 0 [m].
 * *bad: first vertex with a position that is not finite, or -1. If *bad >= 0, queries return the pairs of the previous step.
 * Error: out of memory. */
PetscErrorCode broad_phase_update(broad_phase *b, const double *x0, const double *x1, double margin, int64_t *bad);
/* Candidate pairs *out [*n] in ascending order of (first, second): the gap between the boxes is at most the margin along every axis.
 * Pairs that share a vertex, and pairs of bodies that are not tested, are excluded. *out is owned by b and valid until the next call
 * of the same function. */
PetscErrorCode broad_phase_point_triangle(broad_phase *b, int64_t *n, const broad_phase_pair **out);
PetscErrorCode broad_phase_edge_edge(broad_phase *b, int64_t *n, const broad_phase_pair **out);
/* Start a traversal of the triangles whose swept boxes, without the margin, overlap or touch a given box. Thread-safe between
 * updates. */
void broad_phase_walk_triangles(const broad_phase *b, const double min[3], const double max[3], box_walk *walk);
/* Number of times the trees were sorted since creation. */
int64_t broad_phase_rebuilds(const broad_phase *b);
#endif
