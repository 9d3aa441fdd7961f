/* Signed distance to an ellipsoid.
 *
 * By symmetry the point y is taken to the octant y >= 0. Its nearest point is x_i = r_i^2 y_i / (r_i^2 + t), where t is the largest
 * root of sum (r_i y_i / (r_i^2 + t))^2 = 1. With s = t + r_min^2 all denominators are sums of what is not negative, and the root is
 * sought for the reciprocal of the length on the left, which is nearly straight, as trust-region methods seek theirs. Inside, where
 * the coordinate along the shortest axis vanishes, there may be no root: then s = 0 and the nearest point is off that axis. */
#include "core/math3.h"
#include <float.h>
#include "core/memory.h"
#include "geometry/level_set/level_set.h"
#include "geometry/level_set/level_set_kind.h"

typedef struct {
  level_set base;
  double    c[3], r[3];
  int       shortest;
} level_set_ellipsoid_data;

/* sum (w_i / (k_i + s))^2 and half its derivative; terms with w_i = 0 are none. */
static double squared_length(const double w[3], const double k[3], double s, double *half_slope)
{
  double sum = 0.0;
  *half_slope = 0.0;
  for (int i = 0; i < 3; ++i) {
    if (w[i] == 0.0) continue;
    const double q = w[i] / (k[i] + s);
    sum += q * q, *half_slope -= q * q / (k[i] + s);
  }
  return sum;
}

/* The largest s > 0 where that sum is 1, w = r y, k = r^2 - r_min^2; 0 if there is none. */
static double largest_root(const double w[3], const double k[3])
{
  double slope, low = 0.0, high = v3_norm(w); /* every denominator is at least s; a single term reaches 1 at w_i - k_i */
  for (int i = 0; i < 3; ++i) low = fmax(low, w[i] - k[i]);
  if (low == 0.0 && !(squared_length(w, k, 0.0, &slope) > 1.0)) return 0.0; /* w of the shortest axis is 0, or low would not be */
  double s = low > 0.0 ? low : 0.5 * high;
  for (int i = 0; i < 100 && high - low > 2.0 * DBL_EPSILON * high; ++i) {
    const double sum = squared_length(w, k, s, &slope), length = sqrt(sum);
    if (sum > 1.0) low = s;
    else high = s;
    if (fabs(length - 1.0) < 2.0 * DBL_EPSILON) break;
    s += (1.0 - length) * sum / slope; /* Newton's step for 1 / length - 1 */
    if (!(s > low && s < high)) s = low > 0.0 && high > 4.0 * low ? sqrt(low) * sqrt(high) : 0.5 * (low + high);
  }
  return s;
}

/* The nearest point of the surface, relative to the centre, and the outward normal there. */
static void nearest_point(const level_set_ellipsoid_data *p, const double y[3], double x[3], double n[3])
{
  const int    m = p->shortest;
  const double least = p->r[m] * p->r[m];
  double       w[3], k[3];
  for (int i = 0; i < 3; ++i) w[i] = p->r[i] * fabs(y[i]), k[i] = p->r[i] * p->r[i] - least;
  const double s = largest_root(w, k);
  double       rest = 1.0;
  for (int i = 0; i < 3; ++i) {
    x[i] = y[i] == 0.0 ? 0.0 : copysign(p->r[i] * w[i] / (k[i] + s), y[i]);
    if (i != m) rest -= x[i] * x[i] / (p->r[i] * p->r[i]);
  }
  if (s == 0.0) x[m] = p->r[m] * sqrt(fmax(0.0, rest)); /* both signs are as near */
  for (int i = 0; i < 3; ++i) n[i] = x[i] / (p->r[i] * p->r[i]);
}

/* The second fundamental form S of the surface, seen from a distance d: H = S (1 + d S)^-1 across the normal. curvature [3] is
 * 1/r^2 over the length of the gradient of sum (x/r)^2 / 2. */
static void offset_curvature(const double curvature[3], const double n[3], double d, double *hessian)
{
  double e[2][3], S[2][2], H[2][2];
  int    a = 0;
  for (int i = 1; i < 3; ++i)
    if (fabs(n[i]) < fabs(n[a])) a = i;
  for (int i = 0; i < 3; ++i) e[0][i] = (i == a) - n[a] * n[i];
  v3_scale(e[0], 1.0 / v3_norm(e[0]), e[0]);
  v3_cross(e[1], n, e[0]);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      S[i][j] = 0.0;
      for (int q = 0; q < 3; ++q) S[i][j] += e[i][q] * curvature[q] * e[j][q];
    }
  const double det = S[0][0] * S[1][1] - S[0][1] * S[1][0], divisor = 1.0 + d * (S[0][0] + S[1][1]) + d * d * det;
  m3_zero(hessian);
  if (divisor == 0.0) return; /* a centre of curvature */
  H[0][0] = (S[0][0] + d * det) / divisor, H[1][1] = (S[1][1] + d * det) / divisor, H[0][1] = H[1][0] = S[0][1] / divisor;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int q = 0; q < 4; ++q) hessian[3 * i + j] += e[q / 2][i] * H[q / 2][q % 2] * e[q % 2][j];
}

static double ellipsoid_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_ellipsoid_data *p = (const level_set_ellipsoid_data *)s;
  double                          y[3], foot[3], n[3], gap[3], curvature[3], inside = -1.0;
  v3_sub(y, x, p->c);
  nearest_point(p, y, foot, n);
  for (int k = 0; k < 3; ++k) inside += y[k] * y[k] / (p->r[k] * p->r[k]);
  v3_sub(gap, y, foot);
  const double slope = v3_norm(n), d = inside < 0.0 ? -v3_norm(gap) : v3_norm(gap);
  v3_scale(n, 1.0 / slope, n);
  if (gradient) v3_copy(gradient, n);
  for (int k = 0; k < 3; ++k) curvature[k] = 1.0 / (p->r[k] * p->r[k] * slope);
  if (hessian) offset_curvature(curvature, n, d, hessian);
  return d;
}

static void ellipsoid_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_ellipsoid_data *p = (const level_set_ellipsoid_data *)s;
  for (int k = 0; k < 3; ++k) min[k] = p->c[k] - p->r[k], max[k] = p->c[k] + p->r[k];
}

static const level_set_kind kind_ellipsoid = {ellipsoid_eval, ellipsoid_bounds, NULL};

PetscErrorCode level_set_ellipsoid(const double center[3], const double radii[3], level_set **out)
{
  level_set_ellipsoid_data *p = NULL;
  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k)
    PetscCheck(isfinite(center[k]) && isfinite(radii[k]) && radii[k] > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "an ellipsoid needs a finite centre and positive radii");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = &kind_ellipsoid;
  v3_copy(p->c, center);
  v3_copy(p->r, radii);
  for (int k = 1; k < 3; ++k)
    if (radii[k] < radii[p->shortest]) p->shortest = k;
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}
