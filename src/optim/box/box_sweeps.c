#include "optim/box/box_sweeps.h"

static const double SSOR_OMEGA = 1.2, MODIFIED = 0.97, SAFE = 0.25;

void box_sweeps_ssor(const grid_matrix *a, const uint8_t *is_free, double *inverse)
{
  for (int64_t i = 0; i < a->n; ++i) inverse[i] = is_free[i] ? SSOR_OMEGA / a->diagonal[i] : 0.0;
}

void box_sweeps_mic(const grid_matrix *a, const uint8_t *is_free, double *inverse)
{
  for (int64_t i = 0; i < a->n; ++i) {
    inverse[i] = 0.0;
    if (!is_free[i]) continue;
    double e = a->diagonal[i];
    for (int s = 0; s < 6; ++s) {
      const int32_t j = a->neighbor[i][s];
      if (j < 0 || j >= i || inverse[j] == 0.0) continue;
      double rest = 0.0;
      for (int t = 0; t < 6; ++t) {
        const int32_t k = a->neighbor[j][t];
        if (k > j && k != i && is_free[k]) rest += a->off[j][t];
      }
      e -= a->off[i][s] * (a->off[i][s] + MODIFIED * rest) * inverse[j];
    }
    inverse[i] = 1.0 / (e >= SAFE * a->diagonal[i] ? e : a->diagonal[i]);
  }
}

void box_sweeps_apply(const grid_matrix *a, const double *inverse, const double *restrict r, double *restrict z)
{
  const int32_t(*restrict neighbor)[6] = (const int32_t(*)[6])a->neighbor;
  const double(*restrict off)[6]       = (const double(*)[6])a->off;
  for (int64_t i = 0; i < a->n; ++i) {
    double sum = r[i];
    for (int s = 0; s < 6; ++s)
      if (neighbor[i][s] >= 0 && neighbor[i][s] < i) sum -= off[i][s] * z[neighbor[i][s]];
    z[i] = sum * inverse[i];
  }
  for (int64_t i = a->n - 1; i >= 0; --i) {
    double sum = 0.0;
    for (int s = 0; s < 6; ++s)
      if (neighbor[i][s] > i) sum += off[i][s] * z[neighbor[i][s]];
    z[i] -= sum * inverse[i];
  }
}
