/* Rigid fields on a body of nodes: what gives it back the momenta that a step took [MarquezRazonEtAl2023; hybrid, sec. 5]. */
#ifndef SS_DISCRETIZE_NODAL_NODAL_MOMENTUM_H
#define SS_DISCRETIZE_NODAL_NODAL_MOMENTUM_H
#include "discretize/nodal/nodal_body.h"

/* v_i += V + W x (x_i - center) at b->x, so that with m the mass and d = sum_i m_i (x_i - center)
 *   P changes by m V + W x d,   L about `center` by d x V + I W,   I that of nodal_body_inertia.
 *
 *   V       m/s
 *   W       rad/s
 *   center  m; with the centre of mass d = 0 and the two are apart
 *
 * False, and nothing changes, if any component of a node is held: what it lacks is the reaction of what holds it. */
bool nodal_body_add_rigid_velocity(nodal_body *b, const double V[3], const double W[3], const double center[3]);
/* inertia [9] = sum_i m_i (|r|^2 1 - r r^T), r = x_i - center, at b->x [kg m^2]. Singular if all nodes are on a line through it. */
void nodal_body_inertia(const nodal_body *b, const double center[3], double inertia[9]);
#endif
