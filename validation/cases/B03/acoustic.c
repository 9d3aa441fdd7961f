/* Is sand of constant friction, in simple shear without dilation, a well-posed material? No: waves that run nearly along or across the slope grow.
 *
 *   cc -O2 -o acoustic validation/cases/B03/acoustic.c -lm && ./acoustic
 *
 * Small strains about the state of a layer that flows: s = tau (x z + z x), f = |s| + alpha tr sigma, alpha = sqrt(2) M/3, flow along N = s/|s|,
 *
 *   C_ep = C - N x (2 mu N + 3 K alpha 1),     A(n) = n.C_ep.n = (lambda + mu) n n + mu 1 - (N n) (2 mu N n + 3 K alpha n)
 *
 * A plane wave exp(i k n.x + s t) has s^2 rho = -k^2 (an eigenvalue of A): where one is negative it grows at a rate proportional to its wave
 * number, the more the shorter it is [RudnickiRice1975, Schaeffer1987], so that neither a finer grid nor a shorter step can converge. Backward Euler multiplies such
 * a wave by 1/(1 - s dt) per step, which is growth only where s dt < 2: long steps hold what short ones let go. */
#include <math.h>
#include <stdio.h>

int main(void)
{
  const double pi = acos(-1.0), E = 1.0e7, rho = 1500.0, h = 0.00625;
  const double nus[] = {0.3, 0.3, 0.49}, Ms[] = {0.5, 0.601, 0.5};
  for (int run = 0; run < 3; ++run) {
    const double nu = nus[run], M = Ms[run], mu = E / (2 * (1 + nu)), la = E * nu / ((1 + nu) * (1 - 2 * nu)), K = la + 2 * mu / 3,
                 alpha = sqrt(2) * M / 3;
    double    least = INFINITY, at = 0, share = 0;
    const int n_angles = 180000;
    for (int i = 0; i < n_angles; ++i) {
      const double a = pi * i / n_angles, n[2] = {cos(a), sin(a)}, b[2] = {n[1] / sqrt(2), n[0] / sqrt(2)};
      double       A[2][2];
      for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 2; ++c) A[r][c] = (la + mu) * n[r] * n[c] + (r == c ? mu : 0) - b[r] * (2 * mu * b[c] + 3 * K * alpha * n[c]);
      const double mean = 0.5 * (A[0][0] + A[1][1]), in_root = mean * mean - A[0][0] * A[1][1] + A[0][1] * A[1][0];
      const double lower = in_root < 0 ? mean : mean - sqrt(in_root);
      if (lower < least) least = lower, at = a;
      share += lower < -1e-9 * mu ? 1.0 / n_angles : 0.0;
    }
    const double rate = sqrt(-least / rho);
    printf("M %g, nu %g: least eigenvalue %.4f mu at %.2f degrees from the slope; negative for %.0f %% of all directions; s = %.3g "
           "m/s k, %.3g /s for a wave of 4 "
           "cells: s dt = %.2f at 1 ms, %.2f at 0.5 ms\n",
           M, nu, least / mu, at * 180 / pi, 100 * share, rate, rate * 2 * pi / (4 * h), 1e-3 * rate * 2 * pi / (4 * h),
           5e-4 * rate * 2 * pi / (4 * h));
  }
  return 0;
}
