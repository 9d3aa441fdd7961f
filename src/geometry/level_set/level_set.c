/* Implementation: closed forms of the primitives with first and second derivatives, combinations and rigid motions.
 *
 * Where the distance has a kink (medial axis: centre of a sphere, axis of a cylinder, diagonals inside a box), one of the one-sided
 * derivatives is returned; the choice depends on x only. */
#include "geometry/level_set/level_set.h"
#include "core/math3.h"
#include "core/memory.h"
#include <float.h>

double level_set_value(const level_set *s, const double x[3]) { return s->kind->eval(s, x, NULL, NULL); }

double level_set_eval(const level_set *s, const double x[3], double gradient[3], double hessian[9])
{
  return s->kind->eval(s, x, gradient, hessian);
}

double level_set_implicit(const level_set *s, const double x[3])
{
  return s->kind->implicit ? s->kind->implicit(s, x) : s->kind->eval(s, x, NULL, NULL);
}

const level_set *level_set_within(const level_set *s, const double x[3], double radius, level_set_pool *pool)
{
  return s->kind->within ? s->kind->within(s, x, radius, pool) : s;
}

/* Memory for `size` bytes that holds pointers and doubles; NULL if the pool is full. */
static void *pool_take(level_set_pool *pool, size_t size)
{
  enum { SLOTS = sizeof pool->slot / sizeof *pool->slot };
  const size_t n  = (size + sizeof *pool->slot - 1) / sizeof *pool->slot;
  void        *at = &pool->slot[pool->used];
  if (n > (size_t)(SLOTS - pool->used)) return NULL;
  pool->used += (int)n;
  return at;
}

void level_set_bounds(const level_set *s, double min[3], double max[3]) { s->kind->bounds(s, min, max); }

void level_set_destroy(level_set **s)
{
  if (!s || !*s) return;
  if ((*s)->kind->destroy) (*s)->kind->destroy(*s);
  memory_free(s);
}

/* ==== primitives ==== */

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

static const level_set_kind kind_plane = {.eval = plane_eval, .bounds = plane_bounds};

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
  p->offset = offset; /* a distance along the unit normal; the length of the given normal has no effect */
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

static const level_set_kind kind_sphere = {.eval = sphere_eval, .bounds = sphere_bounds};

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
  if (n_outside <= 1) { /* closest to a face: inside, or outside along one axis only */
    if (gradient) {
      v3_set(gradient, 0.0, 0.0, 0.0);
      gradient[nearest] = sign[nearest];
    }
    if (hessian) m3_zero(hessian);
    return q[nearest];
  }
  /* closest to an edge or a corner: the norm over the axes that are outside */
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

static const level_set_kind kind_box = {.eval = box_eval, .bounds = box_bounds};

PetscErrorCode level_set_box(const double min[3], const double max[3], level_set **out)
{
  level_set_box_data *p = NULL;
  PetscFunctionBegin;
  PetscCheck(are_finite(3, min) && are_finite(3, max) && min[0] < max[0] && min[1] < max[1] && min[2] < max[2], PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "a box needs finite corners with min < max in every direction");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = &kind_box;
  for (int k = 0; k < 3; ++k) p->c[k] = 0.5 * (min[k] + max[k]), p->h[k] = 0.5 * (max[k] - min[k]);
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solids with an axis: cylinder with flat ends, capsule, torus ---- */

typedef struct {
  level_set base;
  double    c[3], a[3];   /* centre, unit axis */
  double    half, radius; /* cylinder, capsule: half length, radius; torus: major, minor radius */
} level_set_axial;

/* Cylindrical coordinates: distance rho from the axis in unit direction e, coordinate z along the axis a; t = a x e. */
typedef struct {
  double rho, z, e[3], t[3];
} axial_point;

static axial_point axial_locate(const double c[3], const double a[3], const double x[3])
{
  axial_point o;
  double      d[3];
  v3_sub(d, x, c);
  o.z = v3_dot(d, a);
  v3_axpy(d, -o.z, a);
  o.rho = v3_norm(d);
  if (o.rho > 0.0) v3_scale(o.e, 1.0 / o.rho, d);
  else { /* on the axis the direction is arbitrary: use the coordinate axis that is closest to perpendicular */ int k = 0;
    for (int i = 1; i < 3; ++i)
      if (fabs(a[i]) < fabs(a[k])) k = i;
    for (int i = 0; i < 3; ++i) o.e[i] = (i == k) - a[k] * a[i];
    v3_scale(o.e, 1.0 / v3_norm(o.e), o.e);
  }
  v3_cross(o.t, a, o.e);
  return o;
}

static void axial_derivatives(const double a[3], const axial_point *o, double f_r, double f_z, double f_rr, double f_rz, double f_zz,
                              double *gradient, double *hessian)
{
  if (gradient)
    for (int i = 0; i < 3; ++i) gradient[i] = f_r * o->e[i] + f_z * a[i];
  if (!hessian) return;
  const double hoop = o->rho > 0.0 ? f_r / o->rho : 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      hessian[3 * i + j] =
          f_rr * o->e[i] * o->e[j] + f_rz * (o->e[i] * a[j] + a[i] * o->e[j]) + f_zz * a[i] * a[j] + hoop * o->t[i] * o->t[j];
}

static double cylinder_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_axial *p   = (const level_set_axial *)s;
  const axial_point      o   = axial_locate(p->c, p->a, x);
  const double           q_r = o.rho - p->radius, q_z = fabs(o.z) - p->half, side = o.z < 0.0 ? -1.0 : 1.0;
  if (q_r > 0.0 && q_z > 0.0) { /* closest to the circular edge */
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

/* The bounding box of a disc perpendicular to the axis has the half sizes radius * sqrt(1 - a_k^2). */
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

static const level_set_kind kind_cylinder = {.eval = cylinder_eval, .bounds = cylinder_bounds};
static const level_set_kind kind_capsule  = {.eval = capsule_eval, .bounds = capsule_bounds};
static const level_set_kind kind_torus    = {.eval = torus_eval, .bounds = torus_bounds};

static PetscErrorCode axial_create(const level_set_kind *kind, const double center[3], const double axis[3], double half, double radius,
                                   level_set **out)
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

static PetscErrorCode segment_create(const level_set_kind *kind, const double a[3], const double b[3], double radius, level_set **out)
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

/* ==== solid of revolution ==== */

/* Exact signed distance to a solid of revolution with a polygonal profile: the distance to the closest segment of the profile,
 * including the flat ends, in the half plane (rho, z) of the point. */

typedef struct {
  level_set base;
  double    c[3], a[3]; /* a point of the axis, its unit direction */
  int       n;          /* corners of the profile, including the two on the axis */
  double   *z, *r;      /* [n] from the lower to the upper end along the outside */
} level_set_revolution_data;

static bool is_inside_profile(const level_set_revolution_data *p, double rho, double z)
{
  for (int i = 0; i + 1 < p->n; ++i) /* flat ends have zero height and are skipped */
    if (z > p->z[i] && z <= p->z[i + 1]) return rho < p->r[i] + (p->r[i + 1] - p->r[i]) * (z - p->z[i]) / (p->z[i + 1] - p->z[i]);
  return false;
}

static double revolution_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_revolution_data *p    = (const level_set_revolution_data *)s;
  const axial_point                o    = axial_locate(p->c, p->a, x);
  double                           best = INFINITY, gap_r = 0.0, gap_z = 0.0, normal_r = 0.0, normal_z = 0.0;
  bool                             is_corner = false;
  for (int i = 0; i + 1 < p->n; ++i) {
    const double er = p->r[i + 1] - p->r[i], ez = p->z[i + 1] - p->z[i], dr = o.rho - p->r[i], dz = o.z - p->z[i],
                 square = er * er + ez * ez;
    if (square == 0.0) continue; /* this end is a tip without a flat face */
    const double t = fmin(fmax((dr * er + dz * ez) / square, 0.0), 1.0), qr = dr - t * er, qz = dz - t * ez, distance = hypot(qr, qz);
    if (distance >= best) continue;
    best = distance, gap_r = qr, gap_z = qz, is_corner = t == 0.0 || t == 1.0;
    normal_r = ez / sqrt(square), normal_z = -er / sqrt(square); /* outward: the profile runs upwards along the outside */
  }
  const double sign = is_inside_profile(p, o.rho, o.z) ? -1.0 : 1.0;
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

/* Distances from the end planes, and from the lateral surface along the radius */
static double revolution_implicit(const level_set *s, const double x[3])
{
  const level_set_revolution_data *p = (const level_set_revolution_data *)s;
  double                           d[3];
  int                              i = 1;
  v3_sub(d, x, p->c);
  const double z = v3_dot(d, p->a), first = p->z[1], last = p->z[p->n - 2], at = z < first ? first : z > last ? last : z;
  v3_axpy(d, -z, p->a);
  while (i + 3 < p->n && at > p->z[i + 1]) ++i;
  const double radius = p->r[i] + (at - p->z[i]) / (p->z[i + 1] - p->z[i]) * (p->r[i + 1] - p->r[i]), off = v3_norm(d) - radius;
  const double beyond = z < at ? at - z : z - at, below_end = beyond > 0.0 ? beyond : first - z > z - last ? first - z : z - last;
  return off > below_end ? off : below_end;
}

static const level_set_kind kind_revolution = {
    .eval = revolution_eval, .bounds = revolution_bounds, .destroy = revolution_destroy, .implicit = revolution_implicit};

PetscErrorCode level_set_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                    level_set **out)
{
  level_set_revolution_data *p      = NULL;
  double                    *zr     = NULL;
  const double               length = v3_norm(axis);
  PetscFunctionBegin;
  PetscCheck(n >= 2 && isfinite(center[0] + center[1] + center[2]) && isfinite(length) && length > 0.0, PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "a solid of revolution needs a finite centre, a nonzero axis and a profile of at least two points");
  for (int i = 0; i < n; ++i) {
    const bool may_be_tip = n > 2 ? i == 0 || i == n - 1 : radius[1 - i] > 0.0;
    PetscCheck(isfinite(along[i]) && isfinite(radius[i]) && (radius[i] > 0.0 || (radius[i] == 0.0 && may_be_tip)) &&
                   (i == 0 || along[i] > along[i - 1]),
               PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "positions of the profile of a solid of revolution must ascend; its radii must be positive, or 0 at the two ends");
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

/* ==== ellipsoid ==== */

/* Exact signed distance to an ellipsoid.
 *
 * By symmetry the point y is mapped to the octant y >= 0. Its closest point is x_i = r_i^2 y_i / (r_i^2 + t), where t is the
 * largest root of sum (r_i y_i / (r_i^2 + t))^2 = 1. With s = t + r_min^2 all denominators are sums of non-negative terms. Newton's
 * method is applied to the reciprocal of the square root of the left side, which is nearly linear in s (as in trust-region
 * methods). If y lies inside and its coordinate along the shortest axis is zero, there may be no root; then s = 0, and the closest
 * point has a nonzero coordinate along that axis. */

typedef struct {
  level_set base;
  double    c[3], r[3];
  int       shortest;
} level_set_ellipsoid_data;

/* Returns sum (w_i / (k_i + s))^2 and half its derivative with respect to s. Terms with w_i = 0 are skipped. */
static double squared_length(const double w[3], const double k[3], double s, double *half_slope)
{
  double sum  = 0.0;
  *half_slope = 0.0;
  for (int i = 0; i < 3; ++i) {
    if (w[i] == 0.0) continue;
    const double q = w[i] / (k[i] + s);
    sum += q * q, *half_slope -= q * q / (k[i] + s);
  }
  return sum;
}

/* The largest s > 0 for which the sum is 1, with w = r y and k = r^2 - r_min^2; 0 if there is none. */
static double largest_root(const double w[3], const double k[3])
{
  double slope, low = 0.0, high = v3_norm(w); /* every denominator is at least s; a single term reaches 1 at w_i - k_i */
  for (int i = 0; i < 3; ++i) low = fmax(low, w[i] - k[i]);
  if (low == 0.0 && !(squared_length(w, k, 0.0, &slope) > 1.0)) return 0.0; /* low = 0 implies that w of the shortest axis is 0 */
  double s = low > 0.0 ? low : 0.5 * high;
  for (int i = 0; i < 100 && high - low > 2.0 * DBL_EPSILON * high; ++i) {
    const double sum = squared_length(w, k, s, &slope), length = sqrt(sum);
    if (sum > 1.0) low = s;
    else high = s;
    if (fabs(length - 1.0) < 2.0 * DBL_EPSILON) break;
    s += (1.0 - length) * sum / slope; /* Newton step for 1 / length - 1 = 0 */
    if (!(s > low && s < high)) s = low > 0.0 && high > 4.0 * low ? sqrt(low) * sqrt(high) : 0.5 * (low + high);
  }
  return s;
}

/* Closest point of the surface, relative to the centre, and the outward normal there (not normalised). */
static void nearest_point(const level_set_ellipsoid_data *p, const double y[3], double x[3], double n[3])
{
  const int    m     = p->shortest;
  const double least = p->r[m] * p->r[m];
  double       w[3], k[3];
  for (int i = 0; i < 3; ++i) w[i] = p->r[i] * fabs(y[i]), k[i] = p->r[i] * p->r[i] - least;
  const double s    = largest_root(w, k);
  double       rest = 1.0;
  for (int i = 0; i < 3; ++i) {
    x[i] = y[i] == 0.0 ? 0.0 : copysign(p->r[i] * w[i] / (k[i] + s), y[i]);
    if (i != m) rest -= x[i] * x[i] / (p->r[i] * p->r[i]);
  }
  if (s == 0.0) x[m] = p->r[m] * sqrt(fmax(0.0, rest)); /* both signs are equally close */
  for (int i = 0; i < 3; ++i) n[i] = x[i] / (p->r[i] * p->r[i]);
}

/* Hessian of the distance at distance d from the surface: H = S (1 + d S)^-1 in the tangent plane, with the second fundamental form
 * S. curvature [3] is 1/r^2 divided by the length of the gradient of sum (x/r)^2 / 2. */
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
  if (divisor == 0.0) return; /* the point is a centre of curvature */
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

/* (|y/r|^2 - 1) r_min / 2: to first order the distance at the ends of the shortest axis */
static double ellipsoid_implicit(const level_set *s, const double x[3])
{
  const level_set_ellipsoid_data *p   = (const level_set_ellipsoid_data *)s;
  double                          sum = -1.0;
  for (int k = 0; k < 3; ++k) {
    const double y = (x[k] - p->c[k]) / p->r[k];
    sum += y * y;
  }
  return 0.5 * p->r[p->shortest] * sum;
}

static const level_set_kind kind_ellipsoid = {.eval = ellipsoid_eval, .bounds = ellipsoid_bounds, .implicit = ellipsoid_implicit};

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

/* ==== combinations ==== */

/* ---- complement ---- */

typedef struct {
  level_set  base;
  level_set *child;
} level_set_negative;

static double negative_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const double v = level_set_eval(((const level_set_negative *)s)->child, x, gradient, hessian);
  if (gradient) v3_scale(gradient, -1.0, gradient);
  if (hessian)
    for (int i = 0; i < 9; ++i) hessian[i] = -hessian[i];
  return -v;
}

static void negative_bounds(const level_set *s, double min[3], double max[3])
{
  (void)s; /* the complement of a bounded solid is unbounded; half-spaces are not treated separately */
  for (int k = 0; k < 3; ++k) min[k] = -INFINITY, max[k] = INFINITY;
}

static double negative_implicit(const level_set *s, const double x[3])
{
  return -level_set_implicit(((const level_set_negative *)s)->child, x);
}

static const level_set *negative_within(const level_set *s, const double x[3], double radius, level_set_pool *pool)
{
  const level_set_negative *all  = (const level_set_negative *)s;
  const level_set          *part = level_set_within(all->child, x, radius, pool);
  level_set_negative       *c    = part == all->child ? NULL : pool_take(pool, sizeof *c);
  if (!c) return s;
  *c       = *all;
  c->child = (level_set *)part; /* the copy is not destroyed */
  return &c->base;
}

static void negative_destroy(level_set *s) { level_set_destroy(&((level_set_negative *)s)->child); }

static const level_set_kind kind_negative = {negative_eval, negative_bounds, negative_destroy, negative_implicit, negative_within};

static PetscErrorCode level_set_complement(level_set *child, level_set **out)
{
  level_set_negative *c = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("level set", 1, sizeof *c, &c));
  c->base.kind = &kind_negative;
  c->child     = child;
  *out         = &c->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- boolean combinations: phi = sign * min_i(sign * phi_i), sign = +1 union, -1 intersection ---- */

typedef struct {
  level_set   base;
  double      sign;
  int         n;
  level_set **child;
  double (*box)[2][3]; /* [n] of a union: bounds of the children; else NULL */
} level_set_boolean;

/* Squared distance to a box; 0 inside. A lower bound of the squared distance to anything in the box. */
static double square_to_box(const double box[2][3], const double x[3])
{
  double sum = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double below = box[0][k] - x[k], above = x[k] - box[1][k], out = below > 0.0 ? below : above > 0.0 ? above : 0.0;
    sum += out * out;
  }
  return sum;
}

static int nearest_box(const level_set_boolean *b, const double x[3])
{
  double least   = INFINITY;
  int    nearest = 0;
  for (int i = 0; i < b->n; ++i) {
    const double square = square_to_box((const double(*)[3])b->box[i], x);
    if (square < least) least = square, nearest = i;
  }
  return nearest;
}

/* True if child i cannot be closer to x than the distance `best`, by its bounding box; it need not be evaluated. */
static bool is_farther(const level_set_boolean *b, int i, const double x[3], double best)
{
  const double square = square_to_box((const double(*)[3])b->box[i], x);
  return square > 0.0 && (best <= 0.0 || square > best * best);
}

/* The derivatives are those of the active child; on a tie the first child is used, so that the choice depends on x only. The
 * distance is exact on one side only (outside a union, inside an intersection). Everywhere |phi| is a lower bound of the true
 * distance. */
static double boolean_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_boolean *b      = (const level_set_boolean *)s;
  int                      active = b->box ? nearest_box(b, x) : 0;
  double                   best   = b->sign * level_set_value(b->child[active], x);
  for (int i = 0, first = active; i < b->n; ++i) {
    if (i == first || (b->box && is_farther(b, i, x, best))) continue;
    const double v = b->sign * level_set_value(b->child[i], x);
    if (v < best || (v == best && i < active)) best = v, active = i;
  }
  if (gradient || hessian) (void)level_set_eval(b->child[active], x, gradient, hessian);
  return b->sign * best;
}

static void boolean_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_boolean *b = (const level_set_boolean *)s;
  level_set_bounds(b->child[0], min, max);
  for (int i = 1; i < b->n; ++i) {
    double lo[3], hi[3];
    level_set_bounds(b->child[i], lo, hi);
    for (int k = 0; k < 3; ++k) {
      min[k] = b->sign > 0.0 ? fmin(min[k], lo[k]) : fmax(min[k], lo[k]);
      max[k] = b->sign > 0.0 ? fmax(max[k], hi[k]) : fmin(max[k], hi[k]);
    }
  }
}

static void boolean_destroy(level_set *s)
{
  level_set_boolean *b = (level_set_boolean *)s;
  for (int i = 0; i < b->n; ++i) level_set_destroy(&b->child[i]);
  MEMORY_FREE(&b->child, &b->box);
}

static double boolean_implicit(const level_set *s, const double x[3])
{
  const level_set_boolean *b    = (const level_set_boolean *)s;
  double                   best = INFINITY;
  for (int i = 0; i < b->n; ++i) {
    const double v = b->sign * level_set_implicit(b->child[i], x);
    if (v < best) best = v;
  }
  return b->sign * best;
}

/* In the ball, child i is at least v_i - r and the active one at most v + r, with the values v at the centre. */
static const level_set *boolean_within(const level_set *s, const double x[3], double radius, level_set_pool *pool)
{
  const level_set_boolean *b     = (const level_set_boolean *)s;
  const double             range = 2.05 * radius; /* 2.5 % for the errors of sampled distances */
  const int                used  = pool->used;
  level_set_boolean       *c     = pool_take(pool, sizeof *c);
  level_set              **child = pool_take(pool, (size_t)b->n * sizeof(level_set *));
  double(*box)[2][3] = b->box ? pool_take(pool, (size_t)b->n * sizeof *box) : NULL, *v = pool_take(pool, (size_t)b->n * sizeof *v);
  if (!c || !child || !v || (b->box && !box)) {
    pool->used = used;
    return s;
  }
  const int first = b->box ? nearest_box(b, x) : 0;
  double    best = v[first] = b->sign * level_set_value(b->child[first], x);
  for (int i = 0; i < b->n; ++i) {
    if (i == first) continue;
    v[i] = b->box && best + range > 0.0 && is_farther(b, i, x, best + range) ? INFINITY : b->sign * level_set_value(b->child[i], x);
    best = fmin(best, v[i]);
  }
  *c = (level_set_boolean){.base = b->base, .sign = b->sign, .child = child, .box = box};
  for (int i = 0; i < b->n; ++i) {
    if (v[i] > best + range) continue;
    if (box) memcpy(box[c->n], b->box[i], sizeof *box);
    child[c->n++] = b->child[i]; /* not destroyed */
  }
  bool is_same = c->n == b->n;
  for (int i = 0; i < c->n; ++i) {
    level_set *const all = child[i];
    child[i]             = (level_set *)level_set_within(all, x, radius, pool);
    is_same              = is_same && child[i] == all;
  }
  if (is_same) pool->used = used;
  return is_same ? s : c->n == 1 ? child[0] : &c->base;
}

static const level_set_kind kind_boolean = {boolean_eval, boolean_bounds, boolean_destroy, boolean_implicit, boolean_within};

static PetscErrorCode boolean_create(double sign, int n, level_set **child, level_set **out)
{
  level_set_boolean *b = NULL;
  PetscFunctionBegin;
  PetscCheck(n >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a union or intersection needs at least one shape");
  PetscCall(memory_alloc("level set", 1, sizeof *b, &b));
  b->base.kind = &kind_boolean;
  b->sign      = sign;
  {
    PetscErrorCode code = memory_alloc("level set children", n, sizeof *b->child, &b->child);
    if (!code && sign > 0.0) code = memory_alloc("level set bounds", n, sizeof *b->box, &b->box);
    if (code) memory_free(&b->child), memory_free(&b);
    PetscCall(code);
  }
  for (int i = 0; b->box && i < n; ++i) level_set_bounds(child[i], b->box[i][0], b->box[i][1]);
  b->n = n;
  for (int i = 0; i < n; ++i) b->child[i] = child[i];
  *out = &b->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_union(int n, level_set **child, level_set **out)
{
  PetscFunctionBegin;
  PetscCall(boolean_create(1.0, n, child, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_intersection(int n, level_set **child, level_set **out)
{
  PetscFunctionBegin;
  PetscCall(boolean_create(-1.0, n, child, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_difference(level_set *from, level_set *minus, level_set **out)
{
  level_set     *child[2] = {from, NULL};
  PetscErrorCode code;
  PetscFunctionBegin;
  PetscCall(level_set_complement(minus, &child[1]));
  code = level_set_intersection(2, child, out);
  if (code) memory_free(&child[1]); /* frees the complement only: `minus` still belongs to the caller */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- pose ---- */

typedef struct {
  level_set  base;
  level_set *child;
  double     c[3], R[9];
} level_set_posed;

static void to_child(const level_set_posed *p, const double x[3], double y[3])
{
  double d[3];
  v3_sub(d, x, p->c);
  m3_mulv_t(y, p->R, d);
}

static double posed_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_posed *p = (const level_set_posed *)s;
  double                 y[3], g[3], h[9];
  to_child(p, x, y);
  const double v = level_set_eval(p->child, y, gradient ? g : NULL, hessian ? h : NULL);
  if (gradient) m3_mulv(gradient, p->R, g);
  if (hessian) {
    double t[9];
    m3_mul(t, p->R, h);
    m3_mul_nt(hessian, t, p->R);
  }
  return v;
}

static void posed_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_posed *p = (const level_set_posed *)s;
  double                 lo[3], hi[3];
  level_set_bounds(p->child, lo, hi);
  for (int i = 0; i < 3; ++i) {
    min[i] = max[i] = p->c[i];
    for (int j = 0; j < 3; ++j) {
      const double r = p->R[3 * i + j];
      if (r == 0.0) continue; /* 0 * infinity */
      min[i] += r > 0.0 ? r * lo[j] : r * hi[j];
      max[i] += r > 0.0 ? r * hi[j] : r * lo[j];
    }
  }
}

static double posed_implicit(const level_set *s, const double x[3])
{
  const level_set_posed *p = (const level_set_posed *)s;
  double                 y[3];
  to_child(p, x, y);
  return level_set_implicit(p->child, y);
}

static const level_set *posed_within(const level_set *s, const double x[3], double radius, level_set_pool *pool)
{
  const level_set_posed *p = (const level_set_posed *)s;
  double                 y[3];
  to_child(p, x, y);
  const level_set *part = level_set_within(p->child, y, radius, pool);
  level_set_posed *c    = part == p->child ? NULL : pool_take(pool, sizeof *c);
  if (!c) return s;
  *c       = *p;
  c->child = (level_set *)part; /* the copy is not destroyed */
  return &c->base;
}

static void posed_destroy(level_set *s) { level_set_destroy(&((level_set_posed *)s)->child); }

static const level_set_kind kind_posed = {posed_eval, posed_bounds, posed_destroy, posed_implicit, posed_within};

PetscErrorCode level_set_transform(level_set *child, const double c[3], const double R[9], level_set **out)
{
  level_set_posed *p = NULL;
  double           rtr[9];
  PetscFunctionBegin;
  m3_mul_tn(rtr, R, R);
  for (int i = 0; i < 9; ++i)
    PetscCheck(fabs(rtr[i] - (i % 4 == 0)) < 1e-9, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "a level set can only be moved by a rotation, but this matrix is not orthogonal");
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  p->base.kind = &kind_posed;
  p->child     = child;
  v3_copy(p->c, c);
  m3_copy(p->R, R);
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- scaled ---- */

typedef struct {
  level_set        base;
  const level_set *child; /* borrowed */
  double           factor;
} level_set_enlarged;

static double enlarged_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_enlarged *p    = (const level_set_enlarged *)s;
  const double              y[3] = {x[0] / p->factor, x[1] / p->factor, x[2] / p->factor};
  const double              v    = level_set_eval(p->child, y, gradient, hessian);
  for (int i = 0; hessian && i < 9; ++i) hessian[i] /= p->factor;
  return p->factor * v;
}

static void enlarged_bounds(const level_set *s, double min[3], double max[3])
{
  const level_set_enlarged *p = (const level_set_enlarged *)s;
  level_set_bounds(p->child, min, max);
  for (int k = 0; k < 3; ++k) min[k] *= p->factor, max[k] *= p->factor;
}

static double enlarged_implicit(const level_set *s, const double x[3])
{
  const level_set_enlarged *p    = (const level_set_enlarged *)s;
  const double              y[3] = {x[0] / p->factor, x[1] / p->factor, x[2] / p->factor};
  return p->factor * level_set_implicit(p->child, y);
}

static const level_set_kind kind_enlarged = {.eval = enlarged_eval, .bounds = enlarged_bounds, .implicit = enlarged_implicit};

PetscErrorCode level_set_scaled(const level_set *child, double factor, level_set **out)
{
  level_set_enlarged *p = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("level set", 1, sizeof *p, &p));
  *p   = (level_set_enlarged){.base = {&kind_enlarged}, .child = child, .factor = factor};
  *out = &p->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- inset ---- */

static double inset_eval(const level_set *s, const double x[3], double *gradient, double *hessian)
{
  const level_set_inset *p = (const level_set_inset *)s;
  return p->child->kind->eval(p->child, x, gradient, hessian) + p->depth;
}

static void inset_bounds(const level_set *s, double min[3], double max[3])
{
  level_set_bounds(((const level_set_inset *)s)->child, min, max);
}

static const level_set_kind kind_inset = {.eval = inset_eval, .bounds = inset_bounds};

void level_set_inset_set(level_set_inset *s, const level_set *child, double depth)
{
  s->base.kind = &kind_inset;
  s->child     = child;
  s->depth     = depth;
}
