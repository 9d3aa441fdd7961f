/* Contacts with the triangle surfaces of a scene (body_ops.surface), for a contact_set. Calls surface_contact.h for the triangles,
 * contact points and fibres of all bodies. A contact acts halfway between the two points, at the same point of both bodies.
 * Caller: sim/step/step_contacts. */
#ifndef SS_CONTACT_SURFACE_SURFACE_SCENE_H
#define SS_CONTACT_SURFACE_SURFACE_SCENE_H
#include "contact/detection/contact_set.h"

typedef struct surface_scene surface_scene;
/* can_touch [n_slots] of `pairs`: pairs of bodies with contact, symmetric, copied. pairs: borrowed; NULL: can_touch is [n_bodies][n_bodies]. *out is NULL if there are no surfaces; the other functions
 * accept NULL. */
PetscErrorCode surface_scene_create(int n_bodies, body *const *bodies, const pair_classes *pairs, const bool *can_touch,
                                    surface_scene **out);
void           surface_scene_destroy(surface_scene **f);
/* Append the contacts within the margin, and those of features that collide during the step on their predicted trajectories.
 * sources [n_sources]: bodies with contact points. *status: negative if a position is not finite. */
PetscErrorCode surface_scene_find(surface_scene *f, const contact_scene *s, int n_sources, const contact_source *sources, contact_set *set,
                                  step_status *status);
/* The step has been accepted: store the sides of its contacts with open surfaces (surface_sides.h). */
PetscErrorCode surface_scene_accept(surface_scene *f);
PetscErrorCode surface_scene_fields(surface_scene *f, field_table *table);
#endif
