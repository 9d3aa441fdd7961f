/* What finders of contacts foresee: where things would be at the end of the step if nothing acted between bodies but gravity. */
#ifndef SS_CONTACT_DETECTION_CONTACT_SCENE_H
#define SS_CONTACT_DETECTION_CONTACT_SCENE_H
#include "contact/detection/contact_set.h"

/* Pose of a body that has one: as prescribed, or as it moves now. */
PetscErrorCode contact_scene_end_frame(const contact_scene *s, int32_t body, rigid_frame *out);
/* How far its frame's origin goes in the step, as it moves now: d [3]. Returns the most that turning adds to that for what is
 * `reach` from the origin [m]; infinite if `reach` is, unless it does not turn. */
double contact_scene_motion(const contact_scene *s, int32_t body, double reach, double d[3]);
/* Velocities at the start of the step of what carries a body's unknowns, the first of them its block 0: [n_blocks][3], owned by
 * the caller, or NULL if there is none. */
PetscErrorCode contact_scene_velocities(const contact_scene *s, int32_t body, double **v);
/* Where point k of a body, at x0 [3], would be at the end of the step: v as contact_scene_velocities gives them, or NULL; end: the
 * pose then of a body that has one. */
void contact_scene_point_end(const contact_scene *s, int32_t body, int64_t k, const double x0[3], const double *v,
                             const rigid_frame *end, double x1[3]);
#endif
