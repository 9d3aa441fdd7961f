/* First touch of two disjoint convex solids during a step. Called by the contact detection of rigid bodies, so that fast bodies do
 * not pass through each other. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_SWEEP_H
#define SS_GEOMETRY_CONVEX_CONVEX_SWEEP_H
#include "geometry/convex/convex_pair.h"

/* Conservative advancement [Mirtich1996]: a moves by d [3] relative to b; neither is a half-space. Rotation adds at most `turn` to
 * the displacement of any point. Returns false if the solids do not touch during the step, or if they overlap initially.
 *   fraction  of the displacement at the first touch, in [0, 1]
 *   out       touches at that time: positions on the surface of b, gaps at the start of the step
 *   work      work space for a pose of a, see convex_pose_work_size */
bool convex_sweep(const convex_pose *a, const convex_pose *b, const double d[3], double turn, double *work, double *fraction,
                  convex_touches *out);
#endif
