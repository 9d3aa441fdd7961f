#include "discretize/fem/tetrahedra_lanes.h"

/* F = 1 + sum_a (u_a - u_0) gradient_a would lose nothing near rest, but needs displacements; differences of positions do. */
void tetrahedra_gradients(double *const *gradient, int64_t first, int64_t n, const element_row *x, element_row *G)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double *restrict g0 = gradient[j] + first, *restrict g1 = gradient[3 + j] + first,
                             *restrict g2 = gradient[6 + j] + first;
#pragma omp simd
      for (int64_t e = 0; e < n; ++e)
        G[3 * i + j][e] = (x[3 + i][e] - x[i][e]) * g0[e] + (x[6 + i][e] - x[i][e]) * g1[e] + (x[9 + i][e] - x[i][e]) * g2[e];
    }
}

void tetrahedra_corner_forces(int64_t n, const double *restrict volume, double *const *gradient, int64_t first,
                              const element_row *P, element_row *f)
{
  for (int i = 0; i < 3; ++i) {
    for (int a = 0; a < 3; ++a) {
      const double *restrict g0 = gradient[3 * a] + first, *restrict g1 = gradient[3 * a + 1] + first,
                             *restrict g2 = gradient[3 * a + 2] + first;
#pragma omp simd
      for (int64_t e = 0; e < n; ++e)
        f[3 * (a + 1) + i][e] -= volume[first + e] * (P[3 * i][e] * g0[e] + P[3 * i + 1][e] * g1[e] + P[3 * i + 2][e] * g2[e]);
    }
  }
}
