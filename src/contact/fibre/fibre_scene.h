/* Contacts of the fibres of a scene (body_ops.segments) with each other, with level sets and with material points, for a
 * contact_set: fibre_contact.h, fibre_object.h and fibre_points.h over all bodies at once.
 *
 * A contact of two fibres acts halfway between the surfaces, at the same place on both, so that momentum and angular momentum are
 * conserved. The contacts of the last accepted step are state. They identify persistent contacts (contact_spot.was) and the original
 * side of fibres that have passed through each other. Caller: sim/step/step_contacts. */
#ifndef SS_CONTACT_FIBRE_FIBRE_SCENE_H
#define SS_CONTACT_FIBRE_FIBRE_SCENE_H
#include "contact/detection/contact_set.h"
#include "core/field_table.h"

typedef struct fibre_scene fibre_scene;
/* Create for the fibres of these bodies; law [n_bodies][n_bodies]. *out is NULL, which the other functions accept, if there are
 * none. */
PetscErrorCode fibre_scene_create(int n_bodies, body *const *bodies, const contact_law *law, fibre_scene **out);
void           fibre_scene_destroy(fibre_scene **f);
/* Append the contacts within the margin and the swept contacts. Fibres move without contact forces or, if s->v is given, with these
 * predicted velocities; this second search of a step includes the contacts of the first one. *status is set if a fibre is not
 * finite. */
PetscErrorCode fibre_scene_find(fibre_scene *f, const contact_scene *s, int n_objects, const contact_object *objects, contact_set *set,
                                step_status *status);
/* Largest radius, 0 without fibres [m]. */
double fibre_scene_thickness(const fibre_scene *f);
/* Accept the step: the contacts found last become the stored contacts of the last step. */
PetscErrorCode fibre_scene_accept(fibre_scene *f);
/* Group "contact/fibres" of checkpoints. */
PetscErrorCode fibre_scene_fields(fibre_scene *f, field_table *table);
#endif
