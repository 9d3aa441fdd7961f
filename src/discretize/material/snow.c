/* Snow: fixed-corotated elasticity (fixed_corotated.c). Elastic stretches are limited to [1 - theta_c, 1 + theta_s], and compaction hardens
 * the material. Source: [Stomakhin2013].
 *
 *   mu, lambda -> mu h, lambda h,   h = exp(xi (1 - J_P)),   J_P = plastic volume ratio, > 1 expanded, < 1 compacted
 *
 * The key `plasticity` selects when the limit applies in an implicit step. sigma: trial stretches, s = clamp(sigma):
 *   implicit  in every evaluation: p_i = tau_i(s)/sigma_i with the Kirchhoff stress tau, as for drucker_prager. Stress remains in the
 *             elastic range during the step. The tangent is not symmetric while a stretch is limited.
 *   explicit  as published: the stress is p(sigma), and stretches are limited when the step is accepted. In a long step the stress can
 *             exceed the range.
 * Both are equal in the elastic range and after the step. J_P is constant during the step; then J_P <- J_P prod(sigma)/prod(s). */
#include "discretize/material/elastic.h"
#include "discretize/material/material.h"
#include "core/memory.h"

typedef enum { PLASTICITY_IMPLICIT, PLASTICITY_EXPLICIT } plasticity;
static const char *const plasticity_names[] = {"implicit", "explicit", NULL};

typedef struct {
  elastic_parameters elastic;
  double             critical_compression, critical_stretch, hardening;
  int                plasticity;
} parameters;

typedef struct {
  elastic_constants elastic;
  double            least, most, hardening;
  plasticity        plasticity;
} constants_snow;

/* clang-format off */
static const key_spec keys[] = {ELASTIC_KEYS,
  {.name = "critical_compression", .type = KEY_REAL, .offset = offsetof(parameters, critical_compression), .unit = "1",
   .fallback = "2.5e-2", .min = 0.0, .max = 0.9, .help = "theta_c: elastic stretches are at least 1 - theta_c"},
  {.name = "critical_stretch", .type = KEY_REAL, .offset = offsetof(parameters, critical_stretch), .unit = "1",
   .fallback = "7.5e-3", .min = 0.0, .max = INFINITY, .help = "theta_s: elastic stretches are at most 1 + theta_s"},
  {.name = "hardening", .type = KEY_REAL, .offset = offsetof(parameters, hardening), .unit = "1", .fallback = "10",
   .min = 0.0, .max = 100.0, .help = "xi: the stiffness is multiplied by exp(xi (1 - J_P)), where J_P is the plastic volume ratio"},
  {.name = "plasticity", .type = KEY_ENUM, .offset = offsetof(parameters, plasticity), .choices = plasticity_names,
   .fallback = "implicit", .help = "stretches are limited within the implicit step, or after it (explicit), as published"},
                                {0}};
/* clang-format on */

const key_table material_keys_snow = {.name = "materials.snow",
                                      .help =
                                          "Elastic up to a critical compression and stretch, then plastic; hardens in compression, softens "
                                          "and fractures in tension.",
                                      .size = sizeof(parameters),
                                      .keys = keys};

static PetscErrorCode snow_prepare(const void *from, void **out)
{
  const parameters *p = from;
  constants_snow   *c;
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("material snow", 1, sizeof *c, &c));
  *c   = (constants_snow){.elastic    = elastic_lame(&p->elastic),
                          .least      = 1.0 - p->critical_compression,
                          .most       = 1.0 + p->critical_stretch,
                          .hardening  = p->hardening,
                          .plasticity = (plasticity)p->plasticity};
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

LANE double clamp(double x, double least, double most)
{
  const double y = x < least ? least : x;
  return y > most ? most : y;
}

/* (s_i - s_j)/(sigma_i - sigma_j): between 0 and 1, and the derivative of the clamp where both are equal. */
LANE double clamp_slope(double si, double sj, double ti, double tj)
{
  const double difference = ti - tj;
  const double inside     = si == ti ? 1.0 : 0.0;
  return difference == 0.0 ? inside : (si - sj) / (difference == 0.0 ? 1.0 : difference);
}

/* tau_i = 2 mu s_i (s_i - 1) + lambda J (J - 1) at the limited stretches s; p_i = tau_i/sigma_i. With the limits moved out of
 * reach this is the elastic law, so that one loop serves both moments of plasticity. Differences of tau factor:
 *   (tau_i - tau_j)/(sigma_i - sigma_j) = 2 mu (s_i + s_j - 1) clamp_slope,  a = that/sigma_i - tau_j/(sigma_i sigma_j). */
static void snow_stress(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                        material_row *restrict p, material_row *restrict dp, material_row *restrict a, material_row *restrict b)
{
  const constants_snow c     = *(const constants_snow *)constants;
  const double         least = c.plasticity == PLASTICITY_IMPLICIT ? c.least : 0.0;
  const double         most  = c.plasticity == PLASTICITY_IMPLICIT ? c.most : INFINITY;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double h = lane_exp(c.hardening * (1.0 - state[0][i])), mu2 = 2.0 * c.elastic.mu * h, lambda = c.elastic.lambda * h;
    const double t0 = sigma[0][i], t1 = sigma[1][i], t2 = sigma[2][i];
    const double s0 = clamp(t0, least, most), s1 = clamp(t1, least, most), s2 = clamp(t2, least, most), J = s0 * s1 * s2;
    const double tau0 = mu2 * s0 * (s0 - 1.0) + lambda * J * (J - 1.0), i0 = 1.0 / t0;
    const double tau1 = mu2 * s1 * (s1 - 1.0) + lambda * J * (J - 1.0), i1 = 1.0 / t1;
    const double tau2 = mu2 * s2 * (s2 - 1.0) + lambda * J * (J - 1.0), i2 = 1.0 / t2;
    p[0][i] = tau0 * i0, p[1][i] = tau1 * i1, p[2][i] = tau2 * i2;
    if (dp) {
      const double k0 = s0 == t0 ? 1.0 : 0.0, k1 = s1 == t1 ? 1.0 : 0.0, k2 = s2 == t2 ? 1.0 : 0.0;
      const double v = lambda * (2.0 * J - 1.0), v0 = k0 * v * s1 * s2, v1 = k1 * v * s0 * s2, v2 = k2 * v * s0 * s1;
      dp[0][i] = (k0 * mu2 * (2.0 * s0 - 1.0) + v0 - tau0 * i0) * i0;
      dp[4][i] = (k1 * mu2 * (2.0 * s1 - 1.0) + v1 - tau1 * i1) * i1;
      dp[8][i] = (k2 * mu2 * (2.0 * s2 - 1.0) + v2 - tau2 * i2) * i2;
      dp[1][i] = v1 * i0, dp[2][i] = v2 * i0, dp[5][i] = v2 * i1;
      dp[3][i] = v0 * i1, dp[6][i] = v0 * i2, dp[7][i] = v1 * i2;
      a[0][i] = (mu2 * (s1 + s2 - 1.0) * clamp_slope(s1, s2, t1, t2) - tau2 * i2) * i1;
      a[1][i] = (mu2 * (s0 + s2 - 1.0) * clamp_slope(s0, s2, t0, t2) - tau2 * i2) * i0;
      a[2][i] = (mu2 * (s0 + s1 - 1.0) * clamp_slope(s0, s1, t0, t1) - tau1 * i1) * i0;
      b[0][i] = (tau1 * i1 + tau2 * i2) / (t1 + t2);
      b[1][i] = (tau0 * i0 + tau2 * i2) / (t0 + t2);
      b[2][i] = (tau0 * i0 + tau1 * i1) / (t0 + t1);
    }
  }
}

static void snow_energy(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                        double *restrict psi)
{
  const constants_snow c     = *(const constants_snow *)constants;
  const double         least = c.plasticity == PLASTICITY_IMPLICIT ? c.least : 0.0;
  const double         most  = c.plasticity == PLASTICITY_IMPLICIT ? c.most : INFINITY;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double h  = lane_exp(c.hardening * (1.0 - state[0][i]));
    const double s0 = clamp(sigma[0][i], least, most), s1 = clamp(sigma[1][i], least, most), s2 = clamp(sigma[2][i], least, most);
    const double e0 = s0 - 1.0, e1 = s1 - 1.0, e2 = s2 - 1.0, volume = s0 * s1 * s2 - 1.0;
    psi[i] = h * (c.elastic.mu * (e0 * e0 + e1 * e1 + e2 * e2) + 0.5 * c.elastic.lambda * volume * volume);
  }
}

static void plastic_return(const void *constants, int64_t n, material_row *restrict sigma, material_row *restrict state)
{
  const constants_snow c = *(const constants_snow *)constants;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double t0 = sigma[0][i], t1 = sigma[1][i], t2 = sigma[2][i];
    const double s0 = clamp(t0, c.least, c.most), s1 = clamp(t1, c.least, c.most), s2 = clamp(t2, c.least, c.most);
    sigma[0][i] = s0, sigma[1][i] = s1, sigma[2][i] = s2;
    state[0][i] *= (t0 * t1 * t2) / (s0 * s1 * s2);
  }
}

const material_law material_law_snow = {.name           = "snow",
                                        .keys           = &material_keys_snow,
                                        .n_state        = 1,
                                        .state_name     = {"plastic_volume"},
                                        .state_unit     = {"1"},
                                        .state_help     = {"J_P: plastic part of the volume ratio; below 1 compacted, stiffer"},
                                        .state_initial  = {1.0},
                                        .prepare        = snow_prepare,
                                        .stress         = snow_stress,
                                        .energy         = snow_energy,
                                        .plastic_return = plastic_return,
                                        .wave_speed     = elastic_wave_speed};
