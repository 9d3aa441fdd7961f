/* Linear corotated elasticity, psi = mu sum (sigma_i - 1)^2 + lambda/2 (sum (sigma_i - 1))^2: Hooke's law between the stretches and
 * the stress per undeformed area, in axes that rotate with the material. Source: [MullerGross2004], with the rotation of the polar
 * decomposition. psi is quadratic in the stretches. Therefore it is defined for inverted elements as well, and its stress restores them.
 *
 * With `rotation: lagged` the axes are those at the start of the step (lagged_stress). */
#include "discretize/material/linear_corotated.h"
#include "core/svd3.h"

extern const material_law material_law_linear_corotated;

enum { ROTATION_CURRENT, ROTATION_LAGGED };
static const char *const rotations[]     = {"current", "lagged", NULL};
static const char *const rotation_help[] = {
    "that at the end of the step: no error of rotation, free motion is a nonlinear problem",
    "that at the start of the step: energy is quadratic in a step, so that free motion is one linear solve; a rotation by an angle a "
    "in a step causes a strain of about a^2/2 (history: step_rotation, the largest angle)"};

typedef struct {
  elastic_parameters elastic;
  int                rotation;
} parameters;

/* clang-format off */
static const key_spec keys[] = {ELASTIC_KEYS,
  {.name = "rotation", .type = KEY_ENUM, .offset = offsetof(parameters, rotation), .choices = rotations,
   .choice_help = rotation_help, .fallback = "current", .help = "rotation about which the law is linearised"},
                                {0}};
/* clang-format on */

const key_table material_keys_linear_corotated = {
    .name = "materials.linear_corotated",
    .help = "Elastic solid for large rotations and small strains, linear in the strains: resists changes of volume to first order only; "
            "recovers from inversion.",
    .size = sizeof(parameters),
    .keys = keys};

/* p_i = 2 mu (sigma_i - 1) + t, t = lambda sum (sigma - 1). Then a = 2 mu, b = 2 mu + (2 t - 4 mu)/(sigma_i + sigma_j). */
static void linear_corotated_stress(const void *constants, int64_t n, const material_row *restrict sigma,
                                    const material_row *restrict state, material_row *restrict p, material_row *restrict dp,
                                    material_row *restrict a, material_row *restrict b)
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

void linear_corotated_energy(const void *constants, int64_t n, const material_row *restrict sigma, const material_row *restrict state,
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

/* --- about the rotation at the start of the step: see linear_corotated.h --- */

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

static void lagged_stress_rows(elastic_constants c, int64_t n, const material_row *restrict R, const material_row *restrict F,
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
  lagged_stress_rows(c, n, (const material_row *)R, F, P);
  if (!U) return;
  for (int k = 0; k < 9; ++k)
    for (int64_t i = 0; i < n; ++i) dp[k][i] = c.lambda + (k % 4 == 0 ? 2.0 * c.mu : 0.0);
  for (int k = 0; k < 3; ++k)
    for (int64_t i = 0; i < n; ++i) a[k][i] = 2.0 * c.mu, b[k][i] = 0.0;
}

/* No return: only how far the step has turned. */
static void linear_corotated_accept(const void *constants, int64_t n, const material_row *start, material_row *F, material_row *state,
                                    double *overshoot, double *chord)
{
  material_row R[9], R0[9];
  (void)constants, (void)state;
  lagged_rotation(n, start, R0), lagged_rotation(n, (const material_row *)F, R);
  lagged_chord(n, (const material_row *)R, (const material_row *)R0, chord);
  for (int64_t i = 0; i < n; ++i) overshoot[i] = 0.0;
}

static const material_step step = {
    .has_rotation = true, .is_convex = true, .largest_turn = INFINITY, .stress = lagged_stress, .accept = linear_corotated_accept};
static const material_law lagged = {.name             = "linear_corotated",
                                    .keys             = &material_keys_linear_corotated,
                                    .accepts_inverted = true,
                                    .prepare          = elastic_prepare,
                                    .step             = &step,
                                    .energy           = linear_corotated_energy,
                                    .wave_speed       = elastic_wave_speed};

static const material_law *linear_corotated_choose(const void *p)
{
  return ((const parameters *)p)->rotation == ROTATION_LAGGED ? &lagged : &material_law_linear_corotated;
}

const material_law material_law_linear_corotated = {.name             = "linear_corotated",
                                                    .keys             = &material_keys_linear_corotated,
                                                    .accepts_inverted = true,
                                                    .choose           = linear_corotated_choose,
                                                    .prepare          = elastic_prepare,
                                                    .stress           = linear_corotated_stress,
                                                    .energy           = linear_corotated_energy,
                                                    .wave_speed       = elastic_wave_speed};
