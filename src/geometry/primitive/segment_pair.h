/* Closest points of two segments. No state, thread-safe.
 *
 * Valid for any two segments, including parallel ones and points. The closest points on the border of the parameter square (an end
 * of one segment and the other segment) are computed one by one without cancellation. The interior solution is used only if it is
 * closer. Parameters within SEGMENT_SNAP of an end are set to that end exactly. Used by the contact of fibres and of surfaces. */
#ifndef SS_GEOMETRY_PRIMITIVE_SEGMENT_PAIR_H
#define SS_GEOMETRY_PRIMITIVE_SEGMENT_PAIR_H
#include <stdbool.h>

#define SEGMENT_SNAP 1e-9

typedef struct {
  double s, t;     /* in [0, 1]; points a0 + s (a1 - a0) and b0 + t (b1 - b0) */
  double distance; /* [m] */
} segment_nearest;

/* Parameter in [0, 1] of the point of segment x [2][3] that is closest to p; 0 for a segment of zero length. */
double segment_nearest_to(const double x[6], const double p[3]);
/* Closest points of segments a, b [2][3]. rim (may be NULL): the closest points under the conditions s = 0, s = 1, t = 0 and t = 1. If the
 * closest points are not unique, *out is one entry of rim. */
void segment_pair_nearest(const double a[6], const double b[6], segment_nearest *out, segment_nearest rim[4]);
/* True if the segments are nearly parallel and overlap lengthwise around `nearest`: on both sides of it an entry of rim has a distance
 * below `limit` [m]. The ends of the overlap then represent the contact better than the closest points. rim: from segment_pair_nearest. */
bool segment_pair_overlaps_lengthwise(const double a[6], const double b[6], const segment_nearest *nearest, const segment_nearest rim[4],
                                      double limit);
#endif
