/* core/polar3: rotation times symmetric for every kind of matrix; derivative against finite differences. */
#include "core/polar3.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/svd3.h"
#include "test.h"
#include <float.h>

#define ROUND_OFF (32.0 * DBL_EPSILON)

static uint64_t random_state = 88172645463325252u;
static double   random_unit(void) /* [-1, 1) */
{
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) * 0x1p-52 - 1.0;
}

static void rotation_times_symmetric(void **state)
{
  (void)state;
  for (int sample = 0; sample < 500; ++sample) {
    double F[9], R[9], S[9], T[9];
    for (int k = 0; k < 9; ++k) F[k] = sample % 2 ? random_unit() : floor(1.5 * random_unit() + 0.5); /* also singular */
    polar3(F, R, S);
    m3_mul_tn(T, R, R);
    for (int k = 0; k < 9; ++k) assert_close(T[k], k % 4 == 0, ROUND_OFF);
    assert_close(m3_det(R), 1.0, ROUND_OFF);
    m3_mul(T, R, S);
    for (int k = 0; k < 9; ++k) assert_close(T[k], F[k], 2.0 * ROUND_OFF);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) assert_true(S[3 * i + j] == S[3 * j + i]);
  }
}

/* A known pair: any rotation times diag(2, 1, 1/2), and a rotation by itself. */
static void known_factors(void **state)
{
  (void)state;
  double Q[9], F[9], R[9], S[9];
  rotation_exp(Q, (const double[3]){0.4, -1.1, 0.7});
  m3_mul(F, Q, (const double[9]){2, 0, 0, 0, 1, 0, 0, 0, 0.5});
  polar3(F, R, S);
  for (int k = 0; k < 9; ++k) assert_close(R[k], Q[k], ROUND_OFF);
  for (int k = 0; k < 9; ++k) assert_close(S[k], k == 0 ? 2.0 : k == 4 ? 1.0 : k == 8 ? 0.5 : 0.0, ROUND_OFF);
  polar3(Q, R, NULL);
  for (int k = 0; k < 9; ++k) assert_close(R[k], Q[k], ROUND_OFF);
}

static void differential(void **state)
{
  (void)state;
  for (int sample = 0; sample < 200; ++sample) {
    double F[9], dF[9], U[9], V[9], sigma[3], dR[9], plus[9], minus[9], error[2];
    do {
      for (int k = 0; k < 9; ++k) F[k] = random_unit();
      if (sample % 4 == 0) rotation_exp(F, (const double[3]){F[0], F[1], F[2]}); /* equal stretches: only R is smooth */
      svd3(F, U, sigma, V);
    } while (sigma[1] + sigma[2] < 0.2);
    for (int k = 0; k < 9; ++k) dF[k] = random_unit();
    polar3_differential(U, sigma, V, dF, dR);
    for (int i = 0; i < 2; ++i) {
      const double h = i == 0 ? 2e-4 : 1e-4;
      error[i]       = 0.0;
      for (int k = 0; k < 9; ++k) plus[k] = F[k] + h * dF[k], minus[k] = F[k] - h * dF[k];
      polar3(plus, plus, NULL);
      polar3(minus, minus, NULL);
      for (int k = 0; k < 9; ++k) error[i] = fmax(error[i], fabs((plus[k] - minus[k]) / (2 * h) - dR[k]));
    }
    assert_close(error[1], 0.0, 2e-5); /* h^2 |d3R|, |d3R| < 2/0.2^3 */
    if (error[1] > 1e-10) assert_close(error[0] / error[1], 4.0, 0.1);
  }
  /* the forbidden point stays finite */
  double I9[9], dR[9];
  m3_identity(I9);
  polar3_differential(I9, (const double[3]){1, 0.5, -0.5}, I9, (const double[9]){0, 0, 0, 0, 0, 1, 0, -1, 0}, dR);
  for (int k = 0; k < 9; ++k) assert_true(isfinite(dR[k]));
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rotation_times_symmetric), cmocka_unit_test(known_factors), cmocka_unit_test(differential))
