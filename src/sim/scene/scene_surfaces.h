/* All triangle surfaces of a scene as one mesh: deformable surfaces, and rigid surfaces (of links, and of rigid bodies or obstacles
 * with contact_surface: mesh). Bodies without triangles are not included. Used by exact intersections and formulation hybrid.
 *
 * Vertices are the nodes that belong to triangles, sorted by body and node. Triangles are sorted by body, in the body's order,
 * oriented outwards. Each edge occurs once; edges ascend by (low vertex, high vertex). The topology is constant; positions are
 * evaluated by scene_surfaces_place. */
#ifndef SS_SIM_SCENE_SCENE_SURFACES_H
#define SS_SIM_SCENE_SCENE_SURFACES_H
#include "geometry/collision/broad_phase.h"
#include "geometry/triangle_mesh/triangle_mesh.h"
#include "sim/scene/scene.h"

typedef struct {
  int32_t             n_bodies; /* of the scene */
  int64_t             n_vertices, n_edges, n_triangles;
  int64_t            *first_vertex, *first_edge, *first_triangle; /* [n_bodies + 1] first index of each body */
  int32_t            *body;                                       /* [n_vertices] index in the scene */
  int32_t            *node;      /* [n_vertices] node in the body_surface; of a deformable body this is its block */
  int32_t            *edge;      /* [n_edges][2] vertices, the low one first */
  int32_t            *triangle;  /* [n_triangles][3] vertices */
  bool               *is_rigid;  /* [n_bodies] fixed to the pose scene.bodies[i].frame */
  bool               *can_touch; /* [n_slots] of `pairs`, symmetric, including bodies with themselves: pairs with contact */
  const pair_classes *pairs;     /* of the scene */
} scene_surfaces;

/* Errors: out of memory; more than INT32_MAX vertices, edges or triangles. */
PetscErrorCode scene_surfaces_create(const scene *s, scene_surfaces **out);
/* The same without the triangles marked in is_excluded, and without nodes and edges that belong only to these. is_excluded: one
 * mark per triangle, by body, in the order of each body; NULL: none. */
PetscErrorCode scene_surfaces_create_without(const scene *s, const bool *is_excluded, scene_surfaces **out);
void           scene_surfaces_destroy(scene_surfaces **f); /* accepts NULL */
/* Current positions between two steps: x [n_vertices][3] out [m]. Bodies with prescribed motion are placed for time t. */
PetscErrorCode scene_surfaces_place(const scene_surfaces *f, const scene *s, double t, double *x);
/* Positions in the undeformed shape, x [n_vertices][3] out [m]; those of rigid surfaces are in the body's frame. */
PetscErrorCode scene_surfaces_rest(const scene_surfaces *f, const scene *s, double *x);
/* Closed surfaces of the obstacles without convex solids, in their own frames, for obstacle_edges.h: out [n_bodies], borrowed from the
 * scene; NULL for other bodies. */
PetscErrorCode scene_obstacle_surfaces(const scene *s, const triangle_mesh **out);
/* True if the detector of obstacle_edges.h finds contacts of bodies i and j. */
bool scene_obstacle_edges(const scene *s, int i, int j);
/* View for the broad phase and the impulses, with all vertices as points; borrows from f. */
broad_phase_surfaces scene_surfaces_broad(const scene_surfaces *f);
#endif
