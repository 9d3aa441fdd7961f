/* Exact signed distances of the primitives with their first and second derivatives.
 *
 * Where the distance itself has a kink (medial axis: centre of a sphere, axis of a cylinder, diagonals inside a box) one
 * of the one-sided derivatives is returned, always the same one for the same x.                                      */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/level_set/level_set.h"
#include "geometry/level_set/level_set_axial.h"
#include "geometry/level_set/level_set_kind.h"

static bool are_finite(int n, const double *x)
{
  for (int i = 0; i < n; ++i)
    if (!isfinite(x[i])) return false;
  return true;
}

/* ---- plane ---- */

typedef struct {
  level_set base;
  double    n[3], offset;
} level_set_plane_data;

static double plane_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_plane_data *p = (const level_set_plane_data *)s;
  if (gradient) v3_copy(gradient, p->n);
  if (hessian) m3_zero(hessian);
  return v3_dot(p->n, x) - p->offset;
}

static void plane_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_plane_data *p = (const level_set_plane_data *)s;
  for (int k = 0; k < 3; ++k) {
    min[k] = -INFINITY, max[k] = INFINITY;
    if (p->n[k] == 1.0) max[k] = p->offset;
    if (p->n[k] == -1.0) min[k] = -p->offset;
  }
}

static const level_set_kind kind_plane = {plane_eval, plane_bounds, NULL};

PetscErrorCode level_set_plane(const double normal[3], double offset, level_set **out)
{
  level_set_plane_data *p      = NULL;
  const double          length = v3_norm(normal);
  PetscFunctionBegin;
  PetscCheck(isfinite(length) && length > 0.0 && isfinite(offset), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a plane needs a finite normal that is not zero, and a finite offset");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = &kind_plane;
  v3_scale(p->n, 1.0 / length, normal);
  p->offset = offset; /* a distance along the unit normal, whatever the length of the normal given */
  *out      = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sphere ---- */

typedef struct {
  level_set base;
  double    c[3], r;
} level_set_sphere_data;

/* Derivatives of |d|: n = d/|d|, (I - n n^T)/|d|. */
static double norm_eval(const double d[3], double *gradient, double *hessian)
{
  const double l    = v3_norm(d);
  double       n[3] = {0.0, 0.0, 1.0};
  if (l > 0.0) v3_scale(n, 1.0 / l, d);
  if (gradient) v3_copy(gradient, n);
  if (hessian) {
    m3_zero(hessian);
    if (l > 0.0)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) hessian[3 * i + j] = ((i == j) - n[i] * n[j]) / l;
  }
  return l;
}

static double sphere_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_sphere_data *p = (const level_set_sphere_data *)s;
  double                       d[3];
  v3_sub(d, x, p->c);
  return norm_eval(d, gradient, hessian) - p->r;
}

static void sphere_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_sphere_data *p = (const level_set_sphere_data *)s;
  for (int k = 0; k < 3; ++k) min[k] = p->c[k] - p->r, max[k] = p->c[k] + p->r;
}

static const level_set_kind kind_sphere = {sphere_eval, sphere_bounds, NULL};

PetscErrorCode level_set_sphere(const double center[3], double radius, level_set **out)
{
  level_set_sphere_data *p = NULL;
  PetscFunctionBegin;
  PetscCheck(are_finite(3, center) && isfinite(radius) && radius > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a sphere needs a finite centre and a positive radius");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = &kind_sphere;
  v3_copy(p->c, center);
  p->r = radius;
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- box ---- */

typedef struct {
  level_set base;
  double    c[3], h[3]; /* centre, half sizes */
} level_set_box_data;

static double box_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_box_data *p = (const level_set_box_data *)s;
  double                    q[3], sign[3], out[3];
  int                       n_outside = 0, nearest = 0;
  for (int k = 0; k < 3; ++k) {
    const double d = x[k] - p->c[k];
    sign[k]        = d < 0.0 ? -1.0 : 1.0;
    q[k]           = fabs(d) - p->h[k];
    out[k]         = q[k] > 0.0 ? sign[k] * q[k] : 0.0;
    n_outside += q[k] > 0.0;
    if (q[k] > q[nearest]) nearest = k;
  }
  if (n_outside <= 1) { /* inside, or straight above a face */
    if (gradient) {
      v3_set(gradient, 0.0, 0.0, 0.0);
      gradient[nearest] = sign[nearest];
    }
    if (hessian) m3_zero(hessian);
    return q[nearest];
  }
  /* nearest to an edge or a corner: the norm within the axes that are outside */
  const double l = v3_norm(out);
  double       n[3];
  v3_scale(n, 1.0 / l, out);
  if (gradient) v3_copy(gradient, n);
  if (hessian)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) hessian[3 * i + j] = ((i == j && q[i] > 0.0) - n[i] * n[j]) / l;
  return l;
}

static void box_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_box_data *p = (const level_set_box_data *)s;
  for (int k = 0; k < 3; ++k) min[k] = p->c[k] - p->h[k], max[k] = p->c[k] + p->h[k];
}

static const level_set_kind kind_box = {box_eval, box_bounds, NULL};

PetscErrorCode level_set_box(const double min[3], const double max[3], level_set **out)
{
  level_set_box_data *p = NULL;
  PetscFunctionBegin;
  PetscCheck(are_finite(3, min) && are_finite(3, max) && min[0] < max[0] && min[1] < max[1] && min[2] < max[2],
             PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a box needs finite corners with min < max in every direction");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = &kind_box;
  for (int k = 0; k < 3; ++k) p->c[k] = 0.5 * (min[k] + max[k]), p->h[k] = 0.5 * (max[k] - min[k]);
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- things around an axis: capped cylinder, capsule, torus ---- */

typedef struct {
  level_set base;
  double    c[3], a[3];   /* centre, unit axis */
  double    half, radius; /* cylinder, capsule: half length, radius; torus: major, minor radius */
} level_set_axial;

axial_point axial_locate(const double c[3], const double a[3], const double x[3])
{
  axial_point o;
  double      d[3];
  v3_sub(d, x, c);
  o.z = v3_dot(d, a);
  v3_axpy(d, -o.z, a);
  o.rho = v3_norm(d);
  if (o.rho > 0.0) v3_scale(o.e, 1.0 / o.rho, d);
  else { /* on the axis every direction is as good: the coordinate axis that is most across */
    int k = 0;
    for (int i = 1; i < 3; ++i)
      if (fabs(a[i]) < fabs(a[k])) k = i;
    for (int i = 0; i < 3; ++i) o.e[i] = (i == k) - a[k] * a[i];
    v3_scale(o.e, 1.0 / v3_norm(o.e), o.e);
  }
  v3_cross(o.t, a, o.e);
  return o;
}

void axial_derivatives(const double a[3], const axial_point *o, double f_r, double f_z, double f_rr, double f_rz, double f_zz,
                       double *gradient, double *hessian)
{
  if (gradient)
    for (int i = 0; i < 3; ++i) gradient[i] = f_r * o->e[i] + f_z * a[i];
  if (!hessian) return;
  const double hoop = o->rho > 0.0 ? f_r / o->rho : 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      hessian[3 * i + j] = f_rr * o->e[i] * o->e[j] + f_rz * (o->e[i] * a[j] + a[i] * o->e[j]) +
                           f_zz * a[i] * a[j] + hoop * o->t[i] * o->t[j];
}

static double cylinder_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_axial *p    = (const level_set_axial *)s;
  const axial_point      o    = axial_locate(p->c, p->a, x);
  const double           q_r  = o.rho - p->radius, q_z = fabs(o.z) - p->half, side = o.z < 0.0 ? -1.0 : 1.0;
  if (q_r > 0.0 && q_z > 0.0) { /* nearest to the rim */
    const double l = hypot(q_r, q_z), n_r = q_r / l, n_z = q_z / l;
    axial_derivatives(p->a, &o, n_r, side * n_z, n_z * n_z / l, -side * n_r * n_z / l, n_r * n_r / l, gradient, hessian);
    return l;
  }
  if (q_r > q_z) axial_derivatives(p->a, &o, 1.0, 0.0, 0.0, 0.0, 0.0, gradient, hessian);
  else axial_derivatives(p->a, &o, 0.0, side, 0.0, 0.0, 0.0, gradient, hessian);
  return fmax(q_r, q_z);
}

static double capsule_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_axial *p = (const level_set_axial *)s;
  double                 d[3];
  v3_sub(d, x, p->c);
  const double z = v3_dot(d, p->a);
  if (fabs(z) > p->half) {
    v3_axpy(d, z < 0.0 ? p->half : -p->half, p->a);
    return norm_eval(d, gradient, hessian) - p->radius;
  }
  const axial_point o = axial_locate(p->c, p->a, x);
  axial_derivatives(p->a, &o, 1.0, 0.0, 0.0, 0.0, 0.0, gradient, hessian);
  return o.rho - p->radius;
}

static double torus_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_axial *p = (const level_set_axial *)s;
  const axial_point      o = axial_locate(p->c, p->a, x);
  const double           q = o.rho - p->half, l = hypot(q, o.z);
  if (l > 0.0) {
    const double n_r = q / l, n_z = o.z / l;
    axial_derivatives(p->a, &o, n_r, n_z, n_z * n_z / l, -n_r * n_z / l, n_r * n_r / l, gradient, hessian);
  } else axial_derivatives(p->a, &o, 1.0, 0.0, 0.0, 0.0, 0.0, gradient, hessian);
  return l - p->radius;
}

/* Half sizes of the box around a disc of this radius across the axis are radius * sqrt(1 - a_k^2). */
static void axial_bounds(const level_set_axial *p, double along, double disc, double ball, double min[3], double max[3])
{
  for (int k = 0; k < 3; ++k) {
    const double h = along * fabs(p->a[k]) + disc * sqrt(fmax(0.0, 1.0 - p->a[k] * p->a[k])) + ball;
    min[k] = p->c[k] - h, max[k] = p->c[k] + h;
  }
}
static void cylinder_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_axial *p = (const level_set_axial *)s;
  axial_bounds(p, p->half, p->radius, 0.0, min, max);
}
static void capsule_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_axial *p = (const level_set_axial *)s;
  axial_bounds(p, p->half, 0.0, p->radius, min, max);
}
static void torus_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_axial *p = (const level_set_axial *)s;
  axial_bounds(p, 0.0, p->half, p->radius, min, max);
}

static const level_set_kind kind_cylinder = {cylinder_eval, cylinder_bounds, NULL};
static const level_set_kind kind_capsule  = {capsule_eval, capsule_bounds, NULL};
static const level_set_kind kind_torus    = {torus_eval, torus_bounds, NULL};

static PetscErrorCode axial_create(const level_set_kind *kind, const double center[3], const double axis[3], double half,
                                   double radius, level_set **out)
{
  level_set_axial *p      = NULL;
  const double     length = v3_norm(axis);
  PetscFunctionBegin;
  PetscCheck(are_finite(3, center) && isfinite(length) && length > 0.0 && isfinite(half) && isfinite(radius) && radius > 0.0,
             PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a cylinder, capsule or torus needs finite points, an axis that is not zero and positive radii");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = kind;
  v3_copy(p->c, center);
  v3_scale(p->a, 1.0 / length, axis);
  p->half = half, p->radius = radius;
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode segment_create(const level_set_kind *kind, const double a[3], const double b[3], double radius,
                                     level_set **out)
{
  double axis[3], center[3];
  PetscFunctionBegin;
  v3_sub(axis, b, a);
  for (int k = 0; k < 3; ++k) center[k] = 0.5 * (a[k] + b[k]);
  PetscCall(axial_create(kind, center, axis, 0.5 * v3_norm(axis), radius, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_cylinder(const double a[3], const double b[3], double radius, level_set **out)
{
  PetscFunctionBegin;
  PetscCall(segment_create(&kind_cylinder, a, b, radius, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_capsule(const double a[3], const double b[3], double radius, level_set **out)
{
  PetscFunctionBegin;
  PetscCall(segment_create(&kind_capsule, a, b, radius, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_torus(const double center[3], const double axis[3], double major, double minor, level_set **out)
{
  PetscFunctionBegin;
  PetscCheck(minor < major, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a torus needs a minor radius below the major one");
  PetscCall(axial_create(&kind_torus, center, axis, major, minor, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
