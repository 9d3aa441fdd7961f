/* First contact of two disjoint convex solids during a step. Called by the contact detection of rigid bodies, so that fast bodies do
 * not pass through each other. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_SWEEP_H
#define SS_GEOMETRY_CONVEX_CONVEX_SWEEP_H
#include "geometry/convex/convex_pair.h"

/* Conservative advancement [Mirtich1996]: a moves by d [3] relative to b [m]; neither is a half-space. Rotation adds at most `turn` [m]
 * to the displacement of any point. Returns false if the solids do not come into contact, or if they overlap at the start.
 *   fraction  fraction of the displacement d at the first contact, in [0, 1]
 *   out       contact points at the first contact: x on the surface of b; gap is the value at the start of the step
 *   work      [convex_pose_work_size(a->solid)] work space */
bool convex_sweep(const convex_pose *a, const convex_pose *b, const double d[3], double turn, double *work, double *fraction,
                  convex_touches *out);
#endif
