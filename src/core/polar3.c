#include "core/polar3.h"
#include "core/math3.h"
#include "core/svd3.h"
#include <float.h>

void polar3(const double F[9], double R[9], double S[9])
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

void polar3_differential(const double U[9], const double sigma[3], const double V[9], const double dF[9], double dR[9])
{
  double T[9], W[9], K[9] = {0.0};
  m3_mul_tn(T, U, dF);
  m3_mul(W, T, V);
  const double floor2 = (SVD3_GAP * sigma[0]) * (SVD3_GAP * sigma[0]) + DBL_MIN;
  for (int i = 0; i < 3; ++i) {
    const int    j = (i + 1) % 3, ij = 3 * i + j, ji = 3 * j + i;
    const double sum = sigma[i] + sigma[j];
    K[ij]            = (W[ij] - W[ji]) * sum / (sum * sum + floor2);
    K[ji]            = -K[ij];
  }
  m3_mul(T, U, K);
  m3_mul_nt(dR, T, V);
}
