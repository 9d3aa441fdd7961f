/* If every cell has at most three lower and three upper neighbours, the sweeps read compact copies; otherwise they read the matrix. */
#include "optim/bounds/bounds_sweeps.h"
#include "core/memory.h"
#include <math.h>

static const double SSOR_OMEGA = 1.2, MODIFIED = 0.97, SAFE = 0.25;

void bounds_sweeps_destroy(bounds_sweeps **s)
{
  if (!*s) return;
  for (int side = 0; side < 2; ++side) memory_free(&(*s)->to[side]), memory_free(&(*s)->off[side]);
  MEMORY_FREE(&(*s)->inverse, s);
}

/* True if every cell has at most three lower and three upper neighbours. Across a periodic border the lower neighbour has the
 * higher number, so a cell may have more on one side. */
static bool is_split(const grid_matrix *a)
{
  for (int64_t i = 0; i < a->n; ++i) {
    int n[2] = {0};
    for (int k = 0; k < 6; ++k)
      if (a->neighbor[i][k] >= 0) ++n[a->neighbor[i][k] > i];
    if (n[0] > SWEEP_SIDE || n[1] > SWEEP_SIDE) return false;
  }
  return true;
}

PetscErrorCode bounds_sweeps_create(const grid_matrix *a, bounds_sweeps **out)
{
  bounds_sweeps *s = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("incomplete factor", 1, sizeof *s, &s));
  *out                   = s;
  s->n                   = (int32_t)a->n;
  PetscErrorCode code    = memory_alloc("incomplete factor", a->n, sizeof *s->inverse, &s->inverse);
  const int      n_sides = is_split(a) ? 2 : 0;
  for (int side = 0; side < n_sides && !code; ++side) {
    code = memory_alloc("neighbours of sweeps", a->n, sizeof *s->to[side], &s->to[side]);
    if (!code) code = memory_alloc("coefficients of sweeps", a->n, sizeof *s->off[side], &s->off[side]);
  }
  if (!code) bounds_sweeps_load(s, a);
  if (code) bounds_sweeps_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void bounds_sweeps_load(bounds_sweeps *s, const grid_matrix *a)
{
  double largest = 0.0;
  for (int64_t i = 0; i < a->n; ++i) largest = a->diagonal[i] > largest ? a->diagonal[i] : largest;
  s->unit = largest > 0.0 && isfinite(largest) ? ldexp(1.0, ilogb(largest)) : 1.0;
  if (!s->to[1]) return;
  const double per_unit = 1.0 / s->unit;
  for (int64_t i = 0; i < a->n; ++i) {
    int n[2] = {0};
    for (int k = 0; k < 6; ++k) {
      const int32_t j = a->neighbor[i][k];
      if (j < 0) continue;
      const int side = j > i, at = n[side]++;
      s->to[side][i][at] = j, s->off[side][i][at] = (float)(a->off[i][k] * per_unit);
    }
    for (int side = 0; side < 2; ++side) /* unused entries refer to a cell whose value is computed early; the last entry is the
                                          * one that the sweep has to wait for */
      for (int at = n[side]; at < SWEEP_SIDE; ++at) s->to[side][i][at] = side ? s->n - 1 : 0, s->off[side][i][at] = 0.0f;
  }
}

void bounds_sweeps_ssor(bounds_sweeps *s, const grid_matrix *a, const uint8_t *is_free)
{
  for (int64_t i = 0; i < a->n; ++i) s->inverse[i] = is_free[i] ? s->unit * SSOR_OMEGA / a->diagonal[i] : 0.0;
}

void bounds_sweeps_mic(bounds_sweeps *s, const grid_matrix *a, const uint8_t *is_free)
{
  double *restrict inverse = s->inverse;
  for (int64_t i = 0; i < a->n; ++i) {
    inverse[i] = 0.0;
    if (!is_free[i]) continue;
    double e = a->diagonal[i];
    for (int k = 0; k < 6; ++k) {
      const int32_t j = a->neighbor[i][k];
      if (j < 0 || j >= i || inverse[j] == 0.0) continue;
      double rest = 0.0;
      for (int t = 0; t < 6; ++t) {
        const int32_t m = a->neighbor[j][t];
        if (m > j && m != i && is_free[m]) rest += a->off[j][t];
      }
      e -= a->off[i][k] * (a->off[i][k] + MODIFIED * rest) * inverse[j] / s->unit;
    }
    inverse[i] = s->unit / (e >= SAFE * a->diagonal[i] ? e : a->diagonal[i]);
  }
}

static void apply_matrix(const bounds_sweeps *s, const grid_matrix *a, const double *restrict r, double *restrict z)
{
  const int32_t(*restrict neighbor)[6] = (const int32_t(*)[6])a->neighbor;
  const double(*restrict off)[6]       = (const double(*)[6])a->off;
  const double *restrict inverse = s->inverse, per_unit = 1.0 / s->unit;
  for (int64_t i = 0; i < a->n; ++i) {
    double sum = r[i];
    for (int k = 0; k < 6; ++k)
      if (neighbor[i][k] >= 0 && neighbor[i][k] < i) sum -= off[i][k] * z[neighbor[i][k]];
    z[i] = sum * per_unit * inverse[i];
  }
  for (int64_t i = a->n - 1; i >= 0; --i) {
    double sum = 0.0;
    for (int k = 0; k < 6; ++k)
      if (neighbor[i][k] > i) sum += off[i][k] * z[neighbor[i][k]];
    z[i] -= sum * per_unit * inverse[i];
  }
}

void bounds_sweeps_apply(const bounds_sweeps *s, const grid_matrix *a, const double *restrict r, double *restrict z)
{
  const int32_t n                = s->n;
  const double *restrict inverse = s->inverse, per_unit = 1.0 / s->unit;
  if (n == 0) return;
  if (!s->to[1]) {
    apply_matrix(s, a, r, z);
    return;
  }
  const int32_t(*restrict low)[SWEEP_SIDE] = (const int32_t(*)[SWEEP_SIDE])s->to[0];
  const int32_t(*restrict up)[SWEEP_SIDE]  = (const int32_t(*)[SWEEP_SIDE])s->to[1];
  const float(*restrict a_low)[SWEEP_SIDE] = (const float(*)[SWEEP_SIDE])s->off[0];
  const float(*restrict a_up)[SWEEP_SIDE]  = (const float(*)[SWEEP_SIDE])s->off[1];
  z[0]                                     = 0.0;
  for (int32_t i = 0; i < n; ++i) { /* the last neighbour is usually the previous cell: one fused operation from its value to
                                     * this one */
    const double first = (double)a_low[i][0] * z[low[i][0]], second = (double)a_low[i][1] * z[low[i][1]],
                 rest = (r[i] * per_unit - first - second) * inverse[i];
    z[i]              = rest - (double)a_low[i][2] * inverse[i] * z[low[i][2]];
  }
  for (int32_t i = n - 1; i >= 0; --i) {
    const double first = (double)a_up[i][0] * z[up[i][0]], second = (double)a_up[i][1] * z[up[i][1]],
                 rest = z[i] - (first + second) * inverse[i];
    z[i]              = rest - (double)a_up[i][2] * inverse[i] * z[up[i][2]];
  }
}
