/* Rotations by the Cayley map: cay(theta) is the rotation of the quaternion (1, theta / 2) / |(1, theta / 2)|, by the angle 2
 * atan(|theta| / 2) about theta. All derivatives are rational functions, without series expansion and without a singularity at half a
 * turn. Used by the rod models corde and super_helix. Quaternions are (w, x, y, z). */
#ifndef SS_DISCRETIZE_ROD_CAYLEY_H
#define SS_DISCRETIZE_ROD_CAYLEY_H
#include "core/quaternion.h"

/* q = quaternion of cay(theta). */
static inline void cayley_quaternion(double q[4], const double theta[3])
{
  q[0] = 1.0;
  v3_scale(q + 1, 0.5, theta);
  quaternion_normalise(q);
}

/* R = rotation matrix cay(theta), row-major. */
static inline void cayley_rotation(double R[9], const double theta[3])
{
  double q[4];
  cayley_quaternion(q, theta);
  quaternion_to_matrix(R, q);
}

/* theta of the rotation q, by less than half a turn. */
static inline void cayley_inverse(double theta[3], const double q[4]) { v3_scale(theta, 2.0 / q[0], q + 1); }

/* Column i of J [9]: the world rotation increment per change of theta_i, (e_i + theta x e_i / 2) / (1 + |theta|^2 / 4). */
static inline void cayley_jacobian(double J[9], const double theta[3])
{
  const double s = 1.0 / (1.0 + 0.25 * v3_dot(theta, theta));
  m3_skew(J, theta);
  for (int k = 0; k < 9; ++k) J[k] *= 0.5 * s;
  J[0] += s, J[4] += s, J[8] += s;
}

/* H[3 i + j] = m . d(column i of the Jacobian above)/d theta_j. */
static inline void cayley_second(double H[9], const double theta[3], const double m[3])
{
  const double s = 1.0 / (1.0 + 0.25 * v3_dot(theta, theta));
  double       J[9], g[3];
  cayley_jacobian(J, theta);
  m3_mulv_t(g, J, m);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[3 * i + j] = -0.5 * s * theta[j] * g[i];
  /* m . (e_j x e_i) s / 2 */
  double M[9];
  m3_skew(M, m);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[3 * i + j] += 0.5 * s * M[3 * i + j];
}
#endif
