#include "optim/front/front_dense.h"
#include <math.h>
#include <petscsys.h>
#include <petscblaslapack.h>
#include <string.h>

bool front_dense_factor(int64_t k, int64_t r, double *columns, double *update)
{
  const PetscBLASInt n = (PetscBLASInt)k, below = (PetscBLASInt)r, m = n + below;
  const double       one = 1.0, minus = -1.0;
  PetscBLASInt       info = 0;
  for (int64_t j = 0; j < k; ++j)
    if (!(columns[j * m + j] > 0.0) || !isfinite(columns[j * m + j])) return false;
  LAPACKpotrf_("L", &n, columns, &m, &info);
  if (info != 0) return false;
  for (int64_t j = 0; j < k; ++j)
    if (!isfinite(columns[j * m + j])) return false;
  if (r == 0) return true;
  BLAStrsm_("R", "L", "T", "N", &below, &n, &one, columns, &m, columns + k, &m);
  BLASsyrk_("L", "N", &below, &n, &minus, columns + k, &m, &one, update, &below);
  return true;
}

void front_dense_forward(int64_t k, int64_t r, const double *restrict columns, double *restrict x)
{
  const int64_t m = k + r;
  for (int64_t j = 0; j < k; ++j) {
    const double *const l = columns + j * m;
    const double        z = x[j] / l[j];
    x[j]                  = z;
    for (int64_t i = j + 1; i < m; ++i) x[i] -= l[i] * z;
  }
}

void front_dense_forward_many(int64_t k, int64_t r, const double *columns, int64_t n, double *x)
{
  const PetscBLASInt n_columns = (PetscBLASInt)k, below = (PetscBLASInt)r, m = n_columns + below, many = (PetscBLASInt)n;
  const double       one = 1.0, minus = -1.0;
  BLAStrsm_("L", "L", "N", "N", &n_columns, &many, &one, columns, &m, x, &m);
  if (r > 0) BLASgemm_("N", "N", &below, &many, &n_columns, &minus, columns + k, &m, x, &m, &one, x + k, &m);
}

/* Eight sums side by side, so that the bits do not depend on the compiler's choice of vectors. */
static double dot(int64_t n, const double *restrict a, const double *restrict b)
{
  double  s[8] = {0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) s[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) rest += a[i] * b[i];
  return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])) + rest;
}

void front_dense_backward(int64_t k, int64_t r, const double *restrict columns, double *restrict x)
{
  const int64_t m = k + r;
  for (int64_t j = k; j-- > 0;) {
    const double *const l = columns + j * m;
    x[j]                  = (x[j] - dot(m - j - 1, l + j + 1, x + j + 1)) / l[j];
  }
}

void front_dense_product(int64_t k, int64_t r, const double *restrict columns, const double *restrict x, double *restrict y)
{
  const int64_t m = k + r;
  for (int64_t j = 0; j < k; ++j) {
    const double *const l = columns + j * m;
    const double        z = dot(m - j, l + j, x + j);
    for (int64_t i = j; i < m; ++i) y[i] += l[i] * z;
  }
}

void front_dense_term(int64_t n, const double *restrict J, const double G[9], double *restrict sum)
{
  for (int64_t j = 0; j < n; ++j) {
    const double *const a = J + 3 * j;
    const double        x = a[0] * G[0] + a[1] * G[3] + a[2] * G[6], y = a[0] * G[1] + a[1] * G[4] + a[2] * G[7],
                        z = a[0] * G[2] + a[1] * G[5] + a[2] * G[8];
    double *const to = sum + j * n;
    for (int64_t i = j; i < n; ++i) to[i] += x * J[3 * i] + y * J[3 * i + 1] + z * J[3 * i + 2];
  }
}
