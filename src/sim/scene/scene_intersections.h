/* Exact intersections of the surfaces of a scene (geometry/collision/intersections.h), for all formulations: edges with triangles
 * between two bodies that may touch and within each deformable body; and vertices beyond half-spaces that they may touch. A vertex
 * exactly on a half-space does not count. Bodies without triangles, except half-spaces, are not included (scene_surfaces.h). Used by
 * the checks of formulations and by measures. */
#ifndef SS_SIM_SCENE_SCENE_INTERSECTIONS_H
#define SS_SIM_SCENE_SCENE_INTERSECTIONS_H
#include "geometry/collision/intersections.h"
#include "sim/scene/scene_surfaces.h"

typedef struct scene_intersections {
  scene_surfaces             *surfaces;
  intersections              *finder;
  bool                       *can_touch; /* [n_slots] of scene.pairs: pairs that may touch */
  double                     *x;         /* [n_vertices][3] positions of the last search */
  int64_t                     capacity;
  struct scene_vertex_beyond *sunk; /* result of scene_intersections_beyond */
} scene_intersections;

/* A vertex beyond a half-space of a body. */
typedef struct scene_vertex_beyond {
  int32_t vertex, body;
} scene_vertex_beyond;

PetscErrorCode scene_intersections_create(const scene *s, scene_intersections **out);
void           scene_intersections_destroy(scene_intersections **f); /* accepts NULL */
/* Find all intersections at time t between two steps: *list [n], owned by f until the next call; edges and triangles are
 * numbered as in f->surfaces. *bad: a vertex that is not finite, then *n = 0; otherwise -1. */
PetscErrorCode scene_intersections_find(scene_intersections *f, const scene *s, double t, int64_t *bad, int64_t *n,
                                        const intersection **list);
/* Vertices beyond half-spaces, ascending by (body, half-space, vertex), at the positions of the last scene_intersections_find,
 * which must have been called for the same time. */
PetscErrorCode scene_intersections_beyond(scene_intersections *f, const scene *s, double t, int64_t *n, const scene_vertex_beyond **list);
/* Check the start of a run. Errors go to `d` for each pair of bodies whose surfaces intersect, for each deformable body that
 * intersects itself and has self-contact, and for bodies completely inside a closed surface. Pairs whose
 * initial overlap the job permits are not checked. */
PetscErrorCode scene_intersections_check(const scene *s, diagnostics *d);
#endif
