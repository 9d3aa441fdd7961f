/* Where two convex solids that are apart come together on their way through a step. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_SWEEP_H
#define SS_GEOMETRY_CONVEX_CONVEX_SWEEP_H
#include "geometry/convex/convex_pair.h"

/* a goes by d [3] against b, neither a half-space; what turning adds to that, for any point of them, is at most `turn`. False if
 * nothing comes of it. *share: when, as a part of the way; out: the touches of that moment, places on b, gaps those of the start.
 * Advances as far as the distance allows [Mirtich1996], so that nothing is passed. room: of a, see convex_pose_room. */
bool convex_sweep(const convex_pose *a, const convex_pose *b, const double d[3], double turn, double *room, double *share,
                  convex_touches *out);
#endif
