/* Implementation of free_rotation.h. */
#include "discretize/rigid/free_rotation.h"
#include "core/math3.h"
#include "core/quaternion.h"

static const double SUBSTEP_ANGLE = 0.02; /* [rad] */

/* W = I^-1 Q^T l, and rate = d theta/dt. */
static void evaluate_rate(const double inverse[9], const double l[3], const double theta[3], double W[3], double rate[3])
{
  double Q[9], local[3], w[3], once[3], twice[3];
  rotation_exp(Q, theta);
  m3_mulv_t(local, Q, l);
  m3_mulv(W, inverse, local);
  m3_mulv(w, Q, W);
  /* Jl^-1 = 1 - [theta]/2 + c [theta]^2, c = (1 - (a/2) cot(a/2)) / a^2 */
  const double a2 = v3_dot(theta, theta), half = 0.5 * sqrt(a2);
  const double c = a2 < 1e-4 ? 1.0 / 12.0 + a2 / 720.0 : (1.0 - half / tan(half)) / a2;
  v3_cross(once, theta, w);
  v3_cross(twice, theta, once);
  for (int k = 0; k < 3; ++k) rate[k] = w[k] - 0.5 * once[k] + c * twice[k];
}

bool free_rotation(const double inertia[9], const double inverse[9], const double W0[3], double dt, double theta[3], double W1[3])
{
  const double angle = dt * v3_norm(W0);
  double       l[3], W[3], k1[3], k2[3], k3[3], k4[3], at[3];
  if (!(angle <= FREE_ROTATION_LARGEST_ANGLE)) return false;
  const int    n = (int)ceil(angle / SUBSTEP_ANGLE) + (angle == 0.0);
  const double h = dt / n;
  m3_mulv(l, inertia, W0);
  v3_set(theta, 0.0, 0.0, 0.0);
  for (int i = 0; i < n; ++i) {
    evaluate_rate(inverse, l, theta, W, k1);
    for (int k = 0; k < 3; ++k) at[k] = theta[k] + 0.5 * h * k1[k];
    evaluate_rate(inverse, l, at, W, k2);
    for (int k = 0; k < 3; ++k) at[k] = theta[k] + 0.5 * h * k2[k];
    evaluate_rate(inverse, l, at, W, k3);
    for (int k = 0; k < 3; ++k) at[k] = theta[k] + h * k3[k];
    evaluate_rate(inverse, l, at, W, k4);
    for (int k = 0; k < 3; ++k) theta[k] += h / 6.0 * (k1[k] + 2.0 * (k2[k] + k3[k]) + k4[k]);
    if (!(v3_norm(theta) <= 2.0 * FREE_ROTATION_LARGEST_ANGLE)) return false;
  }
  evaluate_rate(inverse, l, theta, W1, k1);
  return true;
}
