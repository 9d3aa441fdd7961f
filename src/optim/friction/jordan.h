/* The Jordan algebra of the second-order cone L = {x_0 >= |x_T|}, x_T = (x_1, x_2) [AlizadehGoldfarb2003, sec. 4]. The product is
 * x o y = (x.y, x_0 y_T + y_0 x_T), the identity is (1, 0, 0), and L is the set of all squares. Used by interior_point.c. */
#ifndef SS_OPTIM_FRICTION_JORDAN_H
#define SS_OPTIM_FRICTION_JORDAN_H
#include <math.h>

/* Returns the product of the eigenvalues x_0 - |x_T| and x_0 + |x_T|, without cancellation. */
static inline double jordan_det(const double x[3])
{
  const double t = sqrt(x[1] * x[1] + x[2] * x[2]);
  return (x[0] - t) * (x[0] + t);
}
static inline void jordan_product(const double x[3], const double y[3], double z[3])
{
  z[0] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  z[1] = x[0] * y[1] + y[0] * x[1];
  z[2] = x[0] * y[2] + y[0] * x[2];
}
/* z with l o z = b; l inside L. */
static inline void jordan_divide(const double l[3], const double b[3], double z[3])
{
  const double s = (l[0] * b[0] - l[1] * b[1] - l[2] * b[2]) / jordan_det(l);
  z[1]           = (b[1] - l[1] * s) / l[0];
  z[2]           = (b[2] - l[2] * s) / l[0];
  z[0]           = s;
}
static inline void jordan_inverse(const double x[3], double z[3])
{
  const double d = jordan_det(x);
  z[0] = x[0] / d, z[1] = -x[1] / d, z[2] = -x[2] / d;
}
static inline void jordan_sqrt(const double x[3], double z[3])
{
  const double t = sqrt(x[1] * x[1] + x[2] * x[2]), low = sqrt(fmax(0.0, x[0] - t)), high = sqrt(x[0] + t),
               f = high > 0.0 ? 1.0 / (low + high) : 0.0;
  z[0]           = 0.5 * (low + high);
  z[1] = f * x[1], z[2] = f * x[2]; /* (high - low)/(2 t) = 1/(high + low) */
}
/* The quadratic representation Q_w = 2 w w^T - det(w) diag(1, -1, -1), symmetric, row-major. */
static inline void jordan_quadratic(const double w[3], double Q[9])
{
  const double d = jordan_det(w);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) Q[3 * i + j] = 2.0 * w[i] * w[j];
  Q[0] -= d, Q[4] += d, Q[8] += d;
}
/* Returns the largest t such that x + s d is in L for all s in [0, t]. x is inside L. INFINITY if x + s d never leaves L. */
static inline double jordan_step(const double x[3], const double d[3])
{
  const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2], c = jordan_det(x),
               under = b * b - a * c;
  double t           = d[0] < 0.0 ? -x[0] / d[0] : INFINITY;
  if (under < 0.0) return t;
  const double q = b < 0.0 ? -b + sqrt(under) : -b - sqrt(under), one = q / a, two = c / q; /* roots of c + 2 b t + a t^2 */
  if (one > 0.0 && one < t) t = one;
  if (two > 0.0 && two < t) t = two;
  return t;
}
#endif
