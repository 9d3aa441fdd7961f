/* Contacts of points of bodies (particles, nodes, vertices) with level sets of rigid bodies: one contact for every point within the margin
 * of a level set. The normal and the gap are the gradient and the value of the level set at the point. The contact acts at the
 * point, on both bodies.
 *
 * One such contact suffices for a convex object. A point that moves farther than the margin, or past the nearest side, has a second
 * (swept) contact where its predicted trajectory reaches the level set. The normal of this contact is that at the point of entry, where
 * it acts on the object. Caller: contact detection of `exact` and `convex`. */
#ifndef SS_CONTACT_DETECTION_POINT_CONTACT_H
#define SS_CONTACT_DETECTION_POINT_CONTACT_H
#include "contact/detection/contact_set.h"

typedef struct point_contact point_contact; /* work space, reused in every step */
PetscErrorCode               point_contact_create(point_contact **out);
void                         point_contact_destroy(point_contact **p);
/* Append the contacts to `set`. may_touch [n_slots] of s->pairs: contact of points of the first body with objects of the second. */
PetscErrorCode point_contact_find(point_contact *p, const contact_scene *s, int n_frames, int n_sources, const contact_source *sources,
                                  int n_objects, const contact_object *objects, const bool *may_touch, contact_set *set);
/* First contact, by sphere tracing, of a point that moves from x0 to x1 [3], both in the frame of the level set, with phi > 0 at x0.
 * held (NULL: none): unit normal [3] at x0, if another contact already prevents the point from crossing the plane with this normal at
 * distance phi. Returns true if the point reaches the surface: place [3] on it, unit normal [3] there, and *gap: distance of x0 from the
 * tangent plane at `place` [m]. */
bool point_sweep(const level_set *s, const double x0[3], const double x1[3], double phi, const double *held, double place[3],
                 double normal[3], double *gap);
#endif
