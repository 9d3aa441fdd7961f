/* Implementation: floating-point filter, then exact arithmetic with expansions [Shewchuk1997, sec. 2]. */
#include "geometry/primitive/orient3d.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Error bounds of the floating-point filter, relative to the sum of the absolute values of all terms. [Shewchuk1997, sec. 4.3, 4.2]
 * derives 7 (orient3d) and 3 (orient3d_projected) unit round-offs, and 4 for orient3d_plane_side; these bounds are doubled here. Fused
 * multiply-add instructions only reduce errors. Above SAFE, underflow in the terms has no effect. */
#define SPACE_ERROR (8.0 * DBL_EPSILON)
#define PLANE_ERROR (4.0 * DBL_EPSILON)
#define SAFE 0x1p-900

static int sign(double x) { return (x > 0.0) - (x < 0.0); }

/* ---- expansions: sums of non-overlapping doubles in order of increasing magnitude [Shewchuk1997, sec. 2] ---- */

enum { PAIR = 2, PRODUCT = 8, DIFFERENCE = 16, TERM = 64, DETERMINANT = 192 };

/* s + e = a + b exactly; returns s, the rounded sum */
static inline double two_sum(double a, double b, double *e)
{
  const double s = a + b, bb = s - a;
  *e = (a - (s - bb)) + (b - bb);
  return s;
}

/* p + e = a b exactly; returns p, the rounded product. Volatile prevents the contraction of p into a later sum, which would use
 * the unrounded product there and the rounded one here. */
static inline double two_product(double a, double b, double *e)
{
  volatile double p = a * b;
  *e                = fma(a, b, -p);
  return p;
}

/* e += b, without zero terms. e needs room for one more term. */
static int grow(int n, double *e, double b)
{
  int    m = 0;
  double q = b;
  for (int i = 0; i < n; ++i) {
    double rest;
    q = two_sum(q, e[i], &rest);
    if (rest != 0.0) e[m++] = rest;
  }
  if (q != 0.0) e[m++] = q;
  return m;
}

/* h += s f; h needs room for m more terms */
static int orient3d_add(int n, double *h, int m, const double *f, double s)
{
  for (int i = 0; i < m; ++i) n = grow(n, h, s * f[i]);
  return n;
}

/* h = e b; h needs room for 2 n terms */
static int scale(int n, const double *e, double b, double *h)
{
  int    m = 0;
  double q = 0.0;
  for (int i = 0; i < n; ++i) {
    double       low, rest;
    const double high = two_product(e[i], b, &low);
    const double sum  = two_sum(q, low, &rest);
    if (rest != 0.0) h[m++] = rest;
    q = two_sum(high, sum, &rest);
    if (rest != 0.0) h[m++] = rest;
  }
  if (q != 0.0) h[m++] = q;
  return m;
}

/* h = e f, f of at most two terms; h needs room for 4 n terms */
static int times_pair(int n, const double *e, int m, const double *f, double *h)
{
  double part[2 * DIFFERENCE];
  int    size = 0;
  for (int i = 0; i < m; ++i) size = orient3d_add(size, h, scale(n, e, f[i], part), part, 1.0);
  return size;
}

typedef struct {
  int    n;
  double x[PAIR];
} pair;

static pair difference(double a, double b)
{
  pair         d = {0};
  double       e;
  const double s = two_sum(a, -b, &e);
  if (e != 0.0) d.x[d.n++] = e;
  if (s != 0.0) d.x[d.n++] = s;
  return d;
}

/* h = v1 w2 - v2 w1 */
static int cross_component(const pair *v1, const pair *v2, const pair *w1, const pair *w2, double h[DIFFERENCE])
{
  double    p[PRODUCT];
  const int n = times_pair(v1->n, v1->x, w2->n, w2->x, h);
  return orient3d_add(n, h, times_pair(v2->n, v2->x, w1->n, w1->x, p), p, -1.0);
}

static __attribute__((noinline)) int space_sign(const double *a, const double *b, const double *c, const double *d)
{
  pair   u[3], v[3], w[3];
  double sum[DETERMINANT], minor[DIFFERENCE], term[TERM];
  int    n = 0;
  for (int k = 0; k < 3; ++k) u[k] = difference(d[k], a[k]), v[k] = difference(b[k], a[k]), w[k] = difference(c[k], a[k]);
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3, m = cross_component(&v[i], &v[j], &w[i], &w[j], minor);
    n = orient3d_add(n, sum, times_pair(m, minor, u[k].n, u[k].x, term), term, 1.0);
  }
  return n > 0 ? sign(sum[n - 1]) : 0;
}

static __attribute__((noinline)) int plane_sign(const double *a, const double *b, const double *c, int i, int j)
{
  const pair v1 = difference(b[i], a[i]), v2 = difference(b[j], a[j]), w1 = difference(c[i], a[i]), w2 = difference(c[j], a[j]);
  double     h[DIFFERENCE];
  const int  n = cross_component(&v1, &v2, &w1, &w2, h);
  return n > 0 ? sign(h[n - 1]) : 0;
}

static __attribute__((noinline)) int height_sign(const double *normal, const double *point, const double *x)
{
  double sum[12], part[4];
  int    n = 0;
  for (int k = 0; k < 3; ++k) {
    const pair d = difference(x[k], point[k]);
    n            = orient3d_add(n, sum, scale(d.n, d.x, normal[k], part), part, 1.0);
  }
  return n > 0 ? sign(sum[n - 1]) : 0;
}

/* ---- public predicates: floating-point filter first ---- */

int orient3d(const double a[3], const double b[3], const double c[3], const double d[3])
{
  double determinant = 0.0, permanent = 0.0, u[3], v[3], w[3];
  for (int k = 0; k < 3; ++k) u[k] = d[k] - a[k], v[k] = b[k] - a[k], w[k] = c[k] - a[k];
  for (int k = 0; k < 3; ++k) {
    const int    i = (k + 1) % 3, j = (k + 2) % 3;
    const double first = v[i] * w[j], second = v[j] * w[i];
    determinant += u[k] * (first - second);
    permanent += fabs(u[k]) * (fabs(first) + fabs(second));
  }
  if (permanent > SAFE && fabs(determinant) > SPACE_ERROR * permanent) return sign(determinant);
  for (int k = 0; k < 3; ++k) /* axis-aligned faces are common */
    if (a[k] == b[k] && a[k] == c[k] && a[k] == d[k]) return 0;
  return space_sign(a, b, c, d);
}

int orient3d_projected(const double a[3], const double b[3], const double c[3], int k)
{
  const int    i = (k + 1) % 3, j = (k + 2) % 3;
  const double first = (b[i] - a[i]) * (c[j] - a[j]), second = (b[j] - a[j]) * (c[i] - a[i]);
  const double determinant = first - second, permanent = fabs(first) + fabs(second);
  if (permanent > SAFE && fabs(determinant) > PLANE_ERROR * permanent) return sign(determinant);
  return plane_sign(a, b, c, i, j);
}

int orient3d_plane_side(const double normal[3], const double point[3], const double x[3])
{
  double height = 0.0, sum = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double part = normal[k] * (x[k] - point[k]);
    height += part;
    sum += fabs(part);
  }
  if (sum > SAFE && fabs(height) > PLANE_ERROR * sum) return sign(height);
  return height_sign(normal, point, x);
}
