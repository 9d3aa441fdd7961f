/* Contacts with the surfaces of triangles of a scene (body_ops.surface), for a contact_set: surface_contact.h over all bodies at
 * once, that is their triangles, contact points, and fibres. A contact acts halfway between the two points, on both at the same
 * place. */
#ifndef SS_CONTACT_SURFACE_SURFACE_SCENE_H
#define SS_CONTACT_SURFACE_SURFACE_SCENE_H
#include "contact/detection/contact_set.h"

typedef struct surface_scene surface_scene;
/* meets [n_bodies][n_bodies]: copied; for whom it looks, symmetric. *out is NULL if there are no surfaces: the others take that. */
PetscErrorCode surface_scene_create(int n_bodies, body *const *bodies, const bool *meets, surface_scene **out);
void           surface_scene_destroy(surface_scene **f);
/* Append the contacts within the margin, and those of features that collide during the step on their trajectories without contact.
 * sources: bodies with contact points. *status: not OK where a value is not finite. */
PetscErrorCode surface_scene_find(surface_scene *f, const contact_scene *s, int n_sources, const contact_source *sources,
                                  contact_set *set, step_status *status);
#endif
