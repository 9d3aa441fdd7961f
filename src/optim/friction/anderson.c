#include "optim/friction/anderson.h"
#include "core/memory.h"
#include <math.h>

PetscErrorCode anderson_create(int64_t n, int memory, anderson *out)
{
  PetscFunctionBegin;
  SS_ASSERT(memory >= 0 && memory <= ANDERSON_MOST);
  *out = (anderson){.n = n, .memory = memory, .n_kept = -1, .newest = -1};
  PetscErrorCode code =
      MEMORY_ALLOC("anderson", ARRAY(out->f, n), ARRAY(out->g, n), ARRAY(out->df, n * memory), ARRAY(out->dg, n * memory));
  if (code) anderson_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void anderson_destroy(anderson *a)
{
  MEMORY_FREE(&a->f, &a->g, &a->df, &a->dg);
  *a = (anderson){0};
}

void anderson_reset(anderson *a) { a->n_kept = a->newest = -1; }

/* Chunks whose borders depend on n alone; their sums are added in order. */
enum { CHUNKS = 32, CHUNK_LEAST = 192, PARALLEL_NUMBERS = 1536 };
typedef struct {
  double dot[ANDERSON_MOST], rhs[ANDERSON_MOST]; /* of the newest difference with all, of the residual with all */
} sums;

static double weighted_dot(int64_t n, const double *restrict w, const double *restrict x, const double *restrict y)
{
  double  s[8] = {0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) s[k] += w[i + k] * x[i + k] * y[i + k];
  for (; i < n; ++i) rest += w[i] * x[i] * y[i];
  return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])) + rest;
}

/* One chunk: the newest difference, the point itself, and their sums. */
static sums take_chunk(const anderson *a, bool is_first, int64_t first, int64_t length, const double *x, const double *g,
                       const double *weight)
{
  sums    s = {.dot = {0.0}};
  double *f = a->f + first, *last_g = a->g + first;
  x += first, g += first, weight += first;
  if (!is_first) {
    double *df = a->df + a->newest * a->n + first, *dg = a->dg + a->newest * a->n + first;
    for (int64_t i = 0; i < length; ++i) df[i] = g[i] - x[i] - f[i], dg[i] = g[i] - last_g[i];
  }
  for (int64_t i = 0; i < length; ++i) f[i] = g[i] - x[i], last_g[i] = g[i];
  for (int k = 0; k < a->n_kept; ++k) {
    const double *df = a->df + k * a->n + first;
    s.dot[k]         = weighted_dot(length, weight, a->df + a->newest * a->n + first, df);
    s.rhs[k]         = weighted_dot(length, weight, f, df);
  }
  return s;
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

static void combine_chunk(const anderson *a, int m, const double *c, int64_t first, int64_t last, double *next)
{
  for (int64_t i = first; i < last; ++i) next[i] = a->g[i];
  for (int j = 0; j < m; ++j) {
    const double *dg = a->dg + j * a->n;
    for (int64_t i = first; i < last; ++i) next[i] -= c[j] * dg[i];
  }
}

void anderson_step(anderson *a, const double *x, const double *g, const double *weight, double *next)
{
  const int64_t n = a->n, even = (n + CHUNKS - 1) / CHUNKS, length = even > CHUNK_LEAST ? even : CHUNK_LEAST,
                n_chunks = (n + length - 1) / length;
  const bool is_first    = a->n_kept < 0 || a->memory == 0;
  sums       part[CHUNKS], total = {.dot = {0.0}};
  double     c[ANDERSON_MOST] = {0.0};
  if (!is_first) { /* one more difference, in the place of the oldest */
    a->newest = (a->newest + 1) % a->memory;
    if (a->n_kept < a->memory) ++a->n_kept;
  } else a->n_kept = 0;
  if (n < PARALLEL_NUMBERS) { /* a region calls the kernel, even for one thread */
    for (int64_t k = 0; k < n_chunks; ++k)
      part[k] = take_chunk(a, is_first, k * length, (k + 1) * length < n ? length : n - k * length, x, g, weight);
  } else {
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < n_chunks; ++k)
      part[k] = take_chunk(a, is_first, k * length, (k + 1) * length < n ? length : n - k * length, x, g, weight);
  }
  for (int64_t k = 0; k < n_chunks; ++k)
    for (int i = 0; i < a->n_kept; ++i) total.dot[i] += part[k].dot[i], total.rhs[i] += part[k].rhs[i];
  for (int i = 0; i < a->n_kept; ++i) a->gram[i][a->newest] = a->gram[a->newest][i] = total.dot[i];
  const bool is_solved = a->n_kept == 0 || solve_gram(a, a->n_kept, total.rhs, c);
  const int  m         = is_solved ? a->n_kept : 0;
  if (n < PARALLEL_NUMBERS) {
    for (int64_t k = 0; k < n_chunks; ++k) combine_chunk(a, m, c, k * length, k * length + length < n ? k * length + length : n, next);
  } else {
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < n_chunks; ++k) combine_chunk(a, m, c, k * length, k * length + length < n ? k * length + length : n, next);
  }
  if (!is_solved) a->n_kept = 0, a->newest = -1;
}
