/* Waiting bodies (body.is_waiting) of a scene in the order of their release, and the choice of those that can be released now. A body is due at its time
 * (rigid_body.release). It is released at the end of the first step at or after this time at which its place is free: its shape overlaps neither a body in
 * the scene nor a body that is due earlier, or at the same time with a smaller number, and is released in the same step. The choice depends on the
 * state of the bodies alone, so that a resumed run releases the same bodies. Caller: scene_emit. */
#ifndef SS_SIM_SCENE_BODY_RELEASES_H
#define SS_SIM_SCENE_BODY_RELEASES_H
#include "sim/scene/scene_overlaps.h"

typedef struct body_releases body_releases;
/* *out NULL: no body waits. body [n_bodies]: borrowed. */
PetscErrorCode body_releases_create(int n_bodies, body *const *body, body_releases **out);
void           body_releases_destroy(body_releases **r); /* accepts NULL */
/* Waiting bodies to be released at time t, the end of a step: *list [*n], owned by r until the next call. *blocked: the first due body whose place is
 * occupied; -1: none. */
PetscErrorCode body_releases_find(body_releases *r, double t, scene_overlaps *o, int64_t *n, const int32_t **list, int32_t *blocked);
/* All waiting bodies of which no body of the same `group` [n_bodies] is due earlier: *list [*n], owned by r until the next call. */
PetscErrorCode body_releases_first(body_releases *r, const void *const *group, int64_t *n, const int32_t **list);
#endif
