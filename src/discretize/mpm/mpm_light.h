/* Dependence of light grid nodes on heavier ones, so that heaps of sand can rest. Called by mpm_domain.c at the start of a step.
 *
 * At a free edge of a body the outermost nodes have a few per cent of the mass of their neighbours, all of it from one or two particles.
 * No admissible stress supports such a node: the gradient of its weight is horizontal, and the required stress lies outside every
 * friction cone. The node therefore falls a little in each step, and the transfer to the particles stops it again. As a result the
 * edge of a heap at rest sinks at a speed proportional to g dt (validation/README.md, "Sand at rest").
 *
 * A node is light if its mass is less than `share` times that of the heaviest of its 26 neighbours. Its velocity is extrapolated
 * from two nodes that are not light, at s and s + 1 grid spacings along an axis or a diagonal, s <= 2: v = (1 + s) v_near - s v_far. This
 * is exact for every linear velocity field. Of all such lines the one with the largest mass relative to its length is selected. If there
 * is no line, the node copies one node that is not light; if there is none, it remains independent. The method is similar to extended
 * B-splines, where basis functions with too little support are joined to others.
 *
 * The thin edges of flowing sand also have light nodes, which must not be slowed down. A node therefore depends on others only if these
 * are slow at the start of the step and the node itself is slow. The limit for the node is higher by 2 g dt, because an independent
 * light node gains g dt per step by its weight and keeps part of it in the next step. The criterion uses only velocities at the start of
 * the step, so the dependent nodes are fixed during the step and need no stored state. */
#ifndef SS_DISCRETIZE_MPM_MPM_LIGHT_H
#define SS_DISCRETIZE_MPM_MPM_LIGHT_H
#include "discretize/body/body.h"
#include "discretize/mpm/mpm_wall.h"

typedef struct {
  double share;             /* mass fraction, see above; 0: no node is dependent */
  double lead_speed, speed; /* largest speeds of the leading nodes and of the dependent node [m/s]; INFINITY: no limit */
} mpm_light_rule;

/* List the dependent nodes with their leaders in *follower, *n entries ordered by dof. The array is enlarged if *capacity is too small. The
 * result is independent of the number of threads. Fails only if memory allocation fails. */
PetscErrorCode mpm_light_find(const mpm_grid *g, const mpm_walls *walls, const mpm_light_rule *rule, int64_t *n, int64_t *capacity,
                              body_dependent_block **follower);
#endif
