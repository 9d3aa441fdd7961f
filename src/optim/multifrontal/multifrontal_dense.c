#include "optim/multifrontal/multifrontal_dense.h"
#include <math.h>
#include <petscsys.h>
#include <petscblaslapack.h>

enum { TILE = 128, TILED = 3 * TILE }; /* fronts of fewer rows are factored by one LAPACK call */

/* C [w][h] -= B A^T by columns, A [depth][h] and B [depth][w] rows of one array; of a square on the diagonal its lower triangle. */
static void take_away(int64_t h, int64_t w, int64_t depth, const double *A, const double *B, int64_t ld_AB, double *C, int64_t ld_C)
{
  const PetscBLASInt rows = (PetscBLASInt)h, columns = (PetscBLASInt)w, n = (PetscBLASInt)depth;
  const PetscBLASInt ld = (PetscBLASInt)ld_AB, to = (PetscBLASInt)ld_C;
  const double       one = 1.0, minus = -1.0;
  if (A == B) BLASsyrk_("L", "N", &columns, &n, &minus, A, &ld, &one, C, &to);
  else BLASgemm_("N", "T", &rows, &columns, &n, &minus, A, &ld, B, &ld, &one, C, &to);
}

/* Of a lower trapezoid of n columns and m rows, C [n][m] -= A (its first n rows)^T with A [depth][m], tile by tile. */
static void take_away_tiles(int64_t n, int64_t m, int64_t depth, const double *A, int64_t ld_A, double *C, int64_t ld_C)
{
  for (int64_t j = 0; j < n; j += TILE) {
    const int64_t w = n - j < TILE ? n - j : TILE;
#pragma omp task firstprivate(j, w)
    take_away(w, w, depth, A + j, A + j, ld_A, C + j * ld_C + j, ld_C);
    for (int64_t i = j + w; i < m; i += TILE) {
#pragma omp task firstprivate(i, j, w)
      take_away(m - i < TILE ? m - i : TILE, w, depth, A + i, A + j, ld_A, C + j * ld_C + i, ld_C);
    }
  }
#pragma omp      taskwait
}

/* Cholesky factor of the first n rows of columns [n][m]; the rows below become L21. */
static bool factor_panel(int64_t n, int64_t m, double *columns, int64_t ld)
{
  const PetscBLASInt width = (PetscBLASInt)n, stride = (PetscBLASInt)ld;
  PetscBLASInt       info = 0;
  LAPACKpotrf_("L", &width, columns, &stride, &info);
  if (info != 0) return false;
  for (int64_t i = n; i < m; i += TILE) {
#pragma omp task firstprivate(i)
    {
      const PetscBLASInt rows = (PetscBLASInt)(m - i < TILE ? m - i : TILE);
      const double       one  = 1.0;
      BLAStrsm_("R", "L", "T", "N", &rows, &width, &one, columns, &stride, columns + i, &stride);
    }
  }
#pragma omp      taskwait
  return true;
}

/* The same up to rounding, in tiles that the threads share. The tiles do not depend on the number of threads. */
static bool factor_tiled(int64_t k, int64_t r, double *columns, double *update)
{
  const int64_t m = k + r;
  for (int64_t p = 0; p < k; p += TILE) {
    const int64_t w = k - p < TILE ? k - p : TILE, next = p + w;
    if (!factor_panel(w, m - p, columns + p * m + p, m)) return false;
    take_away_tiles(k - next, m - next, w, columns + p * m + next, m, columns + next * m + next, m);
  }
  take_away_tiles(r, r, k, columns + k, m, update, r);
  return true;
}

static bool factor_whole(int64_t k, int64_t r, double *columns, double *update)
{
  const PetscBLASInt n = (PetscBLASInt)k, below = (PetscBLASInt)r, m = n + below;
  const double       one = 1.0, minus = -1.0;
  PetscBLASInt       info = 0;
  LAPACKpotrf_("L", &n, columns, &m, &info);
  if (info != 0) return false;
  if (r == 0) return true;
  BLAStrsm_("R", "L", "T", "N", &below, &n, &one, columns, &m, columns + k, &m);
  BLASsyrk_("L", "N", &below, &n, &minus, columns + k, &m, &one, update, &below);
  return true;
}

static bool has_pivots(int64_t k, int64_t m, const double *columns)
{
  for (int64_t j = 0; j < k; ++j)
    if (!(columns[j * m + j] > 0.0) || !isfinite(columns[j * m + j])) return false;
  return true;
}

bool multifrontal_dense_factor(int64_t k, int64_t r, double *columns, double *update)
{
  if (!has_pivots(k, k + r, columns)) return false;
  const bool is_done = k + r < TILED ? factor_whole(k, r, columns, update) : factor_tiled(k, r, columns, update);
  return is_done && has_pivots(k, k + r, columns);
}

void multifrontal_dense_forward(int64_t k, int64_t r, const double *restrict columns, double *restrict x)
{
  const int64_t m = k + r;
  for (int64_t j = 0; j < k; ++j) {
    const double *const l = columns + j * m;
    const double        z = x[j] / l[j];
    x[j]                  = z;
    for (int64_t i = j + 1; i < m; ++i) x[i] -= l[i] * z;
  }
}

void multifrontal_dense_forward_many(int64_t k, int64_t r, const double *columns, int64_t n, double *x)
{
  const PetscBLASInt n_columns = (PetscBLASInt)k, below = (PetscBLASInt)r, m = n_columns + below, many = (PetscBLASInt)n;
  const double       one = 1.0, minus = -1.0;
  BLAStrsm_("L", "L", "N", "N", &n_columns, &many, &one, columns, &m, x, &m);
  if (r > 0) BLASgemm_("N", "N", &below, &many, &n_columns, &minus, columns + k, &m, x, &m, &one, x + k, &m);
}

/* Eight partial sums, so that the result does not depend on the compiler's vectorisation. */
static double dot(int64_t n, const double *restrict a, const double *restrict b)
{
  double  s[8] = {0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) s[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) rest += a[i] * b[i];
  return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])) + rest;
}

void multifrontal_dense_backward(int64_t k, int64_t r, const double *restrict columns, double *restrict x)
{
  const int64_t m = k + r;
  for (int64_t j = k; j-- > 0;) {
    const double *const l = columns + j * m;
    x[j]                  = (x[j] - dot(m - j - 1, l + j + 1, x + j + 1)) / l[j];
  }
}

void multifrontal_dense_product(int64_t k, int64_t r, const double *restrict columns, const double *restrict x, double *restrict y)
{
  const int64_t m = k + r;
  for (int64_t j = 0; j < k; ++j) {
    const double *const l = columns + j * m;
    const double        z = dot(m - j, l + j, x + j);
    for (int64_t i = j; i < m; ++i) y[i] += l[i] * z;
  }
}

void multifrontal_dense_term(int64_t n, const double *restrict J, const double G[9], double *restrict sum)
{
  for (int64_t j = 0; j < n; ++j) {
    const double *const a = J + 3 * j;
    const double        x = a[0] * G[0] + a[1] * G[3] + a[2] * G[6], y = a[0] * G[1] + a[1] * G[4] + a[2] * G[7],
                 z   = a[0] * G[2] + a[1] * G[5] + a[2] * G[8];
    double *const to = sum + j * n;
    for (int64_t i = j; i < n; ++i) to[i] += x * J[3 * i] + y * J[3 * i + 1] + z * J[3 * i + 2];
  }
}
