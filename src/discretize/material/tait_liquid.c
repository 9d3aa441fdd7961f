/* Liquid with Tait's equation of state: pressure p = kappa (J^-gamma - 1), a function of the volume ratio J only. Source:
 * [ZongJiangHan2024], [Tampubolon2017].
 *
 *   psi = -kappa (J^(1-gamma)/(1-gamma) - J) + constant,  psi' = -kappa (J^-gamma - 1),  psi'' = kappa gamma J^(-gamma-1) > 0
 *
 * The stored gradient is J^(1/3) 1: shear is discarded, so that the gradient does not grow during flow. A step from the gradient s 1 to
 * F = s (1 + dt grad v) gives J = s^3 (1 + dt div v), which is linear in the velocities:
 *
 *   J = s^2 tr F - 2 s^3,  P = psi' s^2 1,  dP = psi'' s^4 tr(dF) 1
 *
 * The energy is convex in F. Its spectral tangent has U = V = 1, all entries of dp equal to psi'' s^4, and a = b = 0. Steps to J <= 0 are
 * rejected. */
#include "core/memory.h"
#include "discretize/material/elastic.h"
#include "discretize/material/material.h"

typedef struct {
  double density, kappa, gamma;
} parameters;

typedef struct {
  elastic_constants elastic; /* mu = 0, lambda = kappa gamma */
  double            kappa, gamma;
} constants_liquid;

/* clang-format off */
static const key_spec keys[] = {
  {.name = "density", .type = KEY_REAL, .offset = offsetof(parameters, density), .unit = "kg/m^3", .max = INFINITY,
   .is_open = true, .help = "mass per volume without pressure"},
  {.name = "kappa", .type = KEY_REAL, .offset = offsetof(parameters, kappa), .unit = "Pa", .max = INFINITY, .is_open = true,
   .help = "pressure is kappa (J^-gamma - 1), J = volume over the volume without pressure; the speed of sound is sqrt(kappa "
           "gamma/density). At depth H the volume is reduced by a fraction of about density g H/(kappa gamma)"},
  {.name = "gamma", .type = KEY_REAL, .offset = offsetof(parameters, gamma), .unit = "1", .fallback = "7", .min = 1.0,
   .max = 100.0, .is_open = true, .help = "exponent of the pressure, see kappa; stiffness increases with compression"},
                                {0}};
/* clang-format on */

const key_table material_keys_tait_liquid = {
    .name = "materials.tait_liquid",
    .help = "Liquid that resists compression and, weakly, expansion, but not shear. For bodies of kind mpm.",
    .size = sizeof(parameters),
    .keys = keys};

static PetscErrorCode tait_liquid_prepare(const void *from, void **out)
{
  const parameters *p = from;
  constants_liquid *c;
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("material tait_liquid", 1, sizeof *c, &c));
  *c   = (constants_liquid){.elastic = {.mu = 0.0, .lambda = p->kappa * p->gamma}, .kappa = p->kappa, .gamma = p->gamma};
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lanes of logarithm and exponential: not a number for J <= 0. */
static void tait_liquid_stress(const void *constants, int64_t n, const material_row *restrict start, const material_row *restrict F,
                               const material_row *restrict state, material_row *restrict P, material_row *restrict U,
                               material_row *restrict dp, material_row *restrict a, material_row *restrict b)
{
  const constants_liquid c = *(const constants_liquid *)constants;
  material_row           slope;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s = start[0][i], s2 = s * s, J = s2 * (F[0][i] + F[4][i] + F[8][i] - 2.0 * s), power = lane_exp(-c.gamma * lane_log(J));
    P[0][i] = P[4][i] = P[8][i] = -c.kappa * (power - 1.0) * s2;
    P[1][i] = P[2][i] = P[3][i] = P[5][i] = P[6][i] = P[7][i] = 0.0;
    slope[i]                                                  = c.kappa * c.gamma * power / J * s2 * s2;
  }
  for (int k = 0; k < 9 && U; ++k)
    for (int64_t i = 0; i < n; ++i) U[k][i] = k % 4 == 0, dp[k][i] = slope[i];
  for (int k = 0; k < 3 && U; ++k)
    for (int64_t i = 0; i < n; ++i) a[k][i] = b[k][i] = 0.0;
}

/* Zero at rest. */
static void tait_liquid_energy(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
                               double *restrict psi)
{
  const constants_liquid c = *(const constants_liquid *)constants;
  (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double J = sigma[0][i] * sigma[1][i] * sigma[2][i], power = lane_exp((1.0 - c.gamma) * lane_log(J));
    psi[i] = c.kappa * ((power - 1.0) / (c.gamma - 1.0) + (J - 1.0));
  }
}

/* s <- s (1 + dt div v)^(1/3); without divergence not a bit of it changes. */
static void tait_liquid_accept(const void *constants, int64_t n, const material_row *start, material_row *F, material_row *state,
                               double *overshoot, double *chord)
{
  (void)constants, (void)state;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double s = start[0][i], growth = ((F[0][i] - s) + (F[4][i] - s) + (F[8][i] - s)) / s;
    F[0][i] = F[4][i] = F[8][i] = s * lane_exp(lane_log(1.0 + growth) / 3.0);
    F[1][i] = F[2][i] = F[3][i] = F[5][i] = F[6][i] = F[7][i] = 0.0;
    overshoot[i] = chord[i] = 0.0;
  }
}

static const material_step step = {.is_convex = true, .largest_turn = INFINITY, .stress = tait_liquid_stress, .accept = tait_liquid_accept};

const material_law material_law_tait_liquid = {.name       = "tait_liquid",
                                               .keys       = &material_keys_tait_liquid,
                                               .is_liquid  = true,
                                               .prepare    = tait_liquid_prepare,
                                               .step       = &step,
                                               .energy     = tait_liquid_energy,
                                               .wave_speed = elastic_wave_speed};
