/* How much of a rigid body its surface brings to a grid.
 *
 * A body moves with u = (V, W), a node at r from its centre with R u = V + W x r. Whatever masses m_p nodes have on the grid, the body takes
 * what they gained there,
 *
 *   du = M^-1 Q,      Q = sum_p R_p^T m_p dv_p,      M = diag (mass, inertia)
 *
 * so that linear and angular momentum are kept: the masses are free to choose. The body's kinetic energy changes by u^T Q + Q^T M^-1 Q / 2, that of
 * its nodes by u^T Q + sum m_p |dv_p|^2 / 2. The first is no more than the second, for any dv, if and only if
 *
 *   S = sum_p R_p^T m_p R_p <= M
 *
 * and for any dv along directions n_p, if S is that of R_p^T n_p n_p^T R_p. A share of the mass by area is far less where a small part
 * of a surface is near others, and a little too much where all of it is: shells have more inertia. All nodes at one place r weigh
 * 1/(1/mass + |r x n|^2/inertia) as seen along n: the mass of that place. */
#ifndef SS_CONTACT_AUGURY_RIGID_WEIGHT_H
#define SS_CONTACT_AUGURY_RIGID_WEIGHT_H

/* S [6][6] += R^T m R of a node: m [kg], r [3] from the centre [m]. */
void rigid_weight_add(double S[36], double m, const double r[3]);
/* S [6][6] += R^T n m n^T R, n [3] of length 1. */
void rigid_weight_add_along(double S[36], double m, const double r[3], const double n[3]);
/* The largest f with f S <= M, to 3 % and never more; 1 if S is 0. inertia [9] symmetric positive definite. */
double rigid_weight_factor(const double S[36], double mass, const double inertia[9]);
#endif
