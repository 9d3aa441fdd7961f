/* Nodes too light to move by themselves. At a free edge the outermost nodes carry a few per cent of what their neighbours do, all of it
 * from one or two particles. Nothing there can hold them: for such a node to rest, one stress would have to balance its weight along a
 * gradient that points sideways, outside any cone of friction. So it falls a little in each step, the transfer to the particles stops it
 * again, and the edge of a heap that should rest sinks at some c g dt (validation/README.md, "Sand at rest").
 *
 * A node with less than `share` of its heaviest neighbour's mass (of 26) is light. It follows two others that are not, on a line with it:
 * at s and s + 1 steps along an axis or a diagonal, v = (1 + s) v_near - s v_far, which is exact for every linear velocity; s <= 2, the line
 * with most mass for its length. Without such a line it follows one node, without one it stays on its own. The idea of extended B-splines:
 * basis functions that are cut off too far are joined to those that are not.
 *
 * Thin fronts that flow have light nodes, too, and would be held back. So nobody follows unless those who would lead it are slow at the
 * start of the step, and it is itself, but for what weight alone may have given it: one that is left to itself falls by g dt a step, and
 * keeps part of that from one step to the next. Speeds of the start are what the step begins with, so who follows is settled for the step
 * and needs no memory.                                                                                                          */
#ifndef SS_DISCRETIZE_MPM_MPM_LIGHT_H
#define SS_DISCRETIZE_MPM_MPM_LIGHT_H
#include "discretize/body/body.h"
#include "discretize/mpm/mpm_wall.h"

typedef struct {
  double share;             /* see above; 0: nobody follows */
  double lead_speed, speed; /* [m/s] below which nodes lead, and follow; INFINITY: at any */
} mpm_light_rule;

/* Who follows whom, by dof, in a list that grows: *follower [*capacity]. Same answer on any number of threads. */
PetscErrorCode mpm_light_find(const mpm_grid *g, const mpm_walls *walls, const mpm_light_rule *rule, int64_t *n, int64_t *capacity, body_follower **follower);
#endif
