/* Compressible neo-Hookean elasticity, psi = mu/2 (sum sigma_i^2 - 3) - mu log J + lambda/2 log^2 J. Source: [Bonet2008].
 * sigma_i: principal stretches, J: their product. psi is infinite at J = 0 and not defined for inverted elements. */
#include "discretize/material/elastic.h"
#include "discretize/material/material.h"

const key_table material_keys_neo_hookean = {
    .name = "materials.neo_hookean",
    .help = "Elastic solid for large stretches, such as rubber; a step that would invert it is rejected "
            "and repeated in substeps.",
    .size = sizeof(elastic_parameters),
    .keys = elastic_keys};

/* p_i = mu sigma_i - m/sigma_i with m = mu - lambda log J; a = mu + m/(sigma_i sigma_j), b = mu - m/(sigma_i sigma_j). */
static void neo_hookean_stress(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                               material_row *restrict p, material_row *restrict dp, material_row *restrict a, material_row *restrict b)
{
  const elastic_constants c = *(const elastic_constants *)constants;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s0 = sigma[0][i], s1 = sigma[1][i], s2 = sigma[2][i], J = s0 * s1 * s2;
    const double m = c.mu - c.lambda * lane_log(J), m_over_J = m / J;
    p[0][i] = c.mu * s0 - m_over_J * (s1 * s2);
    p[1][i] = c.mu * s1 - m_over_J * (s0 * s2);
    p[2][i] = c.mu * s2 - m_over_J * (s0 * s1);
    if (dp) {
      const double i0 = s1 * s2 / J, i1 = s0 * s2 / J, i2 = s0 * s1 / J, lm = c.lambda + m;
      dp[0][i] = c.mu + lm * i0 * i0;
      dp[4][i] = c.mu + lm * i1 * i1;
      dp[8][i] = c.mu + lm * i2 * i2;
      dp[1][i] = dp[3][i] = c.lambda * i0 * i1;
      dp[2][i] = dp[6][i] = c.lambda * i0 * i2;
      dp[5][i] = dp[7][i] = c.lambda * i1 * i2;
      a[0][i] = c.mu + m_over_J * s0, a[1][i] = c.mu + m_over_J * s1, a[2][i] = c.mu + m_over_J * s2;
      b[0][i] = c.mu - m_over_J * s0, b[1][i] = c.mu - m_over_J * s1, b[2][i] = c.mu - m_over_J * s2;
    }
  }
}

static void neo_hookean_energy(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                               double *restrict psi)
{
  const elastic_constants c = *(const elastic_constants *)constants;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double e0 = sigma[0][i] - 1.0, e1 = sigma[1][i] - 1.0, e2 = sigma[2][i] - 1.0;
    /* sigma^2 - 1 and log sigma from the small strains: their leading terms cancel near rest */
    const double squares = e0 * (2.0 + e0) + e1 * (2.0 + e1) + e2 * (2.0 + e2);
    const double volume  = lane_log(sigma[0][i]) + lane_log(sigma[1][i]) + lane_log(sigma[2][i]);
    psi[i]               = 0.5 * c.mu * squares - c.mu * volume + 0.5 * c.lambda * volume * volume;
  }
}

const material_law material_law_neo_hookean = {.name       = "neo_hookean",
                                               .keys       = &material_keys_neo_hookean,
                                               .prepare    = elastic_prepare,
                                               .stress     = neo_hookean_stress,
                                               .energy     = neo_hookean_energy,
                                               .wave_speed = elastic_wave_speed};
