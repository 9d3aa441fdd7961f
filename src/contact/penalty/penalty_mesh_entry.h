/* Point at which a trajectory enters a triangle: the attachment of a contact that begins in this step, so that friction acts from its first
 * step on. No state, thread-safe. Callers: penalty_mesh.c (points), penalty_edges.c (edges as points and surfaces). */
#ifndef SS_CONTACT_PENALTY_PENALTY_MESH_ENTRY_H
#define SS_CONTACT_PENALTY_PENALTY_MESH_ENTRY_H
#include "contact/penalty/penalty_mesh_relaxation.h"

/* Straight trajectories of a point (0) and of the corners of a triangle (1 to 3) from the start of the step to the evaluated state [m].
 * is_rigid: positions relative to the triangle; its corners do not move. */
typedef struct {
  double from[4][3], to[4][3];
  bool   is_rigid;
} entry_path;

/* X: in, the collision, at the fraction `time` of the step; out, the point of entry as a smooth function of the evaluated state. X_d: gradients of its
 * weights by the point and the corners in that state [1/m], for relax_mesh_cone_entering. The collision has the tolerance of the collision
 * detection, which the residual of the step would show as noise; Newton's method removes it. A grazing trajectory keeps the collision,
 * without derivative. */
void mesh_entry_find(const entry_path *p, double time, mesh_attachment *X, double X_d[3][12]);
#endif
