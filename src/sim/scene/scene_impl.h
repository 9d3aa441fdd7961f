/* Inside of a scene: the parts of scene_create. */
#ifndef SS_SIM_SCENE_IMPL_H
#define SS_SIM_SCENE_IMPL_H
#include "core/diagnostics.h"
#include "sim/scene/scene.h"

/* laws, from the job's contact: block; what is missing or means nobody goes to `d`. Copes with bodies that could not be made. */
PetscErrorCode scene_build_laws(scene *s, diagnostics *d);
/* frames, sources and objects, from the bodies. */
PetscErrorCode scene_build_contact(scene *s);
#endif
