/* Checks whether the bodies, steps and contact parameters of a scene are plausible. Each finding is an entry of scene.warnings with a code of
 * warning_codes.h; it is no error, because an unusual scene can be intended. Called once by `check` and at the start of a run. */
#ifndef SS_SIM_SCENE_SCENE_PLAUSIBILITY_H
#define SS_SIM_SCENE_SCENE_PLAUSIBILITY_H
#include "sim/scene/scene.h"

PetscErrorCode scene_check_plausibility(scene *s);
/* Print the expected number of contact points of each body on the body below it: the points of its lowest layer along gravity. For `check`. */
PetscErrorCode scene_describe_contacts(const scene *s, FILE *out);
#endif
