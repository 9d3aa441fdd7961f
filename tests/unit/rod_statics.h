/* What tests of rod models at rest share: large steps of backward Euler, each solved by Newton's method with the body's own tangent, column by
 * column, and Gaussian elimination. */
#ifndef SS_TESTS_ROD_STATICS_H
#define SS_TESTS_ROD_STATICS_H
#include "rod_fixture.h"

/* x = A^-1 x, A [n][n] row-major, destroyed; partial pivoting. */
static inline void rod_eliminate(int n, double *A, double *x)
{
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k + 1; i < n; ++i)
      if (fabs(A[n * i + k]) > fabs(A[n * p + k])) p = i;
    for (int j = 0; j < n && p != k; ++j) {
      const double t = A[n * k + j];
      A[n * k + j] = A[n * p + j], A[n * p + j] = t;
    }
    const double t = x[k];
    x[k] = x[p], x[p] = t;
    for (int i = k + 1; i < n; ++i) {
      const double f = A[n * i + k] / A[n * k + k];
      for (int j = k; j < n && f != 0.0; ++j) A[n * i + j] -= f * A[n * k + j];
      x[i] -= f * x[k];
    }
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int j = i + 1; j < n; ++j) x[i] -= A[n * i + j] * x[j];
    x[i] /= A[n * i + i];
  }
}

/* One step from t to t + dt; the number of Newton iterations, or -1 if 60 were not enough. Full steps, halved while the residual cannot be taken. */
static inline int rod_step(rod_body *b, double t, double dt)
{
  rod_begin(b, t, dt);
  const int n = 3 * (int)b->n_blocks;
  double   *u = malloc(sizeof *u * (size_t)n), *g = malloc(sizeof *u * (size_t)n), *H = malloc(sizeof *u * (size_t)n * (size_t)n);
  double   *unit = calloc((size_t)n, sizeof *u), *column = malloc(sizeof *u * (size_t)n), *mass = malloc(sizeof *u * (size_t)n),
         before = INFINITY;
  const int64_t *dof;
  const double  *wanted;
  int            count = -1;
  const int64_t  held  = b->base.ops->prescribed(&b->base, &dof, &wanted);
  assert_ok(b->base.ops->velocity(&b->base, u));
  assert_ok(b->base.ops->mass(&b->base, mass));
  for (int it = 0; it < 60 && count < 0; ++it) {
    double size = 0.0;
    rod_residual_at(b, u, g, true);
    for (int64_t k = 0; k < held; ++k) g[dof[k]] = mass[dof[k]] * (u[dof[k]] - wanted[k]);
    for (int j = 0; j < n; ++j) {
      memset(column, 0, sizeof *column * (size_t)n);
      unit[j] = 1.0;
      assert_ok(b->base.ops->tangent(&b->base, unit, column, false));
      unit[j] = 0.0;
      for (int i = 0; i < n; ++i) H[n * i + j] = column[i];
    }
    for (int64_t k = 0; k < held; ++k)
      for (int j = 0; j < n; ++j) H[n * dof[k] + j] = j == dof[k] ? mass[j] : 0.0;
    rod_eliminate(n, H, g);
    for (int i = 0; i < n; ++i) u[i] -= g[i], size += g[i] * g[i] * mass[i];
    if (size == 0.0 || (it > 2 && size < 1e-20 && size >= 0.25 * before)) count = it + 1;
    before = size;
  }
  rod_accept(b, u);
  free(u), free(g), free(H), free(unit), free(column), free(mass);
  return count;
}
#endif
