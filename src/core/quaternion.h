/* Unit quaternions (w, x, y, z) and the exponential map of rotations. All inline, no state.
 *
 * A quaternion q represents the rotation x -> q x q*; q and -q represent the same rotation. quaternion_multiply(a, b) applies b first, then a,
 * like the product of their matrices. Rotation vectors are axis times angle [rad]; matrices are row-major 3x3. All functions are
 * accurate to round-off for angles from 0 to pi. Outputs must not alias inputs unless stated. */
#ifndef SS_CORE_QUATERNION_H
#define SS_CORE_QUATERNION_H
#include "core/math3.h"

static inline void quaternion_identity(double q[4]) { q[0] = 1.0, q[1] = q[2] = q[3] = 0.0; }

static inline void quaternion_conjugate(double o[4], const double q[4]) /* the inverse rotation; may alias */
{
  o[0] = q[0], o[1] = -q[1], o[2] = -q[2], o[3] = -q[3];
}

static inline double quaternion_dot(const double a[4], const double b[4]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }

/* Scale q to unit length; a zero quaternion becomes the identity. */
static inline void quaternion_normalise(double q[4])
{
  const double largest = fmax(fmax(fabs(q[0]), fabs(q[1])), fmax(fabs(q[2]), fabs(q[3])));
  if (largest == 0.0) {
    quaternion_identity(q);
    return;
  }
  double r[4];
  for (int k = 0; k < 4; ++k) r[k] = q[k] / largest; /* no overflow, no underflow */
  const double s = 1.0 / sqrt(quaternion_dot(r, r));
  for (int k = 0; k < 4; ++k) q[k] = s * r[k];
}

static inline void quaternion_multiply(double o[4], const double a[4], const double b[4])
{
  o[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  o[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  o[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  o[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

static inline void quaternion_rotate(double o[3], const double q[4], const double x[3])
{
  double t[3], s[3];
  v3_cross(t, q + 1, x);
  v3_scale(t, 2.0, t);
  v3_cross(s, q + 1, t);
  for (int k = 0; k < 3; ++k) o[k] = x[k] + q[0] * t[k] + s[k];
}

static inline void quaternion_to_matrix(double R[9], const double q[4])
{
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  R[0] = 1.0 - 2.0 * (y * y + z * z), R[1] = 2.0 * (x * y - w * z), R[2] = 2.0 * (x * z + w * y);
  R[3] = 2.0 * (x * y + w * z), R[4] = 1.0 - 2.0 * (x * x + z * z), R[5] = 2.0 * (y * z - w * x);
  R[6] = 2.0 * (x * z - w * y), R[7] = 2.0 * (y * z + w * x), R[8] = 1.0 - 2.0 * (x * x + y * y);
}

/* Quaternion of the rotation matrix R, with w >= 0. The largest of the four components is computed from the diagonal, which avoids cancellation. */
static inline void quaternion_from_matrix(double q[4], const double R[9])
{
  const double four[4] = {1.0 + R[0] + R[4] + R[8], 1.0 + R[0] - R[4] - R[8], 1.0 - R[0] + R[4] - R[8],
                          1.0 - R[0] - R[4] + R[8]}; /* 4 w^2, 4 x^2, 4 y^2, 4 z^2 */
  int          k       = 0;
  for (int i = 1; i < 4; ++i)
    if (four[i] > four[k]) k = i;
  switch (k) {
  case 0: q[0] = four[0], q[1] = R[7] - R[5], q[2] = R[2] - R[6], q[3] = R[3] - R[1]; break;
  case 1: q[0] = R[7] - R[5], q[1] = four[1], q[2] = R[1] + R[3], q[3] = R[2] + R[6]; break;
  case 2: q[0] = R[2] - R[6], q[1] = R[1] + R[3], q[2] = four[2], q[3] = R[5] + R[7]; break;
  default: q[0] = R[3] - R[1], q[1] = R[2] + R[6], q[2] = R[5] + R[7], q[3] = four[3]; break;
  }
  quaternion_normalise(q);
  if (q[0] < 0.0)
    for (int i = 0; i < 4; ++i) q[i] = -q[i];
}

/* sin(x)/x */
static inline double rotation_sinc(double x) { return fabs(x) < 1e-4 ? 1.0 - x * x / 6.0 : sin(x) / x; }

/* Quaternion of the rotation vector theta. */
static inline void quaternion_exp(double q[4], const double theta[3])
{
  const double half = 0.5 * v3_norm(theta);
  q[0]              = cos(half);
  v3_scale(q + 1, 0.5 * rotation_sinc(half), theta);
  quaternion_normalise(q);
}

/* Rotation vector of q, |theta| <= pi. */
static inline void quaternion_log(double theta[3], const double q[4])
{
  const double s = v3_norm(q + 1), w = q[0] < 0.0 ? -q[0] : q[0], sign = q[0] < 0.0 ? -1.0 : 1.0;
  const double factor = s > 1e-4 * w ? 2.0 * atan2(s, w) / s : 2.0 / w * (1.0 - s * s / (3.0 * w * w));
  v3_scale(theta, sign * factor, q + 1);
}

/* Spherical interpolation: o is on the shortest rotation path from a (t = 0) to b (t = 1), traversed at constant angular velocity. */
static inline void quaternion_slerp(double o[4], const double a[4], const double b[4], double t)
{
  double inverse[4], relative[4], theta[3], part[4];
  quaternion_conjugate(inverse, a);
  quaternion_multiply(relative, inverse, b);
  quaternion_log(theta, relative);
  v3_scale(theta, t, theta);
  quaternion_exp(part, theta);
  quaternion_multiply(o, a, part);
  quaternion_normalise(o);
}

/* c1 = (1 - cos x)/x^2 and c2 = (x - sin x)/x^3. For x^2 < 1/4, where the closed forms suffer cancellation, they are computed by series whose first
 * omitted terms are below round-off. */
static inline void rotation_coefficients(double x, double *c1, double *c2)
{
  const double y = x * x;
  if (y < 0.25) {
    *c1 = 1.0 / 2 * (1 - y / 12 * (1 - y / 30 * (1 - y / 56 * (1 - y / 90 * (1 - y / 132 * (1 - y / 182))))));
    *c2 = 1.0 / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110 * (1 - y / 156 * (1 - y / 210))))));
  } else {
    *c1 = (1.0 - cos(x)) / y;
    *c2 = (x - sin(x)) / (x * y);
  }
}

/* R = exp([theta]_x), by Rodrigues' formula. */
static inline void rotation_exp(double R[9], const double theta[3])
{
  double       K[9], K2[9], c1, c2;
  const double x = v3_norm(theta);
  rotation_coefficients(x, &c1, &c2);
  m3_skew(K, theta);
  m3_mul(K2, K, K);
  m3_identity(R);
  m3_axpy(R, 1.0 - c2 * x * x, K); /* sin x / x */
  m3_axpy(R, c1, K2);
}

/* Rotation vector theta of the rotation matrix R, for an angle below pi; the inverse of rotation_exp. */
static inline void rotation_log(double theta[3], const double R[9])
{
  v3_set(theta, 0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1])); /* sin x times the axis */
  const double sine = v3_norm(theta), angle = atan2(sine, 0.5 * (R[0] + R[4] + R[8] - 1.0));
  v3_scale(theta, sine > 1e-8 ? angle / sine : 1.0, theta);
}

/* Left Jacobian of the exponential map: exp([theta + d]_x) = exp([J d]_x) exp([theta]_x) to first order in d, so that
 * J maps an increment d of the rotation vector to a rotation increment in the world frame. */
static inline void rotation_left_jacobian(double J[9], const double theta[3])
{
  double K[9], K2[9], c1, c2;
  rotation_coefficients(v3_norm(theta), &c1, &c2);
  m3_skew(K, theta);
  m3_mul(K2, K, K);
  m3_identity(J);
  m3_axpy(J, c1, K);
  m3_axpy(J, c2, K2);
}
#endif
