/* All surfaces of triangles of a scene as one set of vertices: those of bodies that deform, and those fixed to a pose (a rigid body or an
 * obstacle with contact_surface: mesh, a link). Bodies without triangles have no share in it.
 *
 * Vertices are the nodes that triangles use, and no others, by body and then by node; triangles by body, as their body orders them, outwards;
 * edges, each once, ascend by (low vertex, high vertex). All of it stays for the life of a scene; where vertices are does not. */
#ifndef SS_SIM_SCENE_SCENE_SURFACES_H
#define SS_SIM_SCENE_SCENE_SURFACES_H
#include "geometry/collision/broad_phase.h"
#include "sim/scene/scene.h"

typedef struct {
  int32_t  n_bodies; /* of the scene */
  int64_t  n_vertices, n_edges, n_triangles;
  int64_t *first_vertex, *first_edge, *first_triangle; /* [n_bodies + 1] where the share of each body begins */
  int32_t *body;                                       /* [n_vertices] number in the scene */
  int32_t *node;     /* [n_vertices] in its body_surface: its block of a body that deforms, else of what is fixed to the pose */
  int32_t *edge;     /* [n_edges][2] vertices, the low one first */
  int32_t *triangle; /* [n_triangles][3] vertices */
  bool    *is_rigid; /* [n_bodies] fixed to pose scene.bodies[i].frame */
  bool    *meets;    /* [n_bodies][n_bodies] symmetric: which may touch, by the laws of the scene, the diagonal included */
} scene_surfaces;

/* Fails only when memory does, or there are more than INT32_MAX vertices, edges or triangles. */
PetscErrorCode scene_surfaces_create(const scene *s, scene_surfaces **out);
/* The same without triangles that are left out: is_left_out of all of them, by body, as bodies order them; NULL: none. Nodes and edges of
 * no other triangles are left out with them. */
PetscErrorCode scene_surfaces_create_without(const scene *s, const bool *is_left_out, scene_surfaces **out);
void           scene_surfaces_destroy(scene_surfaces **f); /* copes with NULL */
/* Where vertices are now, between two steps, what has a prescribed motion as prescribed for time t: x [n_vertices][3] out [m]. */
PetscErrorCode scene_surfaces_place(const scene_surfaces *f, const scene *s, double t, double *x);
/* The same at rest, as drawn: rigid ones in their own frame. */
PetscErrorCode scene_surfaces_rest(const scene_surfaces *f, const scene *s, double *x);
/* As the broad phase and the impulses want it, all vertices as points; borrows from f. */
broad_phase_surfaces scene_surfaces_broad(const scene_surfaces *f);
#endif
