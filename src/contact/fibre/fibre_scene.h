/* Contacts of the fibres of a scene (body_ops.segments) with each other, with level sets and with material points, for a
 * contact_set. Calls fibre_contact.h, fibre_object.h and fibre_points.h for all bodies.
 *
 * A contact of two fibres acts at the point halfway between the surfaces, on both fibres, so that linear and angular momentum are
 * conserved. The contacts of the last accepted step are state. They identify persistent contacts (contact_spot.was) and the original
 * side of fibres that have passed through each other. Caller: sim/step/step_contacts. */
#ifndef SS_CONTACT_FIBRE_FIBRE_SCENE_H
#define SS_CONTACT_FIBRE_FIBRE_SCENE_H
#include "contact/detection/contact_set.h"
#include "core/field_table.h"

typedef struct fibre_scene fibre_scene;
/* Create for the fibres of these bodies; law [n_slots] of `pairs`; pairs: borrowed, NULL: law is [n_bodies][n_bodies]. Without fibres *out is NULL, which the other functions accept. */
PetscErrorCode fibre_scene_create(int n_bodies, body *const *bodies, const pair_classes *pairs, const contact_law *law, fibre_scene **out);
void           fibre_scene_destroy(fibre_scene **f);
/* Append the contacts within the margin and the swept contacts. Fibres move without contact forces. If s->v is not NULL, the call is the
 * second search of the step: fibres move with s->v, and the result includes the contacts of the first search. *status: STEP_NOT_FINITE if
 * a position of a fibre is not finite. */
PetscErrorCode fibre_scene_find(fibre_scene *f, const contact_scene *s, int n_objects, const contact_object *objects, contact_set *set,
                                step_status *status);
/* Largest radius of a fibre [m]; 0 without fibres. */
double fibre_scene_thickness(const fibre_scene *f);
/* Accept the step: the contacts of the last fibre_scene_find are stored as state. */
PetscErrorCode fibre_scene_accept(fibre_scene *f);
/* Register the group "contact/fibres" (checkpoint). */
PetscErrorCode fibre_scene_fields(fibre_scene *f, field_table *table);
#endif
