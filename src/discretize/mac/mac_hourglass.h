/* Hourglass control for shear stress at cell centres [FlanaganBelytschko1981].
 *
 * In the colocated arrangement the shear stress of an edge is the mean of four cells, and the shear rate of a cell is the mean of its four
 * edges. A velocity that alternates from one row of faces to the next has zero mean shear rate, and no friction resists it. Uneven
 * particle distributions excite such modes, and a slab that slides on a bed of the same friction breaks up.
 *
 * A separate friction stress, limited like Coulomb friction, resists these modes. Let e be the shear rate of edges, P the operator that
 * averages edges to cells and cells back to edges, and gamma = e - P e. An edge has the additional stress
 *    q = clip(k gamma, -share M p ... share M p),   k = h^2 / (16 mobility),
 * and its stress on the four faces is (1 - P) q. P is symmetric, of norm 1, and preserves constants. Hence uniform shear does not
 * change, momentum and angular momentum are conserved, and kinetic energy decreases by at least sum h^3 dt q^2 / (2 k). Only
 * edges between active cells and faces that no solid cuts are included. */
#ifndef SS_DISCRETIZE_MAC_MAC_HOURGLASS_H
#define SS_DISCRETIZE_MAC_MAC_HOURGLASS_H
#include "discretize/mac/mac_system.h"

/* Apply this stress to y->u, the velocities before the forces of the step. p [n_cells]: pressure of the last step [Pa]; share >= 0 as above. Has no
 * effect if share is 0 or if stress is located on edges. Same bits on any number of threads. Fails only if memory allocation fails. */
PetscErrorCode mac_hourglass_apply(const mac_grid *g, mac_system *y, double share, const double *p);
#endif
