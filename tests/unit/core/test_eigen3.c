/* core/eigen3: orthogonal, ordered, exact for known spectra; repeated, graded and huge matrices. */
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "test.h"
#include <float.h>

#define ROUND_OFF (32.0 * DBL_EPSILON)

static uint64_t random_state = 88172645463325252u;
static double   random_unit(void) /* [-1, 1) */
{
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) * 0x1p-52 - 1.0;
}

/* Q diag(expected) Q0^T has the expected spectrum; its decomposition returns it and reconstructs the matrix. */
static void assert_spectrum(const double expected[3], double scale)
{
  double A[9], T[9], Q[9], lambda[3], theta[3];
  for (int k = 0; k < 3; ++k) theta[k] = 3.0 * random_unit();
  rotation_exp(Q, theta);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) T[3 * i + j] = Q[3 * i + j] * expected[j] * scale;
  m3_mul_nt(A, T, Q);
  eigen3_symmetric(A, lambda, Q);
  const double size = scale * fmax(fabs(expected[0]), fmax(fabs(expected[2]), DBL_MIN));
  for (int k = 0; k < 3; ++k) assert_close(lambda[k] / size, expected[k] * scale / size, ROUND_OFF);
  assert_true(lambda[0] >= lambda[1] && lambda[1] >= lambda[2]);
  m3_mul_tn(T, Q, Q);
  for (int k = 0; k < 9; ++k) assert_close(T[k], k % 4 == 0, ROUND_OFF);
  assert_close(m3_det(Q), 1.0, ROUND_OFF);
  double B[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) T[3 * i + j] = Q[3 * i + j] * (lambda[j] / size);
  m3_mul_nt(B, T, Q);
  for (int k = 0; k < 9; ++k) assert_close(B[k], A[k] / size, ROUND_OFF);
}

static void spectra(void **state)
{
  (void)state;
  static const double list[][3] = {{3, 2, 1},        {1, 1, 1}, {2, 1, 1},          {2, 2, 1},         {1, 0, -1},     {0, 0, -3},
                                   {1, 1e-9, 1e-18}, {5, 0, 0}, {1, 1 - 1e-12, -1}, {1, 1, 1 - 1e-15}, {1e8, 1, 1e-8}, {-1, -2, -3}};
  static const double scales[]  = {1.0, 1e-150, 1e150, 1e290};
  for (int i = 0; i < (int)(sizeof list / sizeof *list); ++i)
    for (int j = 0; j < 4; ++j)
      for (int repeat = 0; repeat < 20; ++repeat) assert_spectrum(list[i], scales[j]);
  for (int sample = 0; sample < 500; ++sample) {
    double s[3] = {random_unit() + 4.0, random_unit() + 2.0, random_unit()};
    assert_spectrum(s, 1.0);
  }
}

static void diagonal_and_zero(void **state)
{
  (void)state;
  double lambda[3], Q[9];
  eigen3_symmetric((const double[9]){1, 0, 0, 0, 3, 0, 0, 0, 2}, lambda, Q);
  for (int k = 0; k < 3; ++k) assert_true(lambda[k] == 3.0 - k);
  for (int k = 0; k < 9; ++k) assert_true(Q[k] == 0.0 || fabs(Q[k]) == 1.0);
  eigen3_symmetric((const double[9]){0}, lambda, Q);
  for (int k = 0; k < 3; ++k) assert_true(lambda[k] == 0.0);
  for (int k = 0; k < 9; ++k) assert_true(Q[k] == (k % 4 == 0));
  eigen3_symmetric((const double[9]){1, 0, 0, 0, NAN, 0, 0, 0, 2}, lambda, Q); /* must come back */
  assert_true(isnan(lambda[0]) || isnan(lambda[1]) || isnan(lambda[2]));
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(spectra), cmocka_unit_test(diagonal_and_zero))
