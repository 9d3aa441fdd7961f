/* Contacts of rigid bodies and obstacles that are made of convex solids (body_ops.solids), for a contact_set.
 *
 * Handles every pair of bodies that both consist of convex solids; point_contact.h handles other pairs. convex_pair.h defines the
 * contacts of one pair of solids. A tree of boxes around the solids gives the candidate pairs. They are processed in parallel, in an
 * order that depends on the scene only. Callers: the steps of `exact` and `convex`. */
#ifndef SS_CONTACT_DETECTION_CONVEX_CONTACT_H
#define SS_CONTACT_DETECTION_CONVEX_CONTACT_H
#include "contact/detection/contact_set.h"

/* Whether both are made of convex solids, so that their contacts are found here. */
bool convex_contact_takes(const body *a, const body *b);

typedef struct convex_contact convex_contact;
/* Create for these bodies [n_bodies], a superset of the bodies of every scene passed later. Borrows their solids. */
PetscErrorCode convex_contact_create(int n_bodies, body *const *bodies, convex_contact **out);
void           convex_contact_destroy(convex_contact **c);
/* Append the contacts within the margin of bodies at the poses of this step. A contact acts halfway between the surfaces if both
 * bodies move, otherwise on the surface of the moving one. Bodies that move farther than the margin also get the contacts that they
 * reach on their predicted motion. Each of these acts at two separate places, one per body. The bodies' angular momentum about a
 * common point then changes by their distance across the normal times the impulse. */
PetscErrorCode convex_contact_find(convex_contact *c, const contact_scene *scene, contact_set *set);
#endif
