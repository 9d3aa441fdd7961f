/* Contacts of points of bodies (particles, nodes, vertices) with level sets of what is rigid: one for every point within the
 * margin of a level set. The normal is the level set's at the point, the gap its value; the contact acts at the point, on both
 * bodies.
 *
 * That holds a point off what is convex. What goes far in a step, beyond the margin or past the nearest side, has another where
 * its way, as it moves now, comes to the level set: with the normal there, on the body at that place. */
#ifndef SS_CONTACT_DETECTION_POINT_CONTACT_H
#define SS_CONTACT_DETECTION_POINT_CONTACT_H
#include "contact/detection/contact_set.h"

typedef struct point_contact point_contact; /* work space, kept between steps */
PetscErrorCode point_contact_create(point_contact **out);
void           point_contact_destroy(point_contact **p);
/* may_touch [n_bodies][n_bodies]: whose points are looked for. Appends to `set`. */
PetscErrorCode point_contact_find(point_contact *p, const contact_scene *s, int n_frames, int n_sources,
                                  const contact_source *sources, int n_objects, const contact_object *objects,
                                  const bool *may_touch, contact_set *set);
/* The way from x0 to x1 [3], both in the level set's frame; phi > 0 is its value at x0. held: n [3], the unit normal there, if the
 * plane across it at the distance phi is one that the point does not pass anyhow; else NULL. True if it comes to the surface:
 * place [3] on that, its unit normal, and the distance of x0 from the plane there. Steps are as long as the level set is far. */
bool point_sweep(const level_set *s, const double x0[3], const double x1[3], double phi, const double *held, double place[3],
                 double normal[3], double *gap);
#endif
