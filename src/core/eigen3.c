/* Eigenvalues of 3x3 matrices, see eigen3.h. The matrix is scaled by a power of two, so that no magnitude causes overflow or underflow. */
#include "core/eigen3.h"
#include "core/math3.h"
#include <float.h>

/* Annihilate A[p][q] by A <- J^T A J, Q <- Q J. */
static void apply_jacobi_rotation(double *A, double *Q, int p, int q)
{
  const double apq = A[3 * p + q], d = A[3 * q + q] - A[3 * p + p];
  const double t = 2.0 * apq / (d + copysign(hypot(d, 2.0 * apq), d)); /* the smaller root: |angle| <= pi/4 */
  const double c = 1.0 / sqrt(1.0 + t * t), s = c * t;
  const int    r   = 3 - p - q;
  const double arp = A[3 * r + p], arq = A[3 * r + q];
  A[4 * p] -= t * apq;
  A[4 * q] += t * apq;
  A[3 * p + q] = A[3 * q + p] = 0.0;
  A[3 * r + p] = A[3 * p + r] = c * arp - s * arq;
  A[3 * r + q] = A[3 * q + r] = s * arp + c * arq;
  for (int i = 0; i < 3; ++i) {
    const double x = Q[3 * i + p], y = Q[3 * i + q];
    Q[3 * i + p] = c * x - s * y;
    Q[3 * i + q] = s * x + c * y;
  }
}

static void swap_columns(double *lambda, double *Q, int p, int q) /* negating one keeps det Q = 1 */
{
  const double l = lambda[p];
  lambda[p] = lambda[q], lambda[q] = l;
  for (int i = 0; i < 3; ++i) {
    const double x = Q[3 * i + p];
    Q[3 * i + p] = Q[3 * i + q], Q[3 * i + q] = -x;
  }
}

void eigen3_symmetric(const double A[9], double lambda[3], double Q[9])
{
  enum { MAX_SWEEPS = 30 };
  double largest  = 0.0, B[9];
  int    exponent = 0;
  for (int k = 0; k < 9; ++k) largest = fmax(largest, fabs(A[k]));
  if (largest > 0.0 && isfinite(largest)) frexp(largest, &exponent);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) B[3 * i + j] = 0.5 * ldexp(A[3 * i + j], -exponent) + 0.5 * ldexp(A[3 * j + i], -exponent);
  m3_identity(Q);

  for (int sweep = 0; sweep < MAX_SWEEPS; ++sweep) {
    const double off = fabs(B[1]) + fabs(B[2]) + fabs(B[5]);
    if (!(off > DBL_MIN)) break; /* also for NaN */
    /* entries below round-off of both diagonal entries have no effect but cost sweeps */
    static const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 3; ++k) {
      const int    p = pair[k][0], q = pair[k][1];
      const double b = fabs(B[3 * p + q]), least = fmin(fabs(B[4 * p]), fabs(B[4 * q]));
      if (sweep > 3 && b <= 0.01 * DBL_EPSILON * least) B[3 * p + q] = B[3 * q + p] = 0.0;
      else if (b != 0.0) apply_jacobi_rotation(B, Q, p, q);
    }
  }
  for (int k = 0; k < 3; ++k) lambda[k] = ldexp(B[4 * k], exponent);
  if (lambda[0] < lambda[1]) swap_columns(lambda, Q, 0, 1);
  if (lambda[1] < lambda[2]) swap_columns(lambda, Q, 1, 2);
  if (lambda[0] < lambda[1]) swap_columns(lambda, Q, 0, 1);
}
