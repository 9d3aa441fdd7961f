/* Linear corotated elasticity about the rotation R0 of the deformation gradient that the step started from: quadratic in F, with
 * the same second derivative all through the step. Source: [ZongJiangHan2024], eq. 19.
 *
 *   psi = mu |eps|^2 + lambda/2 (tr eps)^2,  eps = sym(R0^T F) - 1,  P = R0 (2 mu eps + lambda tr(eps) 1)
 *
 * dP = R0 (2 mu sym(M) + lambda tr(M) 1) with M = R0^T dF: the spectral tangent with U = R0, V = 1, a = 2 mu, b = 0. A turn by the
 * angle w within the step is a strain of cos w - 1 across its axis. */
#include "core/svd3.h"
#include "discretize/material/law.h"

void lagged_rotation(int64_t n, const material_row *F, material_row *R)
{
  material_row U[9], V[9], sigma[3];
  svd3_batch(n, MATERIAL_BATCH, F[0], U[0], sigma[0], V[0]);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c)
#pragma omp simd
      for (int64_t i = 0; i < n; ++i)
        R[3 * r + c][i] = U[3 * r][i] * V[3 * c][i] + U[3 * r + 1][i] * V[3 * c + 1][i] + U[3 * r + 2][i] * V[3 * c + 2][i];
}

void lagged_chord(int64_t n, const material_row *R, const material_row *R0, double *chord)
{
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (int k = 0; k < 9; ++k) sum += (R[k][i] - R0[k][i]) * (R[k][i] - R0[k][i]);
    chord[i] = sqrt(sum);
  }
}

static void stress(elastic_constants c, int64_t n, const material_row *restrict R, const material_row *restrict F,
                   material_row *restrict P)
{
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    double M[9], r[9], f[9];
    for (int k = 0; k < 9; ++k) r[k] = R[k][i], f[k] = F[k][i];
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) M[3 * a + b] = r[a] * f[b] + r[3 + a] * f[3 + b] + r[6 + a] * f[6 + b];
    const double e0 = M[0] - 1.0, e1 = M[4] - 1.0, e2 = M[8] - 1.0, t = c.lambda * (e0 + e1 + e2), mu2 = 2.0 * c.mu;
    const double s0 = mu2 * e0 + t, s1 = mu2 * e1 + t, s2 = mu2 * e2 + t;
    const double s12 = c.mu * (M[5] + M[7]), s02 = c.mu * (M[2] + M[6]), s01 = c.mu * (M[1] + M[3]);
    for (int a = 0; a < 9; a += 3) {
      P[a][i]     = r[a] * s0 + r[a + 1] * s01 + r[a + 2] * s02;
      P[a + 1][i] = r[a] * s01 + r[a + 1] * s1 + r[a + 2] * s12;
      P[a + 2][i] = r[a] * s02 + r[a + 1] * s12 + r[a + 2] * s2;
    }
  }
}

void lagged_stress(const void *constants, int64_t n, const material_row *start, const material_row *F, const material_row *state,
                   material_row *P, material_row *U, material_row *dp, material_row *a, material_row *b)
{
  const elastic_constants c = *(const elastic_constants *)constants;
  material_row            own[9], *R = U ? U : own;
  (void)state;
  lagged_rotation(n, start, R);
  stress(c, n, (const material_row *)R, F, P);
  if (!U) return;
  for (int k = 0; k < 9; ++k)
    for (int64_t i = 0; i < n; ++i) dp[k][i] = c.lambda + (k % 4 == 0 ? 2.0 * c.mu : 0.0);
  for (int k = 0; k < 3; ++k)
    for (int64_t i = 0; i < n; ++i) a[k][i] = 2.0 * c.mu, b[k][i] = 0.0;
}
