/* Contacts of rigid bodies and obstacles that are made of convex solids (body_ops.solids), for a contact_set.
 *
 * Every pair of bodies both of which are made of such, other pairs being the business of point_contact.h; see convex_pair.h for
 * what is found of each. Boxes around the solids are looked up in a tree, pairs worked through in parallel, in an order that
 * depends on the scene alone. */
#ifndef SS_CONTACT_DETECTION_CONVEX_CONTACT_H
#define SS_CONTACT_DETECTION_CONVEX_CONTACT_H
#include "contact/detection/contact_set.h"

/* Whether both are made of convex solids, so that their contacts are found here. */
bool convex_contact_takes(const body *a, const body *b);

typedef struct convex_contact convex_contact;
/* Room for these bodies [n_bodies], those of every scene that is asked about; their solids are borrowed. */
PetscErrorCode convex_contact_create(int n_bodies, body *const *bodies, convex_contact **out);
void           convex_contact_destroy(convex_contact **c);
/* Append the contacts within the margin of bodies at the poses of this step. Where both bodies move, a contact acts halfway
 * between the surfaces, else on the surface of the one that moves. Bodies that go farther than the margin have those, too, that
 * they come to on the way that they take now: each on its own place, as these are apart across the normal; the bodies' angular
 * momentum about a common point then changes by what lies between, times the impulse. */
PetscErrorCode convex_contact_find(convex_contact *c, const contact_scene *scene, contact_set *set);
#endif
