/* Which points may meet which triangles, and which edges which edges, while all vertices move along straight lines through one
 * step: those whose swept boxes come within a margin of each other.
 *
 * Boxes stand in two trees, one of triangles and one of edges, eight children a node, in the order of their middles along a
 * space-filling curve. Every step refits the boxes; when the trees have grown too loose they are sorted anew. What is found,
 * and its order, depends neither on the number of threads nor on the age of the trees.                                    */
#ifndef SS_GEOMETRY_COLLISION_BROAD_PHASE_H
#define SS_GEOMETRY_COLLISION_BROAD_PHASE_H
#include "geometry/primitive/box_tree.h"

/* Everything that may touch, as one set of vertices. All borrowed while the broad phase is created, and copied. */
typedef struct {
  int64_t        n_vertices, n_points, n_edges, n_triangles; /* at most INT32_MAX each */
  const int32_t *point;    /* [n_points] vertices that act as points, each once; NULL: all of them, n_points = n_vertices */
  const int32_t *edge;     /* [n_edges][2] vertices */
  const int32_t *triangle; /* [n_triangles][3] vertices */
  int32_t        n_bodies; /* 0: all are of one body, which meets itself */
  const int32_t *body;     /* [n_vertices] body of each vertex, the same for all vertices of a primitive; NULL if n_bodies = 0 */
  const bool    *meets;    /* [n_bodies][n_bodies] symmetric: which bodies meet; the diagonal says which meet themselves */
} broad_phase_surfaces;

/* first: entry of point[], or edge; second: triangle, or edge > first. */
typedef struct {
  int32_t first, second;
} broad_phase_pair;

typedef struct broad_phase broad_phase;
/* Fails with PETSC_ERR_ARG_OUTOFRANGE on vertices or bodies that do not exist. */
PetscErrorCode broad_phase_create(const broad_phase_surfaces *s, broad_phase **out);
void           broad_phase_destroy(broad_phase **b);
/* Fit the boxes to a step from x0 to x1, [n_vertices][3] each, borrowed; margin >= 0 [m]. *bad: the first vertex that is not
 * finite at either end, or -1; if there is one, nothing has happened and queries answer for the step before. */
PetscErrorCode broad_phase_update(broad_phase *b, const double *x0, const double *x1, double margin, int64_t *bad);
/* Pairs in ascending order of (first, second), without those that share a vertex or whose bodies do not meet. Boxes are a pair
 * if the gap between them is at most the margin along every axis. *out is owned by b until the next call of the same kind. */
PetscErrorCode broad_phase_point_triangle(broad_phase *b, int64_t *n, const broad_phase_pair **out);
PetscErrorCode broad_phase_edge_edge(broad_phase *b, int64_t *n, const broad_phase_pair **out);
/* A walk over the triangles whose swept boxes, without the margin, overlap or touch a given box. Thread-safe between updates. */
void broad_phase_walk_triangles(const broad_phase *b, const double min[3], const double max[3], box_walk *walk);
/* How often the trees were sorted anew since creation. */
int64_t broad_phase_rebuilds(const broad_phase *b);
#endif
