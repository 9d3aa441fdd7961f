/* Linear springs between pairs of nodes, as an element set.
 *
 *   T = k (L / L0 - 1),   f_1 = -T u,   energy k L0 (L / L0 - 1)^2 / 2         tension; L, L0: length and rest length
 *   f_1 = -beta k / L0 u0 u0 . (v_1 - v_0)                                     damping; u0: u at the start of the step
 *
 * u is the unit vector from node 0 to node 1, f_1 the force on node 1; f_0 = -f_1. k [N] is force per strain, so a chain of springs has the
 * same stiffness for any subdivision. The damping always dissipates energy and is zero for rigid motions. The stiffness matrix of a
 * compressed spring is indefinite and is not modified. Caller: cloth_body.c. */
#ifndef SS_DISCRETIZE_CLOTH_SPRINGS_H
#define SS_DISCRETIZE_CLOTH_SPRINGS_H
#include "discretize/nodal/nodal_body.h"

/* Add springs node [n][2] to an unfinished body; rest lengths are those at the rest positions of b. name: a static string for descriptions
 * and the step status. k >= 0 [N], beta >= 0 [s]. PETSC_ERR_USER_INPUT for a spring without length. */
PetscErrorCode springs_add(nodal_body *b, const char *name, double k, double beta, int64_t n, const int32_t *node);
#endif
