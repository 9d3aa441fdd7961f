#include "optim/friction/band_lanes.h"
#include <float.h>
#include <math.h>

#define LANES _Pragma("omp simd") for (int v = 0; v < BAND_LANES; ++v)

bool band_lanes_factor(int64_t n, int64_t width, double *l)
{
  const int64_t stride = (width + 1) * BAND_LANES;
  for (int64_t i = 0; i < n; ++i) {
    double *const row   = l + i * stride + (width - i) * BAND_LANES; /* row + j BAND_LANES: column j, i - width <= j <= i */
    const int64_t first = i > width ? i - width : 0;
    double       *pivot = row + i * BAND_LANES, floor[BAND_LANES];
    LANES floor[v] = 8.0 * DBL_EPSILON * fabs(pivot[v]);
    for (int64_t j = first; j < i; ++j) { /* L_ij D_j, then L_ij below */
      const double *const above = l + j * stride + (width - j) * BAND_LANES;
      double              sum[BAND_LANES];
      LANES sum[v] = row[j * BAND_LANES + v];
      for (int64_t k = first; k < j; ++k) LANES sum[v] -= row[k * BAND_LANES + v] * above[k * BAND_LANES + v];
      LANES row[j * BAND_LANES + v] = sum[v];
    }
    for (int64_t j = first; j < i; ++j) {
      const double *const inverse = l + j * stride + width * BAND_LANES;
      double *const       entry   = row + j * BAND_LANES;
      LANES {
        const double scaled = entry[v] * inverse[v];
        pivot[v] -= scaled * entry[v];
        entry[v] = scaled;
      }
    }
    for (int v = 0; v < BAND_LANES; ++v)
      if (!(pivot[v] > floor[v]) || !isfinite(pivot[v])) return false;
    LANES pivot[v] = 1.0 / pivot[v];
  }
  return true;
}

void band_lanes_solve(int64_t n, int64_t width, const double *restrict l, double *restrict y)
{
  const int64_t stride = (width + 1) * BAND_LANES;
  for (int64_t i = 0; i < n; ++i) {
    const double *const row   = l + i * stride + (width - i) * BAND_LANES;
    double              sum[BAND_LANES] = {0};
    for (int64_t j = i > width ? i - width : 0; j < i; ++j) LANES sum[v] += row[j * BAND_LANES + v] * y[j * BAND_LANES + v];
    LANES y[i * BAND_LANES + v] -= sum[v];
  }
  for (int64_t i = 0; i < n; ++i) {
    const double *const inverse = l + i * stride + width * BAND_LANES;
    LANES y[i * BAND_LANES + v] *= inverse[v];
  }
  for (int64_t i = n - 1; i > 0; --i) {
    const double *const row = l + i * stride + (width - i) * BAND_LANES, *const from = y + i * BAND_LANES;
    for (int64_t j = i > width ? i - width : 0; j < i; ++j) LANES y[j * BAND_LANES + v] -= row[j * BAND_LANES + v] * from[v];
  }
}
