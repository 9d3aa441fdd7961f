/* Contacts with the triangle surfaces of a scene (body_ops.surface), for a contact_set. Applies surface_contact.h to the triangles,
 * contact points and fibres of all bodies at once. A contact acts halfway between the two points, at the same place on both bodies.
 * Caller: sim/step/step_contacts. */
#ifndef SS_CONTACT_SURFACE_SURFACE_SCENE_H
#define SS_CONTACT_SURFACE_SURFACE_SCENE_H
#include "contact/detection/contact_set.h"

typedef struct surface_scene surface_scene;
/* meets [n_bodies][n_bodies]: pairs of bodies with contact, symmetric, copied. *out is NULL if there are no surfaces; the other functions
 * accept NULL. */
PetscErrorCode surface_scene_create(int n_bodies, body *const *bodies, const bool *meets, surface_scene **out);
void           surface_scene_destroy(surface_scene **f);
/* Append the contacts within the margin, and those of features that collide during the step on their trajectories without contact.
 * sources: bodies with contact points. *status: negative if a value is not finite. */
PetscErrorCode surface_scene_find(surface_scene *f, const contact_scene *s, int n_sources, const contact_source *sources, contact_set *set,
                                  step_status *status);
#endif
