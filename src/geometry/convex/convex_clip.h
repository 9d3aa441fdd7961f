/* Contact points of two convex solids whose common normal is known: the corners of what their supporting faces, edges or points
 * have in common when seen along it.
 *
 * Corners of one over the other and crossings of two edges each know their features, so that they keep their names from step to
 * step. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_CLIP_H
#define SS_GEOMETRY_CONVEX_CONVEX_CLIP_H
#include "geometry/convex/convex_pose.h"

/* Touches of features of different kinds have different names. */
static inline uint64_t convex_feature_name(unsigned kind, unsigned a, unsigned b)
{
  return (uint64_t)kind << 24 | (uint64_t)a << 12 | b;
}
enum {
  CONVEX_TOUCH_CORNER_A,
  CONVEX_TOUCH_CORNER_B,
  CONVEX_TOUCH_CROSSING,
  CONVEX_TOUCH_CLOSEST,
  CONVEX_TOUCH_END_A,
  CONVEX_TOUCH_END_B
};

/* Append the touches along the unit vector n, from b towards a, that are within margin. False, and none: seen along n the two
 * have at most a line in common, which two faces do not stand on. */
bool convex_clip(const convex_pose *a, const convex_pose *b, const double n[3], double margin, convex_touches *out);
#endif
