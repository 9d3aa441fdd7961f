#include "optim/linear/block3_inverse.h"
#include "core/math3.h"
#include "core/svd3.h"

/* Orthogonal map between the null spaces of a = U diag(sigma) V^T: columns 3-m..2 of U to those of V, m = 1 or 2. It is nearest to the
 * identity: q[2*i + j] = [m][m] polar factor of V_n^T U_n. Therefore the inverse of a symmetric block is symmetric. */
static void match_null_spaces(int m, const double U[9], const double V[9], double q[4])
{
  double w[4] = {0.0, 0.0, 0.0, 0.0};
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      for (int e = 0; e < 3; ++e) w[2 * i + j] += V[3 * e + 3 - m + i] * U[3 * e + 3 - m + j];
  if (m == 1) {
    q[0] = w[0] < 0.0 ? -1.0 : 1.0;
    return;
  }
  const double side = w[0] * w[3] - w[1] * w[2] < 0.0 ? -1.0 : 1.0; /* a reflection or a rotation */
  double       c = w[0] + side * w[3], s = w[2] - side * w[1];
  const double size = sqrt(c * c + s * s);
  c                 = size > 0.0 ? c / size : 1.0;
  s                 = size > 0.0 ? s / size : 0.0;
  q[0] = c, q[1] = -side * s, q[2] = s, q[3] = side * c;
}

/* V diag(1/sigma) U^T, on the null space Q/sigma_0 instead. */
static int inverse_by_svd(const double a[9], double out[9])
{
  double U[9], V[9], sigma[3], middle[9] = {0.0}, q[4], t[9];
  int    rank = 0;
  svd3(a, U, sigma, V);
  for (; rank < 3 && fabs(sigma[rank]) > BLOCK3_SINGULAR * sigma[0]; ++rank) middle[4 * rank] = 1.0 / sigma[rank];
  if (rank < 3) match_null_spaces(3 - rank, U, V, q);
  for (int i = rank; i < 3; ++i)
    for (int j = rank; j < 3; ++j) middle[3 * i + j] = q[2 * (i - rank) + j - rank] / sigma[0];
  m3_mul(t, V, middle);
  m3_mul_nt(out, t, U);
  return rank < 3;
}

int block3_inverse(const double a[9], double scale, double out[9])
{
  double size = 0.0, b[9];
  for (int k = 0; k < 9; ++k) size = fabs(a[k]) > size ? fabs(a[k]) : size;
  for (int k = 0; k < 9; ++k)
    if (!isfinite(a[k])) {
      m3_zero(out);
      return -1;
    }
  if (size == 0.0) {
    m3_zero(out);
    out[0] = out[4] = out[8] = 1.0 / scale;
    return 1;
  }
  for (int k = 0; k < 9; ++k) b[k] = a[k] / size; /* cofactors of tiny or huge blocks would leave the range of doubles */
  const double det = m3_inverse(out, b);
  /* |b| <= 1 entrywise, so |b^-1| <= 2/|det|: a determinant this large bounds the condition number well below 1e6 */
  if (fabs(det) > 1e-5) {
    for (int k = 0; k < 9; ++k) out[k] /= size;
    return 0;
  }
  return inverse_by_svd(a, out);
}
