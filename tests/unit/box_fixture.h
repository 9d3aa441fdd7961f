/* Small quadratic programs with bounds, their solution by enumeration of active sets, and grids for larger ones. */
#ifndef SS_TESTS_BOX_FIXTURE_H
#define SS_TESTS_BOX_FIXTURE_H
#include "test.h"
#include "core/document.h"
#include "core/random.h"
#include "core/team.h"
#include "optim/bounds/bounds_qp.h"
#include <float.h>
#include <string.h>

enum { DENSE_MAX = 12 };
typedef struct {
  int64_t n;
  double  A[DENSE_MAX * DENSE_MAX], d[DENSE_MAX], b[DENSE_MAX], lo[DENSE_MAX], hi[DENSE_MAX];
} dense;

static inline void dense_apply(void *context, const double *restrict x, double *restrict y)
{
  const dense *a = context;
  for (int64_t i = 0; i < a->n; ++i) {
    y[i] = 0.0;
    for (int64_t j = 0; j < a->n; ++j) y[i] += a->A[i * a->n + j] * x[j];
  }
}

/* A = R^T R + shift, R [rank][n] random with rows of very different size when is_rough; bounds of every kind. */
static inline dense dense_random(uint64_t seed, int64_t n, int64_t rank, double shift, bool is_rough)
{
  dense  a = {.n = n};
  double R[DENSE_MAX * DENSE_MAX], x[DENSE_MAX];
  for (int64_t k = 0; k < rank * n; ++k)
    R[k] = random_range(seed, (uint64_t)k, 0, -1, 1) * (is_rough ? pow(10.0, (double)(k % n % 4) - 2.0) : 1.0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = i == j ? shift : 0.0;
      for (int64_t k = 0; k < rank; ++k) sum += R[k * n + i] * R[k * n + j];
      a.A[i * n + j] = sum;
    }
  for (int64_t i = 0; i < n; ++i) {
    const double kind = random_range(seed, (uint64_t)i, 1, 0, 1), scale = 1.0 / sqrt(a.A[i * n + i]);
    a.d[i]  = a.A[i * n + i];
    a.lo[i] = kind < 0.2 ? -INFINITY : random_range(seed, (uint64_t)i, 2, -0.6, 0.2) * scale;
    a.hi[i] = kind > 0.6 ? INFINITY : random_range(seed, (uint64_t)i, 3, 0.2, 0.6) * scale;
    if (kind > 0.4 && kind < 0.45) a.lo[i] = a.hi[i]; /* no room at all */
    x[i] = random_range(seed, (uint64_t)i, 4, -2, 2) * scale;
  }
  dense_apply(&a, x, a.b); /* in the range of A: bounded below even if A is singular */
  return a;
}

static inline bounds_qp dense_qp(dense *a)
{
  return (bounds_qp){.n = a->n, .apply = dense_apply, .context = a, .diagonal = a->d, .b = a->b, .lo = a->lo, .hi = a->hi};
}

/* Solve A_FF x_F = b_F - A_FB x_B by elimination with pivoting; false if singular. */
static inline bool dense_face(const dense *a, const int *at, double *x)
{
  int     free[DENSE_MAX];
  int64_t m = 0;
  double  M[DENSE_MAX][DENSE_MAX + 1];
  for (int64_t i = 0; i < a->n; ++i)
    if (at[i] == 0) free[m++] = (int)i;
    else x[i] = at[i] < 0 ? a->lo[i] : a->hi[i];
  for (int64_t r = 0; r < m; ++r) {
    M[r][m] = a->b[free[r]];
    for (int64_t j = 0; j < a->n; ++j)
      if (at[j] != 0) M[r][m] -= a->A[free[r] * a->n + j] * x[j];
    for (int64_t c = 0; c < m; ++c) M[r][c] = a->A[free[r] * a->n + free[c]];
  }
  for (int64_t c = 0; c < m; ++c) {
    int64_t pivot = c;
    for (int64_t r = c; r < m; ++r)
      if (fabs(M[r][c]) > fabs(M[pivot][c])) pivot = r;
    if (fabs(M[pivot][c]) < 1e-13 * a->d[free[c]]) return false;
    for (int64_t k = 0; k <= m; ++k) {
      const double t = M[c][k];
      M[c][k] = M[pivot][k], M[pivot][k] = t;
    }
    for (int64_t r = 0; r < m; ++r) {
      const double f = r == c ? 0.0 : M[r][c] / M[c][c];
      for (int64_t k = c; k <= m && f != 0.0; ++k) M[r][k] -= f * M[c][k];
    }
  }
  for (int64_t r = 0; r < m; ++r) x[free[r]] = M[r][m] / M[r][r];
  return true;
}

/* Enumerate all 3^n combinations of free, lower and upper; return the first that satisfies the optimality conditions. It is the
 * unique solution if A is definite. */
static inline bool dense_enumerate(const dense *a, double *x)
{
  int     at[DENSE_MAX] = {0};
  int64_t n_sets        = 1;
  for (int64_t i = 0; i < a->n; ++i) n_sets *= 3;
  for (int64_t s = 0; s < n_sets; ++s) {
    bool    is_possible = true;
    int64_t code        = s;
    for (int64_t i = 0; i < a->n; ++i, code /= 3) {
      at[i]       = (int)(code % 3) - 1;
      is_possible = is_possible && !(at[i] < 0 && a->lo[i] == -INFINITY) && !(at[i] > 0 && a->hi[i] == INFINITY);
    }
    if (!is_possible || !dense_face(a, at, x)) continue;
    double g[DENSE_MAX];
    dense_apply((void *)a, x, g);
    for (int64_t i = 0; i < a->n && is_possible; ++i) {
      const double slack = 1e-12 / sqrt(a->d[i]), force = 1e-12 * sqrt(a->d[i]);
      g[i] -= a->b[i];
      is_possible = x[i] >= a->lo[i] - slack && x[i] <= a->hi[i] + slack &&
                    (at[i] == 0 || a->lo[i] == a->hi[i] || (at[i] < 0 ? g[i] >= -force : g[i] <= force));
    }
    if (is_possible) return true;
  }
  return false;
}

static inline bounds_options box_defaults(int method, int preconditioner, double tolerance)
{
  document   *owner;
  const void *read;
  assert_ok(document_create(&owner));
  assert_ok(key_table_read(&bounds_options_table, owner, NULL, "box", NULL, &read));
  bounds_options o = *(const bounds_options *)read;
  o.method = method, o.preconditioner = preconditioner, o.tolerance = tolerance;
  document_destroy(&owner);
  return o;
}

/* Box of nx x ny x nz cells with closed walls, open at the top (z); coefficients 1/h^2 with h = 1/nx, some of them weakened as fractions of
 * volume would. periodic: bits of axes. `keep`(ijk) NULL: all cells. */
static inline void lattice_fill(int nx, int ny, int nz, int periodic, bool is_open, bool is_rough, bool (*keep)(int, int, int),
                                grid_matrix *out)
{
  const int n[3]   = {nx, ny, nz};
  int32_t  *number = NULL;
  int32_t   count  = 0;
  assert_ok(memory_alloc("test", (int64_t)nx * ny * nz, sizeof *number, &number));
#define AT(i, j, k) number[((i)*ny + (j)) * nz + (k)]
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int k = 0; k < nz; ++k) AT(i, j, k) = !keep || keep(i, j, k) ? count++ : -1;
  assert_ok(grid_matrix_allocate(count, out));
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int k = 0; k < nz; ++k) {
        const int32_t me = AT(i, j, k);
        if (me < 0) continue;
        const int at[3] = {i, j, k};
        memcpy(out->ijk[me], (const int32_t[]){i, j, k}, sizeof out->ijk[me]);
        for (int s = 0; s < 6; ++s) {
          int to[3] = {i, j, k};
          to[s / 2] += s % 2 ? 1 : -1;
          const bool is_across = to[s / 2] < 0 || to[s / 2] >= n[s / 2];
          if (is_across && periodic & 1 << s / 2) to[s / 2] = (to[s / 2] + n[s / 2]) % n[s / 2];
          const bool     is_outside = is_across && !(periodic & 1 << s / 2);
          const int      low        = s % 2 ? at[s / 2] : to[s / 2];
          const uint64_t face       = (uint64_t)(((s / 2 * 64 + low) * 64 + at[(s / 2 + 1) % 3]) * 64 + at[(s / 2 + 2) % 3]);
          const double   weight     = (double)nx * nx * (is_rough ? random_range(7, face, 0, 0.05, 1.0) : 1.0);
          if (is_outside) {
            if (is_open && s == 5) out->diagonal[me] += weight;
            continue;
          }
          const int32_t other = AT(to[0], to[1], to[2]);
          if (other == me) continue;
          out->diagonal[me] += weight;
          if (other < 0) continue; /* air beyond: pressure zero */
          out->neighbor[me][s] = other, out->off[me][s] = -weight;
        }
      }
#undef AT
  memory_free(&number);
}
#endif
