/* Where the surfaces of a scene pass through each other or touch, exactly (geometry/collision/intersections.h), whatever the formulation knows of it:
 * those of two bodies that may touch, by the laws of the scene, and of each body that deforms with itself. And where their vertices are beyond
 * a half-space that they may touch; on it does not count, since it is known at any time which side is which. Bodies touched as other level
 * sets or convex solids have no share in it: scene_surfaces.h. */
#ifndef SS_SIM_SCENE_SCENE_INTERSECTIONS_H
#define SS_SIM_SCENE_SCENE_INTERSECTIONS_H
#include "geometry/collision/intersections.h"
#include "sim/scene/scene_surfaces.h"

typedef struct scene_intersections {
  scene_surfaces    *surfaces;
  intersections     *finder;
  bool              *meets; /* [n_bodies][n_bodies] */
  double            *x;     /* [n_vertices][3] where they were looked for last */
  int64_t            capacity;
  struct scene_sunk *sunk;
} scene_intersections;

/* A vertex beyond a half-space of a body. */
typedef struct scene_sunk {
  int32_t vertex, body;
} scene_sunk;

PetscErrorCode scene_intersections_create(const scene *s, scene_intersections **out);
void           scene_intersections_destroy(scene_intersections **f); /* copes with NULL */
/* All between two steps, at time t: *list [n], owned by f until the next call; edges and triangles are those of f->surfaces. *bad: a vertex
 * that is not finite, then *n = 0; else -1. */
PetscErrorCode scene_intersections_find(scene_intersections *f, const scene *s, double t, int64_t *bad, int64_t *n,
                                        const intersection **list);
/* The same for vertices beyond half-spaces, ascending by (body, half-space, vertex), at the places that were found last: after ..._find for
 * the same time. */
PetscErrorCode scene_intersections_sunk(scene_intersections *f, const scene *s, double t, int64_t *n, const scene_sunk **list);
/* The start of a run: a complaint for every two bodies whose surfaces meet, and every body that meets itself and is to know of it (the laws of
 * the scene say so), and for what is wholly within a closed surface, with features and places. remedy: what else than moving them there is to do. */
PetscErrorCode scene_intersections_check(const scene *s, const char *remedy, diagnostics *d);
#endif
