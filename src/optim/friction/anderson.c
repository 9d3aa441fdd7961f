#include "optim/friction/anderson.h"
#include "core/memory.h"
#include <float.h>
#include <math.h>
#include <string.h>

PetscErrorCode anderson_create(int64_t n, int memory, anderson *out)
{
  PetscFunctionBegin;
  SS_ASSERT(memory >= 0 && memory <= ANDERSON_MOST);
  *out                = (anderson){.n = n, .memory = memory, .n_kept = -1, .newest = -1};
  PetscErrorCode code = memory_alloc("Anderson residual", n, sizeof(double), &out->f);
  if (!code) code = memory_alloc("Anderson image", n, sizeof(double), &out->g);
  if (!code) code = memory_alloc("Anderson residuals", n * memory, sizeof(double), &out->df);
  if (!code) code = memory_alloc("Anderson images", n * memory, sizeof(double), &out->dg);
  if (code) anderson_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void anderson_destroy(anderson *a)
{
  memory_free(&a->f), memory_free(&a->g), memory_free(&a->df), memory_free(&a->dg);
  *a = (anderson){0};
}

void anderson_forget(anderson *a) { a->n_kept = a->newest = -1; }

static double weighted_dot(int64_t n, const double *restrict w, const double *restrict x, const double *restrict y)
{
  double s[4] = {0.0, 0.0, 0.0, 0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) s[k] += w[i + k] * x[i + k] * y[i + k];
  for (; i < n; ++i) rest += w[i] * x[i] * y[i];
  return (s[0] + s[1]) + (s[2] + s[3]) + rest;
}

/* Gram matrix c = b by Cholesky with a little on the diagonal; false if even that is not definite. */
static bool solve_gram(const anderson *a, int m, const double *b, double *c)
{
  double l[ANDERSON_MOST][ANDERSON_MOST];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j <= i; ++j) {
      double s = a->gram[i][j] * (i == j ? 1.0 + 1e-12 : 1.0);
      for (int k = 0; k < j; ++k) s -= l[i][k] * l[j][k];
      if (i == j) {
        if (!(s > 1e-14 * a->gram[i][i])) return false;
        l[i][i] = sqrt(s);
      } else l[i][j] = s / l[j][j];
    }
  for (int i = 0; i < m; ++i) {
    c[i] = b[i];
    for (int k = 0; k < i; ++k) c[i] -= l[i][k] * c[k];
    c[i] /= l[i][i];
  }
  for (int i = m - 1; i >= 0; --i) {
    for (int k = i + 1; k < m; ++k) c[i] -= l[k][i] * c[k];
    c[i] /= l[i][i];
  }
  return true;
}

void anderson_step(anderson *a, const double *x, const double *g, const double *weight, double *next)
{
  const int64_t n = a->n;
  double        b[ANDERSON_MOST], c[ANDERSON_MOST];
  if (a->n_kept >= 0 && a->memory > 0) { /* one more difference, in the place of the oldest */
    a->newest = (a->newest + 1) % a->memory;
    if (a->n_kept < a->memory) ++a->n_kept;
    double *df = a->df + a->newest * n, *dg = a->dg + a->newest * n;
    for (int64_t i = 0; i < n; ++i) df[i] = g[i] - x[i] - a->f[i], dg[i] = g[i] - a->g[i];
    for (int k = 0; k < a->n_kept; ++k)
      a->gram[k][a->newest] = a->gram[a->newest][k] = weighted_dot(n, weight, df, a->df + k * n);
  } else a->n_kept = 0;
  for (int64_t i = 0; i < n; ++i) a->f[i] = g[i] - x[i], a->g[i] = g[i];
  for (int64_t i = 0; i < n; ++i) next[i] = a->g[i];
  for (int k = 0; k < a->n_kept; ++k) b[k] = weighted_dot(n, weight, a->f, a->df + k * n);
  if (a->n_kept == 0) return;
  if (!solve_gram(a, a->n_kept, b, c)) {
    anderson_forget(a);
    a->n_kept = 0;
    return;
  }
  for (int k = 0; k < a->n_kept; ++k) {
    const double *dg = a->dg + k * n;
    for (int64_t i = 0; i < n; ++i) next[i] -= c[k] * dg[i];
  }
}
