/* Node masses of rigid bodies on the grid of augury.
 *
 * A body moves with u = (V, W), a node at r from its centre with R u = V + W x r. For any node masses m_p the body receives
 * the momentum that its nodes gained,
 *
 *   du = M^-1 Q,      Q = sum_p R_p^T m_p dv_p,      M = diag (mass, inertia)
 *
 * which conserves linear and angular momentum; the masses are free to choose. The body's kinetic energy changes by u^T Q + Q^T M^-1 Q / 2, that of
 * its nodes by u^T Q + sum m_p |dv_p|^2 / 2. The first is at most the second, for any dv, if and only if
 *
 *   S = sum_p R_p^T m_p R_p <= M
 *
 * and for any dv along directions n_p, if S is the sum of R_p^T n_p n_p^T R_p m_p. Node masses in proportion to area are far too small where
 * only a small part of the surface is near others, and slightly too large where all of it is: shells have more inertia. All nodes at one
 * point r together have the effective mass 1/(1/mass + |r x n|^2/inertia) along n. Caller: sim/hybrid/hybrid_boundary.c. */
#ifndef SS_CONTACT_AUGURY_RIGID_WEIGHT_H
#define SS_CONTACT_AUGURY_RIGID_WEIGHT_H

/* S [6][6] += R^T m R of a node: m [kg], r [3] from the centre [m]. */
void rigid_weight_add(double S[36], double m, const double r[3]);
/* S [6][6] += R^T n m n^T R, n [3] of length 1. */
void rigid_weight_add_along(double S[36], double m, const double r[3], const double n[3]);
/* The largest f with f S <= M, to 3 % and never more; 1 if S is 0. inertia [9] symmetric positive definite. */
double rigid_weight_factor(const double S[36], double mass, const double inertia[9]);
#endif
