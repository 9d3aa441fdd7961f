/* 3-vectors and row-major 3x3 matrices: a[3*i + j] is row i, column j. All inline, no state. The result o may alias an argument in componentwise
 * operations, but not in products, transposes and inverses. */
#ifndef SS_CORE_MATH3_H
#define SS_CORE_MATH3_H
#include <math.h>
#include <string.h>

static inline double v3_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline double v3_norm(const double *a) { return sqrt(v3_dot(a, a)); }
static inline void   v3_set(double *o, double x, double y, double z)
{
  o[0] = x;
  o[1] = y;
  o[2] = z;
}
static inline void v3_copy(double *o, const double *a)
{
  o[0] = a[0];
  o[1] = a[1];
  o[2] = a[2];
}
static inline void v3_add(double *o, const double *a, const double *b)
{
  for (int i = 0; i < 3; ++i) o[i] = a[i] + b[i];
}
static inline void v3_sub(double *o, const double *a, const double *b)
{
  for (int i = 0; i < 3; ++i) o[i] = a[i] - b[i];
}
static inline void v3_axpy(double *y, double s, const double *x) /* y += s x */
{
  for (int i = 0; i < 3; ++i) y[i] += s * x[i];
}
static inline void v3_scale(double *o, double s, const double *a)
{
  for (int i = 0; i < 3; ++i) o[i] = s * a[i];
}
/* o may alias neither a nor b */
static inline void v3_cross(double *o, const double *a, const double *b)
{
  o[0] = a[1] * b[2] - a[2] * b[1];
  o[1] = a[2] * b[0] - a[0] * b[2];
  o[2] = a[0] * b[1] - a[1] * b[0];
}
static inline void m3_zero(double *m) { memset(m, 0, 9 * sizeof *m); }
static inline void m3_copy(double *o, const double *m) { memcpy(o, m, 9 * sizeof *m); }
static inline void m3_identity(double *m)
{
  m3_zero(m);
  m[0] = m[4] = m[8] = 1.0;
}
static inline void m3_axpy(double *y, double s, const double *x) /* y += s x */
{
  for (int i = 0; i < 9; ++i) y[i] += s * x[i];
}
static inline void m3_mul(double *o, const double *a, const double *b) /* o = a b, no aliasing */
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}
static inline void m3_mul_tn(double *o, const double *a, const double *b) /* o = a^T b */
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
}
static inline void m3_mul_nt(double *o, const double *a, const double *b) /* o = a b^T */
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}
static inline void m3_mulv(double *o, const double *a, const double *x) /* o = a x, no aliasing */
{
  for (int i = 0; i < 3; ++i) o[i] = a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2];
}
static inline void m3_mulv_t(double *o, const double *a, const double *x) /* o = a^T x, no aliasing */
{
  for (int i = 0; i < 3; ++i) o[i] = a[i] * x[0] + a[3 + i] * x[1] + a[6 + i] * x[2];
}
static inline void m3_transpose(double *o, const double *a)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[3 * j + i];
}
static inline void m3_outer(double *o, const double *a, const double *b) /* o = a b^T */
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[i] * b[j];
}
static inline void m3_skew(double *o, const double *w) /* matrix with o x = w cross x for every vector x */
{
  o[0] = 0.0;
  o[1] = -w[2];
  o[2] = w[1];
  o[3] = w[2];
  o[4] = 0.0;
  o[5] = -w[0];
  o[6] = -w[1];
  o[7] = w[0];
  o[8] = 0.0;
}
static inline double m3_det(const double *m)
{
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}
static inline double m3_trace(const double *m) { return m[0] + m[4] + m[8]; }
/* o = m^-1 by cofactors; returns det. Not for nearly singular m. No aliasing. */
static inline double m3_inverse(double *o, const double *m)
{
  const double d = m3_det(m), s = 1.0 / d;
  o[0] = s * (m[4] * m[8] - m[5] * m[7]);
  o[1] = s * (m[2] * m[7] - m[1] * m[8]);
  o[2] = s * (m[1] * m[5] - m[2] * m[4]);
  o[3] = s * (m[5] * m[6] - m[3] * m[8]);
  o[4] = s * (m[0] * m[8] - m[2] * m[6]);
  o[5] = s * (m[2] * m[3] - m[0] * m[5]);
  o[6] = s * (m[3] * m[7] - m[4] * m[6]);
  o[7] = s * (m[1] * m[6] - m[0] * m[7]);
  o[8] = s * (m[0] * m[4] - m[1] * m[3]);
  return d;
}
#endif
