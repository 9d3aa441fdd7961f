/* Masses of the surface nodes of rigid bodies for augury contact.
 *
 * A body moves with u = (V, W); a node at r from its centre of mass moves with R u = V + W x r. For any node masses m_p the body receives
 * the momentum that its nodes gain by velocity changes dv_p,
 *
 *   du = M^-1 Q,      Q = sum_p R_p^T m_p dv_p,      M = diag (mass, inertia)
 *
 * which conserves linear and angular momentum for any masses. The kinetic energy of the body changes by u^T Q + Q^T M^-1 Q / 2, that of
 * its nodes by u^T Q + sum m_p |dv_p|^2 / 2. The former is at most the latter, for any dv, if and only if
 *
 *   S = sum_p R_p^T m_p R_p <= M
 *
 * For dv_p along given unit vectors n_p, S = sum_p R_p^T n_p n_p^T R_p m_p. Masses proportional to the area are far too small if only a
 * small part of the surface is near other bodies, and slightly too large if all of it is (a shell has more inertia than a solid). All
 * nodes at one point r together have the effective mass 1/(1/mass + |r x n|^2/inertia) along n. Caller: sim/hybrid/hybrid_boundary.c. */
#ifndef SS_CONTACT_AUGURY_RIGID_WEIGHT_H
#define SS_CONTACT_AUGURY_RIGID_WEIGHT_H

/* S [6][6] += R^T m R of a node: m [kg], r [3] from the centre of mass [m]. */
void rigid_weight_add(double S[36], double m, const double r[3]);
/* S [6][6] += R^T n m n^T R of a node; n [3]: unit vector. */
void rigid_weight_add_along(double S[36], double m, const double r[3], const double n[3]);
/* A factor f with f S <= M, at most 3 % below the largest such factor; 1 if S is 0. mass [kg]; inertia [9] symmetric positive definite. */
double rigid_weight_factor(const double S[36], double mass, const double inertia[9]);
#endif
