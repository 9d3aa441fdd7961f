/* Implementation of poses, support points and separations. */
#include "geometry/convex/convex_pose.h"

int64_t convex_pose_work_size(const convex_solid *s)
{
  return s->polyhedron ? 3 * s->polyhedron->n_corners + 4 * s->polyhedron->n_faces : 0;
}

static void transform_point(double *out, const double *c, const double *R, const double *x)
{
  m3_mulv(out, R, x);
  v3_axpy(out, 1.0, c);
}

static void transform_polyhedron(convex_pose *p, const convex_polyhedron *h, const double *c, const double *R, double *work)
{
  double *x = work, *normal = x + 3 * h->n_corners, *offset = normal + 3 * h->n_faces;
  for (int i = 0; i < h->n_corners; ++i) transform_point(x + 3 * i, c, R, h->x + 3 * i);
  for (int f = 0; f < h->n_faces; ++f) {
    m3_mulv(normal + 3 * f, R, h->normal + 3 * f);
    offset[f] = h->offset[f] + v3_dot(normal + 3 * f, c);
  }
  p->x = x, p->face_normal = normal, p->face_offset = offset;
}

/* The axis, and a unit vector perpendicular to it that is fixed to the solid. */
static void set_across(convex_pose *p, const double *R)
{
  double axis[3], e[3] = {0.0, 0.0, 0.0}, across[3];
  v3_sub(axis, p->solid->to, p->solid->from);
  int least = 0;
  for (int k = 1; k < 3; ++k)
    if (fabs(axis[k]) < fabs(axis[least])) least = k;
  e[least] = 1.0;
  v3_cross(across, axis, e);
  v3_scale(across, 1.0 / v3_norm(across), across);
  m3_mulv(p->across, R, across);
  v3_sub(p->axis, p->to, p->from);
  v3_scale(p->axis, 1.0 / v3_norm(p->axis), p->axis);
}

void convex_pose_set(convex_pose *p, const convex_solid *s, const double c[3], const double R[9], double *work)
{
  memset(p, 0, sizeof *p);
  p->solid  = s;
  p->kind   = s->kind;
  p->radius = s->radius;
  transform_point(p->center, c, R, s->center);
  transform_point(p->from, c, R, s->from);
  transform_point(p->to, c, R, s->to);
  if (s->kind == CONVEX_CYLINDER || s->kind == CONVEX_CAPSULE) set_across(p, R);
  if (s->kind == CONVEX_HALF_SPACE) {
    m3_mulv(p->normal, R, s->normal);
    p->offset = s->offset + v3_dot(p->normal, c);
  }
  if (s->polyhedron) transform_polyhedron(p, s->polyhedron, c, R, work);
}

int convex_support(const convex_pose *p, const double d[3], double x[3])
{
  if (p->kind == CONVEX_POLYHEDRON) {
    const int n    = p->solid->polyhedron->n_corners;
    int       best = 0;
    double    most = -INFINITY;
    for (int i = 0; i < n; ++i) {
      const double h = v3_dot(d, p->x + 3 * i);
      if (h > most) most = h, best = i;
    }
    v3_copy(x, p->x + 3 * best);
    return best;
  }
  const double along = v3_dot(d, p->axis);
  v3_copy(x, along > 0.0 ? p->to : p->from);
  if (p->kind != CONVEX_CYLINDER) return -1;
  double across[3];
  v3_copy(across, d);
  v3_axpy(across, -along, p->axis);
  v3_axpy(across, -v3_dot(across, p->axis), p->axis); /* projected twice: the remainder may be small */
  const double length = v3_norm(across);
  if (length > 1e-12 * fabs(along)) v3_axpy(x, p->radius / length, across);
  return -1;
}

double convex_separation(const convex_pose *a, const convex_pose *b, const double n[3])
{
  double x[3], y[3], back[3];
  v3_scale(back, -1.0, n);
  convex_support(a, back, x);
  convex_support(b, n, y);
  return v3_dot(n, x) - v3_dot(n, y);
}
