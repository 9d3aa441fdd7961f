/* Inside of a scene: the parts of scene_create. */
#ifndef SS_SIM_SCENE_SCENE_IMPL_H
#define SS_SIM_SCENE_SCENE_IMPL_H
#include "core/diagnostics.h"
#include "sim/scene/scene.h"

/* laws, from the job's contact: block; what is missing or means nobody goes to `d`. Copes with bodies that could not be made. */
PetscErrorCode scene_build_laws(scene *s, diagnostics *d);
/* Sides of the grid's domain, as further bodies [up to SCENE_WALLS], if there is anything that they hold. */
enum { SCENE_WALLS = 6 };
PetscErrorCode scene_add_walls(scene *s);
bool           scene_is_wall(const scene *s, int i);
/* What bodies i and j are to each other before contact.pairs, if one of them is a wall: only rigid bodies that start within it meet it, without
 * friction if it is smooth or none is given. */
void scene_wall_law(const scene *s, int i, int j, contact_law *law);
/* frames, sources and objects, from the bodies. */
PetscErrorCode scene_build_contact(scene *s);
#endif
