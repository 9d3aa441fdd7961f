/* Velocities that stress at cell centres does not feel.
 *
 * Shear stress of the colocated arrangement acts on edges as the mean of four cells, so that a cell's rate of shear is the mean
 * of its four edges: of a velocity that alternates from one row of faces to the next it sees nothing, and no friction stops it.
 * Such waves are fed by what is uneven about grains, and a slab that slides with the bed's own friction comes apart by them.
 *
 * Here they are held as by a friction of their own, hourglass control [FlanaganBelytschko1981] with Coulomb's bound: with e the
 * rate of shear of edges and P e what is left of it after taking means over cells and back over edges, gamma = e - P e, an edge
 * bears
 *   q = clip(k gamma, -share M p ... share M p),   k = h^2 / (16 mobility),
 * and its stress on the four faces is (1 - P) q. P is symmetric, of norm 1, and keeps constants: uniform shear is not touched,
 * momentum and moment of momentum are kept, and kinetic energy falls by at least sum h^3 dt q^2 / (2 k). Only edges amid active
 * cells and faces that no solid cuts take part. */
#ifndef SS_DISCRETIZE_MAC_MAC_HOURGLASS_H
#define SS_DISCRETIZE_MAC_MAC_HOURGLASS_H
#include "discretize/mac/mac_system.h"

/* Changes y->u, what the step's forces begin from. p [n_cells] Pa, of the last step; share >= 0, 0: nothing is done; nor is it where
 * stress lives on edges. Same bits on any number of threads. Fails only when memory does. */
PetscErrorCode mac_hourglass_hold(const mac_grid *g, mac_system *y, double share, const double *p);
#endif
