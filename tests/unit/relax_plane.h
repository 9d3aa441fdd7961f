/* Closed form of the relaxation on a half space n.x < offset, |n| = 1: the reference for level sets and for triangles. */
#ifndef SS_TESTS_RELAX_PLANE_H
#define SS_TESTS_RELAX_PLANE_H
#include "contact/penalty/penalty_relaxation.h"
#include "core/math3.h"

/* Arguments as relax_implicit_cone, with friction mu; the friction cone is satisfied to round-off. */
static inline relax_state relax_plane(const double n[3], double offset, double mu, const double *X, const double Z[3], double Y[3],
                                      double *Y_Z)
{
  const double phi = v3_dot(n, Z) - offset, h = -phi;
  double       W[3], d[3] = {0.0, 0.0, 0.0}, r = 0.0;
  v3_copy(Y, Z);
  if (Y_Z) m3_zero(Y_Z);
  if (phi >= 0.0) return RELAX_INACTIVE;
  for (int i = 0; i < 3; ++i) W[i] = Z[i] - phi * n[i];
  if (X) {
    v3_sub(d, X, W);
    r = v3_norm(d);
    /* Without friction the attachment never sticks, not even at r = 0, where this test alone would be true. */
    if (r <= mu * h && mu > 0.0) {
      v3_copy(Y, X);
      return RELAX_STICK;
    }
  }
  const double reach = X ? mu * h : 0.0, inverse = r > 0.0 ? 1.0 / r : 0.0, s = reach * inverse;
  v3_scale(d, inverse, d);
  for (int i = 0; i < 3; ++i) Y[i] = W[i] + reach * d[i];
  for (int i = 0; Y_Z && i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double T = (i == j) - n[i] * n[j], D = d[i] * d[j];
      Y_Z[3 * i + j] = r > 0.0 ? (1.0 - s) * (T - D) + D - (X ? mu : 0.0) * d[i] * n[j] : T;
    }
  return X ? RELAX_SLIDE : RELAX_FIRST;
}
#endif
