/* Springs on vectors, and moments as pairs of forces. Shared by the rod models whose unknowns include node positions. */
#ifndef SS_DISCRETIZE_ROD_ROD_SPRING_H
#define SS_DISCRETIZE_ROD_ROD_SPRING_H
#include "core/math3.h"
#include <stdbool.h>

/* Derivatives of the energy c (|d| - rest)^2 / 2 of a vector d: f [3] gradient, K [9] second derivative (may be NULL). With is_definite, K
 * omits terms that may be negative. If |d| <= 1e-12 rest, d has no direction and f is zero. */
static inline void rod_spring(const double d[3], double c, double rest, bool is_definite, double f[3], double *K)
{
  const double length = v3_norm(d), over = rest == 0.0 ? 0.0 : length > 1e-12 * rest ? rest / length : 1.0;
  v3_scale(f, c * (1.0 - over), d);
  if (!K) return;
  const double across = c * (is_definite ? fmax(0.0, 1.0 - over) : 1.0 - over),
               along  = length > 0.0 ? (c - across) / (length * length) : 0.0;
  for (int i = 0; i < 9; ++i) K[i] = along * d[i / 3] * d[i % 3] + (i % 4 == 0 ? across : 0.0);
}

/* Rest length of a spring that includes stiffness damping beta on the rate of |d|. The damped spring equals an undamped one with
 * stiffness c (1 + share) and this rest length. share is beta / dt; `start` is |d| at the start of the step. */
static inline double rod_damped_rest(double share, double rest, double start)
{
  return share > 0.0 ? (rest + share * start) / (1.0 + share) : rest;
}

/* Represent a moment M by the forces f on the end of the edge e and -f on its start. The component of M along e is lost. K [9] = df/de, may
 * be NULL. */
static inline void rod_couple(const double M[3], const double e[3], double f[3], double *K)
{
  const double ee = v3_dot(e, e);
  v3_cross(f, M, e);
  v3_scale(f, 1.0 / ee, f);
  if (!K) return;
  m3_skew(K, M);
  for (int i = 0; i < 9; ++i) K[i] = K[i] / ee - 2.0 * f[i / 3] * e[i % 3] / ee;
}
#endif
