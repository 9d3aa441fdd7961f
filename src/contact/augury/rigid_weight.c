/* Node masses of rigid bodies on the grid, see rigid_weight.h. */
#include "contact/augury/rigid_weight.h"
#include "core/math3.h"
#include <string.h>

enum { SQUARINGS = 6 }; /* (trace of the 64th power)^(1/64) is above the largest of six eigenvalues by 6^(1/64) = 1.028 at most */

void rigid_weight_add(double S[36], double m, const double r[3])
{
  for (int k = 0; k < 3; ++k) {
    const double n[3] = {k == 0, k == 1, k == 2};
    rigid_weight_add_along(S, m, r, n);
  }
}

void rigid_weight_add_along(double S[36], double m, const double r[3], const double n[3])
{
  double g[6]; /* n . R u = g . u */
  v3_copy(g, n);
  v3_cross(g + 3, r, n);
  for (int i = 0; i < 36; ++i) S[i] += m * g[i / 6] * g[i % 6];
}

static void multiply(const double A[36], const double B[36], double C[36])
{
  for (int i = 0; i < 36; ++i) {
    C[i] = 0.0;
    for (int k = 0; k < 6; ++k) C[i] += A[6 * (i / 6) + k] * B[6 * k + i % 6];
  }
}

double rigid_weight_factor(const double S[36], double mass, const double inertia[9])
{
  double inverse[9], whole[36] = {0.0}, power[36], square[36], most = 0.0;
  (void)m3_inverse(inverse, inertia);
  for (int i = 0; i < 3; ++i) {
    whole[7 * i] = 1.0 / mass;
    for (int k = 0; k < 3; ++k) whole[6 * (3 + i) + 3 + k] = inverse[3 * i + k];
  }
  multiply(
      whole, S,
      power); /* its eigenvalues, those of S x = lambda M x, are not negative, so the trace of a power exceeds that of the largest one */
  double share = 1.0;
  for (int n = 0;; ++n, share *= 0.5) {
    double trace = 0.0;
    for (int i = 0; i < 6; ++i) trace += power[7 * i];
    if (!(trace > 0.0)) return 1.0;
    most += share * log(trace);
    if (n == SQUARINGS) return exp(-most);
    for (int i = 0; i < 36; ++i) power[i] /= trace;
    multiply(power, power, square);
    memcpy(power, square, sizeof power);
  }
}
