/* Stumpff functions C_k(y) = sum_j (-y)^j / (2 j + k)!, k = 2 ... 7: what a constant rotation rate integrates to.
 *
 * With y = x^2: C_2 = (1 - cos x) / x^2, C_3 = (x - sin x) / x^3, and so on; C_k = 1 / k! - y C_(k+2); dC_k/dy = (k C_(k+2) - C_(k+1)) / 2.
 * Hence derivatives of C_2 and C_3 take nothing but the next of them, without a difference that cancels, down to no rotation at all. */
#ifndef SS_DISCRETIZE_ROD_STUMPFF_H
#define SS_DISCRETIZE_ROD_STUMPFF_H
#include <math.h>

enum { STUMPFF_COUNT = 8, STUMPFF_TERMS = 10 };

/* C[k] for k = 2 ... 7 at y >= 0; C[0] and C[1] are left alone. Relative errors of some 1e-15 (C_6, C_7: 1e-14). */
static inline void stumpff(double y, double C[STUMPFF_COUNT])
{
  static const double factorial[] = {1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0};
  if (y < 4.0) {
    /* The series from its end; the term after the last one is 2e-18 of the first. */
    double even = 1.0, odd = 1.0;
    for (int j = STUMPFF_TERMS; j > 0; --j) {
      even = 1.0 - y / ((2 * j + 5) * (2 * j + 6)) * even;
      odd  = 1.0 - y / ((2 * j + 6) * (2 * j + 7)) * odd;
    }
    C[6] = even / factorial[6], C[7] = odd / factorial[7];
    for (int k = 5; k >= 2; --k) C[k] = 1.0 / factorial[k] - y * C[k + 2];
  } else {
    const double x = sqrt(y);
    C[2] = (1.0 - cos(x)) / y, C[3] = (x - sin(x)) / (x * y);
    for (int k = 4; k < STUMPFF_COUNT; ++k) C[k] = (1.0 / factorial[k - 2] - C[k - 2]) / y;
  }
}
#endif
