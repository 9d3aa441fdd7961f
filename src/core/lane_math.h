/* Elementary functions for SIMD lanes: branch-free and inline, so that `omp simd` loops that call them are vectorised. The functions of the C library
 * are vectorised only with -ffast-math, which is not used here. Errors are below 2 ulp; errno and exceptions are not set. */
#ifndef SS_CORE_LANE_MATH_H
#define SS_CORE_LANE_MATH_H
#include <float.h>
#include <math.h>
#include <stdint.h>

#define LANE static inline __attribute__((always_inline))

typedef union {
  double   value;
  uint64_t bits;
} lane_pun;

#define LANE_LN2_HIGH 0x1.62e42fee00000p-1 /* leading 32 bits of ln 2: its product with any exponent of a double is exact */
#define LANE_LN2_LOW 0x1.a39ef35793c76p-33 /* ln 2 - LANE_LN2_HIGH */

/* Natural logarithm of a positive normal number x; NaN for every other x.
 * x = 2^k (1 + f) with 1 + f in [1/sqrt 2, sqrt 2); s = f/(2 + f); log(1 + f) = 2 atanh s = f - s (f - r), where
 * r = 2 s^2 (1/3 + s^2/5 + ...): the leading term is exact, so that log(1 + tiny) keeps its relative precision. */
LANE double lane_log(double x)
{
  const uint64_t half_root = 0x3fe6a09e00000000u; /* bits of 1/sqrt 2, truncated to 20 fraction bits */
  const lane_pun in        = {.value = x};
  const uint64_t shifted   = in.bits + (0x3ff0000000000000u - half_root);
  const lane_pun mantissa  = {.bits = (shifted & 0x000fffffffffffffu) + half_root};
  const lane_pun exponent  = {.bits = (shifted >> 52) | 0x4330000000000000u}; /* 2^52 + k + 1023 */
  const double   k = exponent.value - (0x1p52 + 1023.0), f = mantissa.value - 1.0, s = f / (2.0 + f), z = s * s;
  const double   high   = 1.0 / 11 + z * (1.0 / 13 + z * (1.0 / 15 + z * (1.0 / 17 + z * (1.0 / 19))));
  const double   series = 1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * high)));
  const double   result = k * LANE_LN2_HIGH + (f - (s * (f - 2.0 * z * series) - k * LANE_LN2_LOW));
  return x >= DBL_MIN ? (x <= DBL_MAX ? result : NAN) : NAN;
}

/* e^x; x is clamped to [-700, 700]. x = n ln 2 + r with |r| <= ln(2)/2; e^r by its Taylor series up to r^13. */
LANE double lane_exp(double x)
{
  const double magic     = 0x1.8p52;
  double       y         = x > 700.0 ? 700.0 : x;
  y                      = y < -700.0 ? -700.0 : y;
  const lane_pun rounded = {.value = y * 0x1.71547652b82fep0 + magic}; /* the low bits contain the integer n */
  const double   n = rounded.value - magic, r = (y - n * LANE_LN2_HIGH) - n * LANE_LN2_LOW;
  const double   tail = 1.0 / 39916800 + r * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
  const double   high = 1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880 + r * (1.0 / 3628800 + r * tail)));
  const double   low  = 0.5 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r * high))));
  lane_pun       out  = {.value = 1.0 + (r + r * r * low)};
  out.bits += rounded.bits << 52;
  return out.value;
}

/* sin x for 0 <= x <= pi/2, by its Taylor series up to x^21. */
LANE double lane_sin_quarter(double x)
{
  const double y    = x * x;
  const double tail = 1.0 - y / 110 * (1.0 - y / 156 * (1.0 - y / 210 * (1.0 - y / 272 * (1.0 - y / 342 * (1.0 - y / 420)))));
  return x - x * y / 6 * (1.0 - y / 20 * (1.0 - y / 42 * (1.0 - y / 72 * tail)));
}
#endif
