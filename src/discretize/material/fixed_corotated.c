/* Fixed-corotated elasticity, psi = mu sum (sigma_i - 1)^2 + lambda/2 (J - 1)^2. Source: [Stomakhin2012].
 * sigma_i: principal stretches, J: their product. psi is a polynomial in the stretches. Therefore it is defined for inverted elements as
 * well, and its stress restores them. */
#include "discretize/material/elastic.h"
#include "discretize/material/material.h"

const key_table material_keys_fixed_corotated = {.name = "materials.fixed_corotated",
                                                 .help =
                                                     "Elastic solid for large rotations and moderate stretches; recovers from inversion.",
                                                 .size = sizeof(elastic_parameters),
                                                 .keys = elastic_keys};

/* p_i = 2 mu (sigma_i - 1) + lambda (J - 1) g_i, g_i = J/sigma_i. The differences of p factor, so that a and b need no limit:
 *   a = 2 mu - lambda (J - 1) sigma_k,   b = 2 mu + lambda (J - 1) sigma_k - 4 mu/(sigma_i + sigma_j).              */
static void fixed_corotated_stress(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                                   material_row *restrict p, material_row *restrict dp, material_row *restrict a, material_row *restrict b)
{
  const elastic_constants c = *(const elastic_constants *)constants;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s0 = sigma[0][i], s1 = sigma[1][i], s2 = sigma[2][i], pressure = c.lambda * (s0 * s1 * s2 - 1.0);
    p[0][i] = 2.0 * c.mu * (s0 - 1.0) + pressure * s1 * s2;
    p[1][i] = 2.0 * c.mu * (s1 - 1.0) + pressure * s0 * s2;
    p[2][i] = 2.0 * c.mu * (s2 - 1.0) + pressure * s0 * s1;
  }
  if (!dp) return;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s0 = sigma[0][i], s1 = sigma[1][i], s2 = sigma[2][i], pressure = c.lambda * (s0 * s1 * s2 - 1.0);
    const double g0 = s1 * s2, g1 = s0 * s2, g2 = s0 * s1, mu2 = 2.0 * c.mu;
    dp[0][i] = mu2 + c.lambda * g0 * g0;
    dp[4][i] = mu2 + c.lambda * g1 * g1;
    dp[8][i] = mu2 + c.lambda * g2 * g2;
    dp[1][i] = dp[3][i] = c.lambda * g0 * g1 + pressure * s2;
    dp[2][i] = dp[6][i] = c.lambda * g0 * g2 + pressure * s1;
    dp[5][i] = dp[7][i] = c.lambda * g1 * g2 + pressure * s0;
    a[0][i]             = mu2 - pressure * s0;
    a[1][i]             = mu2 - pressure * s1;
    a[2][i]             = mu2 - pressure * s2;
    b[0][i]             = mu2 + pressure * s0 - 2.0 * mu2 / elastic_safe_sum(s1, s2);
    b[1][i]             = mu2 + pressure * s1 - 2.0 * mu2 / elastic_safe_sum(s0, s2);
    b[2][i]             = mu2 + pressure * s2 - 2.0 * mu2 / elastic_safe_sum(s0, s1);
  }
}

static void fixed_corotated_energy(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                                   double *restrict psi)
{
  const elastic_constants c = *(const elastic_constants *)constants;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s0 = sigma[0][i], s1 = sigma[1][i], s2 = sigma[2][i];
    const double e0 = s0 - 1.0, e1 = s1 - 1.0, e2 = s2 - 1.0, volume = s0 * s1 * s2 - 1.0;
    psi[i] = c.mu * (e0 * e0 + e1 * e1 + e2 * e2) + 0.5 * c.lambda * volume * volume;
  }
}

const material_law material_law_fixed_corotated = {.name             = "fixed_corotated",
                                                   .keys             = &material_keys_fixed_corotated,
                                                   .accepts_inverted = true,
                                                   .prepare          = elastic_prepare,
                                                   .stress           = fixed_corotated_stress,
                                                   .energy           = fixed_corotated_energy,
                                                   .wave_speed       = elastic_wave_speed};
