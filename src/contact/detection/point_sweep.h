/* Where a point comes into a level set on its way through a step. */
#ifndef SS_CONTACT_DETECTION_POINT_SWEEP_H
#define SS_CONTACT_DETECTION_POINT_SWEEP_H
#include "geometry/level_set/level_set.h"
#include <stdbool.h>

/* The way from x0 to x1 [3], both in the level set's frame; phi > 0 is its value at x0. held: n [3], the unit normal there, if the
 * plane across it at the distance phi is one that the point does not pass anyhow; else NULL. True if it comes to the surface:
 * place [3] on that, its unit normal, and the distance of x0 from the plane there. Steps are as long as the level set is far. */
bool point_sweep(const level_set *s, const double x0[3], const double x1[3], double phi, const double *held, double place[3],
                 double normal[3], double *gap);
#endif
