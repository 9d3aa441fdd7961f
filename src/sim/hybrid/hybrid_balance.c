/* Conjugate gradients on the graph Laplacian, three components at once; groups of connected bodies are labelled first. */
#include "sim/hybrid/hybrid_balance.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

static const double NULL_SPACE = 1e-10; /* the smallest eigenvalue of a chain of n bodies is about (pi/n)^2 */

/* y = L x for 3 right-hand sides; x and y are 0 for unknown bodies. */
static void laplacian(int32_t n, const bool *is_known, int64_t n_pairs, const balance_pair *pair, const double *x, double *y)
{
  memset(y, 0, (size_t)(3 * n) * sizeof *y);
  for (int64_t p = 0; p < n_pairs; ++p)
    for (int k = 0; k < 3; ++k) {
      const double d = x[3 * pair[p].body[0] + k] - x[3 * pair[p].body[1] + k];
      y[3 * pair[p].body[0] + k] += d, y[3 * pair[p].body[1] + k] -= d;
    }
  for (int32_t i = 0; i < 3 * n; ++i)
    if (!is_known[i / 3]) y[i] = 0.0;
}

static double dot(int64_t n, const double *x, const double *y)
{
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

/* Conjugate gradients from 0, which gives the solution without a mean. work [4][3 n]: x, r, d, L d. */
static void solve_conjugate_gradients(int32_t n, const bool *is_known, int64_t n_pairs, const balance_pair *pair, double *work)
{
  const int64_t m = 3 * (int64_t)n;
  double       *x = work, *r = work + m, *d = work + 2 * m, *Ld = work + 3 * m;
  double        rho   = dot(m, r, r);
  const double  least = 1e-28 * rho;
  memcpy(d, r, (size_t)m * sizeof *d);
  for (int32_t k = 0; k < 2 * n + 8 && rho > least; ++k) {
    laplacian(n, is_known, n_pairs, pair, d, Ld);
    const double curvature = dot(m, d, Ld);
    if (!(curvature > NULL_SPACE * dot(m, d, d))) return; /* sums that do not vanish because of rounding remain */
    const double alpha = rho / curvature;
    for (int64_t i = 0; i < m; ++i) x[i] += alpha * d[i], r[i] -= alpha * Ld[i];
    const double next = dot(m, r, r), beta = next / rho;
    for (int64_t i = 0; i < m; ++i) d[i] = r[i] + beta * d[i];
    rho = next;
  }
}

/* Label connected groups by their lowest index. */
static void label_heaps(int32_t n, int64_t n_pairs, const balance_pair *pair, int32_t *label)
{
  bool is_changed = true;
  for (int32_t i = 0; i < n; ++i) label[i] = i;
  while (is_changed) {
    is_changed = false;
    for (int64_t p = 0; p < n_pairs; ++p) {
      int32_t *a = &label[pair[p].body[0]], *b = &label[pair[p].body[1]];
      is_changed = is_changed || *a != *b;
      if (*a < *b) *b = *a;
      else *a = *b;
    }
  }
}

/* Subtract from r [n][3] its mean over each group of known bodies, which cannot be balanced. sum [n][4], zeros: work. */
static void subtract_group_means(int32_t n, const bool *is_known, const int32_t *label, double (*sum)[4], double *r)
{
  for (int32_t i = 0; i < n; ++i) {
    double *own = sum[label[i]];
    v3_axpy(own, 1.0, r + 3 * i);
    own[3] = is_known[i] && own[3] >= 0.0 ? own[3] + 1.0 : -1.0; /* -1: the group contains an unknown body */
  }
  for (int32_t i = 0; i < n; ++i)
    if (sum[label[i]][3] > 0.0) v3_axpy(r + 3 * i, -1.0 / sum[label[i]][3], sum[label[i]]);
}

PetscErrorCode hybrid_balance(int32_t n_bodies, const double (*total)[3], const bool *is_known, int64_t n_pairs, balance_pair *pair)
{
  const int64_t m = 3 * (int64_t)n_bodies;
  double       *work;
  int32_t      *label;
  double(*sum)[4];
  PetscFunctionBegin;
  PetscCall(memory_alloc("balance of forces", 4 * m, sizeof *work, &work));
  memset(work, 0, (size_t)m * sizeof *work);
  for (int32_t i = 0; i < n_bodies; ++i) v3_copy(work + m + 3 * i, total[i]);
  for (int64_t p = 0; p < n_pairs; ++p) {
    v3_axpy(work + m + 3 * pair[p].body[0], -1.0, pair[p].force);
    v3_axpy(work + m + 3 * pair[p].body[1], 1.0, pair[p].force);
  }
  for (int64_t i = 0; i < m; ++i)
    if (!is_known[i / 3]) work[m + i] = 0.0;
  PetscCall(MEMORY_ALLOC("balance of forces", ARRAY(label, n_bodies), ARRAY(sum, n_bodies)));
  label_heaps(n_bodies, n_pairs, pair, label);
  subtract_group_means(n_bodies, is_known, (const int32_t *)label, sum, work + m);
  MEMORY_FREE(&label, &sum);
  solve_conjugate_gradients(n_bodies, is_known, n_pairs, pair, work);
  for (int64_t p = 0; p < n_pairs; ++p)
    for (int k = 0; k < 3; ++k) pair[p].force[k] += work[3 * pair[p].body[0] + k] - work[3 * pair[p].body[1] + k];
  memory_free(&work);
  PetscFunctionReturn(PETSC_SUCCESS);
}
