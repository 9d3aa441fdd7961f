/* Linear corotated elasticity, psi = mu sum (sigma_i - 1)^2 + lambda/2 (sum (sigma_i - 1))^2: Hooke's law between the stretches and
 * the stress per undeformed area, in axes that turn with the material. Source: [MullerGross2004], with the rotation of the polar
 * decomposition. Quadratic in the stretches: defined, and pushing back, also for inverted ones. */
#include "discretize/material/law.h"

const key_table material_keys_linear_corotated = {
    .name = "materials.linear_corotated",
    .help = "Elastic solid for large rotations and small stretches, linear in these: resists loss of volume to first order only; "
            "recovers from inversion.",
    .size = sizeof(elastic_parameters),
    .keys = elastic_keys};

/* p_i = 2 mu (sigma_i - 1) + t, t = lambda sum (sigma - 1). Then a = 2 mu, b = 2 mu + (2 t - 4 mu)/(sigma_i + sigma_j). */
static void stress(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                   material_row *restrict p, material_row *restrict dp, material_row *restrict a, material_row *restrict b)
{
  const elastic_constants c   = *(const elastic_constants *)constants;
  const double            mu2 = 2.0 * c.mu;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double e0 = sigma[0][i] - 1.0, e1 = sigma[1][i] - 1.0, e2 = sigma[2][i] - 1.0, t = c.lambda * (e0 + e1 + e2);
    p[0][i] = mu2 * e0 + t;
    p[1][i] = mu2 * e1 + t;
    p[2][i] = mu2 * e2 + t;
  }
  if (!dp) return;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s0 = sigma[0][i], s1 = sigma[1][i], s2 = sigma[2][i];
    const double spin = 2.0 * (c.lambda * ((s0 - 1.0) + (s1 - 1.0) + (s2 - 1.0)) - mu2);
    dp[0][i] = dp[4][i] = dp[8][i] = mu2 + c.lambda;
    dp[1][i] = dp[2][i] = dp[3][i] = dp[5][i] = dp[6][i] = dp[7][i] = c.lambda;
    a[0][i] = a[1][i] = a[2][i] = mu2;
    b[0][i]                     = mu2 + spin / elastic_safe_sum(s1, s2);
    b[1][i]                     = mu2 + spin / elastic_safe_sum(s0, s2);
    b[2][i]                     = mu2 + spin / elastic_safe_sum(s0, s1);
  }
}

static void energy(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                   double *restrict psi)
{
  const elastic_constants c = *(const elastic_constants *)constants;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double e0 = sigma[0][i] - 1.0, e1 = sigma[1][i] - 1.0, e2 = sigma[2][i] - 1.0, sum = e0 + e1 + e2;
    psi[i] = c.mu * (e0 * e0 + e1 * e1 + e2 * e2) + 0.5 * c.lambda * sum * sum;
  }
}

const material_law material_law_linear_corotated = {.name             = "linear_corotated",
                                                    .keys             = &material_keys_linear_corotated,
                                                    .accepts_inverted = true,
                                                    .prepare          = elastic_prepare,
                                                    .stress           = stress,
                                                    .energy           = energy,
                                                    .wave_speed       = elastic_wave_speed};
