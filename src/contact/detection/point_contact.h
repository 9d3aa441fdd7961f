/* Contacts of points of bodies (particles, nodes, vertices) with level sets of rigid bodies: one for every point within the margin
 * of a level set. The normal and the gap are the gradient and the value of the level set at the point. The contact acts at the
 * point, on both bodies.
 *
 * One such contact suffices for a convex object. A point that moves farther than the margin, or past the nearest side, gets a second
 * (swept) contact where its predicted trajectory reaches the level set. That contact has the normal there and acts on the object at
 * that place. Caller: contact detection of `exact` and `convex`. */
#ifndef SS_CONTACT_DETECTION_POINT_CONTACT_H
#define SS_CONTACT_DETECTION_POINT_CONTACT_H
#include "contact/detection/contact_set.h"

typedef struct point_contact point_contact; /* work space, kept between steps */
PetscErrorCode               point_contact_create(point_contact **out);
void                         point_contact_destroy(point_contact **p);
/* may_touch [n_bodies][n_bodies]: points of the first body against objects of the second. Appends to `set`. */
PetscErrorCode point_contact_find(point_contact *p, const contact_scene *s, int n_frames, int n_sources, const contact_source *sources,
                                  int n_objects, const contact_object *objects, const bool *may_touch, contact_set *set);
/* First contact of a point that moves from x0 to x1 [3], both in the frame of the level set, by sphere tracing; phi > 0 is its value
 * at x0. held: n [3], the unit normal at x0, if a contact already keeps the point on this side of the plane at distance phi; else
 * NULL. True if the point reaches the surface: place [3] on it, its unit normal, and the distance of x0 from the plane there. */
bool point_sweep(const level_set *s, const double x0[3], const double x1[3], double phi, const double *held, double place[3],
                 double normal[3], double *gap);
#endif
