/* What finders of contacts foresee: where things would be at the end of the step if nothing acted between bodies but gravity. */
#ifndef SS_CONTACT_CONTACT_SCENE_H
#define SS_CONTACT_CONTACT_SCENE_H
#include "contact/contact_set.h"

/* Pose of a body that has one: as prescribed, or as it moves now. */
PetscErrorCode contact_scene_end_frame(const contact_scene *s, int32_t body, rigid_frame *out);
/* Velocities at the start of the step of what carries a body's unknowns, the first of them its block 0: [n_blocks][3], owned by
 * the caller, or NULL if there is none. */
PetscErrorCode contact_scene_velocities(const contact_scene *s, int32_t body, double **v);
#endif
