/* Derivative of the stress in a direction, from the spectral tangent of material_stress. */
#ifndef SS_TESTS_STRESS_DIFFERENTIAL_H
#define SS_TESTS_STRESS_DIFFERENTIAL_H
#include "core/math3.h"

/* dP = (dP/dF) : dF for one point, from the spectral tangent of point i; transposed: (dP/dF)^T : dF. */
static inline void stress_differential(int64_t ld, int64_t i, const double *U, const double *V, const double *dp, const double *a,
                                       const double *b, const double dF[9], bool is_transposed, double dP[9])
{
  double u[9], v[9], T[9], M[9], D[9];
  for (int k = 0; k < 9; ++k) u[k] = U[k * ld + i], v[k] = V[k * ld + i];
  m3_mul_tn(T, u, dF);
  m3_mul(M, T, v);
  for (int r = 0; r < 3; ++r) {
    D[4 * r] = 0.0;
    for (int c = 0; c < 3; ++c) {
      D[4 * r] += dp[(is_transposed ? 3 * c + r : 3 * r + c) * ld + i] * M[4 * c];
      if (r == c) continue;
      const int    k    = 3 - r - c;
      const double mean = 0.5 * (M[3 * r + c] + M[3 * c + r]), spin = 0.5 * (M[3 * r + c] - M[3 * c + r]);
      D[3 * r + c] = a[k * ld + i] * mean + b[k * ld + i] * spin;
    }
  }
  m3_mul(T, u, D);
  m3_mul_nt(dP, T, v);
}
#endif
