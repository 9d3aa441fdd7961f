/* Light grid nodes depend on heavier ones, so that heaps of sand can rest. Called by mpm_domain.c at the start of a step.
 *
 * At a free edge the outermost nodes have a few per cent of the mass of their neighbours, all of it from one or two particles. No
 * admissible stress supports such a node: the gradient of its weight is horizontal, and the required stress lies outside every
 * friction cone. The node therefore falls a little in each step, and the transfer to the particles stops it again. As a result the
 * edge of a heap at rest sinks at about c g dt (validation/README.md, "Sand at rest").
 *
 * A node is light if its mass is less than `share` times that of the heaviest of its 26 neighbours. Its velocity is extrapolated
 * from two nodes that are not light, at s and s + 1 steps along an axis or a diagonal: v = (1 + s) v_near - s v_far, exact for every
 * linear velocity. s <= 2; the line with most mass for its length is selected. Without such a line the node copies one node; without
 * one it remains independent. The idea is that of extended B-splines: basis functions with too little support are joined to others.
 *
 * Thin flowing fronts also have light nodes and must not be slowed down. A node therefore depends on others only if these are slow at
 * the start of the step, and if it is slow itself, apart from the speed that its weight may have caused: an independent light node
 * falls by g dt per step and keeps part of that in the next step. The criterion uses only velocities at the start of the step, so the
 * dependent nodes are fixed during the step and need no stored state. */
#ifndef SS_DISCRETIZE_MPM_MPM_LIGHT_H
#define SS_DISCRETIZE_MPM_MPM_LIGHT_H
#include "discretize/body/body.h"
#include "discretize/mpm/mpm_wall.h"

typedef struct {
  double share;             /* see above; 0: no node is dependent */
  double lead_speed, speed; /* [m/s] upper limits for leading and for dependent nodes; INFINITY: no limit */
} mpm_light_rule;

/* List the dependent nodes with their leaders, ordered by dof: *follower [*capacity] is enlarged as necessary, *n entries. The
 * result is independent of the number of threads. */
PetscErrorCode mpm_light_find(const mpm_grid *g, const mpm_walls *walls, const mpm_light_rule *rule, int64_t *n, int64_t *capacity,
                              body_dependent_block **follower);
#endif
