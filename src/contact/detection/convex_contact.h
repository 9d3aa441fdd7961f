/* Contacts of rigid bodies and obstacles that consist of convex solids (body_ops.solids), for a contact_set.
 *
 * This detector processes every pair of bodies that both consist of convex solids; point_contact.h processes other pairs. convex_pair.h
 * computes the contacts of one pair of solids. A tree of boxes around the solids gives the candidate pairs, which are processed in
 * parallel. The order of the result depends on the scene only. Callers: the steps of `exact` and `convex`. */
#ifndef SS_CONTACT_DETECTION_CONVEX_CONTACT_H
#define SS_CONTACT_DETECTION_CONVEX_CONTACT_H
#include "contact/detection/contact_set.h"

/* Whether both bodies consist of convex solids, so that this detector processes the pair. */
bool convex_contact_takes(const body *a, const body *b);

/* Whether a contact of this detector represents a part of an area (convex_solid.area_points), not a corner. */
bool convex_contact_is_area(const contact_spot *s);

typedef struct convex_contact convex_contact;
/* Create for these bodies [n_bodies], a superset of the bodies of every scene passed later. Borrows their solids. */
PetscErrorCode convex_contact_create(int n_bodies, body *const *bodies, convex_contact **out);
void           convex_contact_destroy(convex_contact **c);
/* Append the contacts within the margin at the poses of this step. A contact acts halfway between the surfaces if both bodies move,
 * otherwise on the surface of the moving body. For bodies that move farther than the margin, the first contacts on their predicted motion
 * are appended as well. Each of these acts at two separate points, one per body. The total angular momentum of the two bodies then
 * changes by the distance of these points perpendicular to the normal, times the impulse. */
PetscErrorCode convex_contact_find(convex_contact *c, const contact_scene *scene, contact_set *set);
#endif
