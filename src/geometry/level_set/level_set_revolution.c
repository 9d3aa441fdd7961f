/* Exact signed distance to a solid of revolution with a polygon for its profile: the nearest of the segments in the half plane of the axis
 * and the point, the flat ends among them. */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/level_set/level_set.h"
#include "geometry/level_set/level_set_axial.h"
#include "geometry/level_set/level_set_kind.h"

typedef struct {
  level_set base;
  double    c[3], a[3]; /* a point of the axis, its unit direction */
  int       n;          /* corners, the two on the axis included */
  double   *z, *r;      /* [n] from the lower to the upper end along the outside */
} level_set_revolution_data;

static bool is_inside(const level_set_revolution_data *p, double rho, double z)
{
  for (int i = 0; i + 1 < p->n; ++i) /* flat ends have no height */
    if (z > p->z[i] && z <= p->z[i + 1]) return rho < p->r[i] + (p->r[i + 1] - p->r[i]) * (z - p->z[i]) / (p->z[i + 1] - p->z[i]);
  return false;
}

static double revolution_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_revolution_data *p = (const level_set_revolution_data *)s;
  const axial_point                o = axial_locate(p->c, p->a, x);
  double best = INFINITY, gap_r = 0.0, gap_z = 0.0, normal_r = 0.0, normal_z = 0.0;
  bool   is_corner = false;
  for (int i = 0; i + 1 < p->n; ++i) {
    const double er = p->r[i + 1] - p->r[i], ez = p->z[i + 1] - p->z[i], dr = o.rho - p->r[i], dz = o.z - p->z[i], square = er * er + ez * ez;
    if (square == 0.0) continue; /* the end is a tip */
    const double t = fmin(fmax((dr * er + dz * ez) / square, 0.0), 1.0), qr = dr - t * er, qz = dz - t * ez, distance = hypot(qr, qz);
    if (distance >= best) continue;
    best = distance, gap_r = qr, gap_z = qz, is_corner = t == 0.0 || t == 1.0;
    normal_r = ez / sqrt(square), normal_z = -er / sqrt(square); /* outward: the profile runs upwards along the outside */
  }
  const double sign = is_inside(p, o.rho, o.z) ? -1.0 : 1.0;
  if (!gradient && !hessian) return sign * best;
  if (is_corner && best > 0.0) {
    const double n_r = sign * gap_r / best, n_z = sign * gap_z / best, k = sign / best;
    axial_derivatives(p->a, &o, n_r, n_z, k * n_z * n_z, -k * n_r * n_z, k * n_r * n_r, gradient, hessian);
  } else axial_derivatives(p->a, &o, normal_r, normal_z, 0.0, 0.0, 0.0, gradient, hessian);
  return sign * best;
}

static void revolution_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_revolution_data *p = (const level_set_revolution_data *)s;
  for (int k = 0; k < 3; ++k) {
    const double across = sqrt(fmax(0.0, 1.0 - p->a[k] * p->a[k]));
    min[k] = INFINITY, max[k] = -INFINITY;
    for (int i = 0; i < p->n; ++i) {
      const double at = p->c[k] + p->z[i] * p->a[k];
      min[k] = fmin(min[k], at - across * p->r[i]), max[k] = fmax(max[k], at + across * p->r[i]);
    }
  }
}

static void revolution_destroy(level_set *s) { memory_free(&((level_set_revolution_data *)s)->z); }

static const level_set_kind kind_revolution = {revolution_eval, revolution_bounds, revolution_destroy};

PetscErrorCode level_set_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                    level_set **out)
{
  level_set_revolution_data *p      = NULL;
  double                    *zr     = NULL;
  const double               length = v3_norm(axis);
  PetscFunctionBegin;
  PetscCheck(n >= 2 && isfinite(center[0] + center[1] + center[2]) && isfinite(length) && length > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a solid of revolution needs a finite centre, an axis that is not zero and a profile of two points or more");
  for (int i = 0; i < n; ++i) {
    const bool may_be_tip = n > 2 ? i == 0 || i == n - 1 : radius[1 - i] > 0.0;
    PetscCheck(isfinite(along[i]) && isfinite(radius[i]) && (radius[i] > 0.0 || (radius[i] == 0.0 && may_be_tip)) && (i == 0 || along[i] > along[i - 1]),
               PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "the profile of a solid of revolution needs ascending positions and radii that are positive, at its ends not negative");
  }
  PetscCall(memory_alloc("level set profile", 2 * (n + 2), sizeof *zr, &zr));
  const PetscErrorCode code = memory_alloc("level set", 1, sizeof *p, &p);
  if (code) memory_free(&zr);
  PetscCall(code);
  p->base.kind = &kind_revolution;
  v3_copy(p->c, center);
  v3_scale(p->a, 1.0 / length, axis);
  p->n = n + 2, p->z = zr, p->r = zr + n + 2;
  for (int i = 0; i < n; ++i) p->z[i + 1] = along[i], p->r[i + 1] = radius[i];
  p->z[0] = along[0], p->z[n + 1] = along[n - 1]; /* on the axis: radius 0 */
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}
