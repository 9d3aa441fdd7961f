/* Faces that nothing can touch: of solids in plane motion, slabs whose nodes are all held along one axis, the two that are normal to it.
 *
 * Where nothing that such a solid meets moves along the axis, no vertex, edge or face can reach its faces but through the rim: what is
 * beside them stays beside them. A slab's interior is then that of a plane calculation, nodes of faces included: contact acts on the
 * rim alone, with the whole mass of its nodes, and the rest follows in the third part of a step. If faces took part, all nodes of a slab one
 * element thick had their motion prescribed there, which makes the step explicit, and energy grows. */
#ifndef SS_SIM_HYBRID_HYBRID_PLANE_H
#define SS_SIM_HYBRID_HYBRID_PLANE_H
#include "sim/scene/scene.h"

/* *is_idle: of all triangles of all bodies, by body, as scene_surfaces_create_without wants it; for the caller to free. NULL: none is. */
PetscErrorCode hybrid_plane_faces(const scene *s, bool **is_idle);
#endif
