/* Polar decomposition of a 3x3 matrix from its singular values (core/svd3.h), as an independent reference in tests.
 *
 * F = R S with R a rotation (det +1) and S symmetric: R = U V^T, S = V diag(sigma) V^T. For an inverted F the smallest eigenvalue of S is negative,
 * so that R is still a rotation, the one nearest to F. Row-major. S may be NULL. */
#ifndef SS_TESTS_POLAR3_H
#define SS_TESTS_POLAR3_H
#include "core/math3.h"
#include "core/svd3.h"

static inline void polar3(const double F[9], double R[9], double S[9])
{
  double U[9], sigma[3], V[9], T[9];
  svd3(F, U, sigma, V);
  m3_mul_nt(R, U, V);
  if (!S) return;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) T[3 * i + j] = V[3 * i + j] * sigma[j];
  m3_mul_nt(S, T, V);
  for (int i = 0; i < 3; ++i) /* symmetric to the last bit */
    for (int j = 0; j < i; ++j) S[3 * i + j] = S[3 * j + i];
}
#endif
