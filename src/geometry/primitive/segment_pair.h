/* Where two segments are nearest to each other. Pure geometry, no state, thread-safe.
 *
 * Good for any two segments, parallel ones and points among them: the nearest points on the rim of the square of parameters, an
 * end of one and the other segment, are found one by one without cancellation, and what is inside is taken only if it is nearer.
 * Parameters within SEGMENT_SNAP of an end are that end, exactly. */
#ifndef SS_GEOMETRY_PRIMITIVE_SEGMENT_PAIR_H
#define SS_GEOMETRY_PRIMITIVE_SEGMENT_PAIR_H
#include <stdbool.h>

#define SEGMENT_SNAP 1e-9

typedef struct {
  double s, t;     /* in [0, 1]: a0 + s (a1 - a0), b0 + t (b1 - b0) */
  double distance; /* [m] */
} segment_nearest;

/* Parameter of the point of a segment x [2][3] nearest to p; 0 for a segment without length. */
double segment_nearest_to(const double x[6], const double p[3]);
/* Segments a, b [2][3]. rim: the nearest points with s = 0, s = 1, t = 0, t = 1; may be NULL. Where many points are nearest, one
 * of the rim's. */
void segment_pair_nearest(const double a[6], const double b[6], segment_nearest *out, segment_nearest rim[4]);
/* Do the segments lie along each other about the nearest point inside both, that is on from it to the rim on either side, with a
 * distance below `limit` there? Then ends of overlap tell more than the nearest point. rim: as above. */
bool segment_pair_is_along(const double a[6], const double b[6], const segment_nearest *nearest, const segment_nearest rim[4],
                           double limit);
#endif
