/* Contact of what is round: distances of points and of segments. */
#include "geometry/convex/convex_clip.h"
#include "geometry/convex/convex_distance.h"
#include "geometry/convex/convex_pair.h"

/* Sine of the angle between two axes below which they touch in two points, not one. */
static const double SIDE_BY_SIDE = 0.1;
static const double FLUSH = 1e-6; /* of the length: ends beside each other are seen from at least one side */

/* ---- points ---- */

static double cylinder_point(const convex_pose *p, const double *x, double *normal, double *q)
{
  double d[3], out[3], half[3];
  v3_sub(half, p->to, p->from);
  v3_sub(d, x, p->center);
  const double t = v3_dot(d, p->axis), side = t < 0.0 ? -1.0 : 1.0, beyond = fabs(t) - 0.5 * v3_norm(half);
  v3_copy(out, d);
  v3_axpy(out, -t, p->axis);
  const double rho = v3_norm(out), outside = rho - p->radius;
  if (rho > 0.0) v3_scale(out, 1.0 / rho, out);
  else v3_copy(out, p->across);
  if (beyond > 0.0 && outside > 0.0) {
    const double distance = hypot(beyond, outside);
    v3_scale(normal, side * beyond / distance, p->axis);
    v3_axpy(normal, outside / distance, out);
    v3_copy(q, x);
    v3_axpy(q, -distance, normal);
    return distance;
  }
  const double distance = fmax(beyond, outside);
  if (beyond > outside) v3_scale(normal, side, p->axis);
  else v3_copy(normal, out);
  v3_copy(q, x);
  v3_axpy(q, -distance, normal);
  return distance;
}

/* The point of face f closest to x, which is `height` above it. */
static void face_closest(const convex_pose *p, int f, const double *x, double height, double *q)
{
  const convex_polyhedron *h = p->solid->polyhedron;
  const double            *n = p->face_normal + 3 * f;
  double                   least = INFINITY;
  bool                     is_over = true;
  v3_copy(q, x);
  for (int k = h->loop_start[f]; k < h->loop_start[f + 1]; ++k) {
    const double *from = p->x + 3 * h->loop[k], *to = p->x + 3 * h->loop[k + 1 < h->loop_start[f + 1] ? k + 1 : h->loop_start[f]];
    double        e[3], d[3], out[3], r[3];
    v3_sub(e, to, from);
    v3_sub(d, x, from);
    v3_cross(out, e, n);
    if (v3_dot(out, d) <= 0.0) continue;
    is_over        = false;
    const double s = fmin(1.0, fmax(0.0, v3_dot(d, e) / v3_dot(e, e)));
    for (int i = 0; i < 3; ++i) r[i] = x[i] - from[i] - s * e[i];
    const double distance = v3_dot(r, r);
    if (distance >= least) continue;
    least = distance;
    v3_copy(q, from);
    v3_axpy(q, s, e);
  }
  if (is_over) v3_axpy(q, -height, n);
}

static double polyhedron_point(const convex_pose *p, const double *x, double *normal, double *q)
{
  const int n       = p->solid->polyhedron->n_faces;
  double    highest = -INFINITY, least = INFINITY;
  int       best    = 0;
  v3_copy(q, x);
  for (int f = 0; f < n; ++f) {
    const double height = v3_dot(p->face_normal + 3 * f, x) - p->face_offset[f];
    if (height > highest) highest = height, best = f;
    if (height <= 0.0) continue;
    double at[3], d[3];
    face_closest(p, f, x, height, at);
    v3_sub(d, x, at);
    if (v3_norm(d) < least) least = v3_norm(d), v3_copy(q, at);
  }
  v3_copy(normal, p->face_normal + 3 * best);
  if (highest > 0.0 && least > highest * (1.0 + 1e-14)) { /* an edge or a corner is closest */
    v3_sub(normal, x, q);
    v3_scale(normal, 1.0 / least, normal);
    return least;
  }
  v3_copy(q, x);
  v3_axpy(q, -highest, normal);
  return highest;
}

double convex_point_distance(const convex_pose *p, const double x[3], double normal[3], double q[3])
{
  return p->kind == CONVEX_CYLINDER ? cylinder_point(p, x, normal, q) : polyhedron_point(p, x, normal, q);
}

/* ---- segments ---- */

static double clamp01(double s) { return s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s; }

void convex_segments_closest(const double x[3], const double d[3], const double y[3], const double e[3], double *s, double *t)
{
  double       r[3];
  const double dd = v3_dot(d, d), ee = v3_dot(e, e), de = v3_dot(d, e);
  v3_sub(r, x, y);
  const double dr = v3_dot(d, r), er = v3_dot(e, r), det = dd * ee - de * de;
  if (!(dd > 0.0) || !(ee > 0.0)) {
    *s = dd > 0.0 ? clamp01(-dr / dd) : 0.0;
    *t = ee > 0.0 ? clamp01(er / ee) : 0.0;
    return;
  }
  if (det > 1e-14 * dd * ee) *s = clamp01((de * er - ee * dr) / det);
  else { /* parallel: the middle of what they share */
    const double s0 = clamp01(-dr / dd), s1 = clamp01((de - dr) / dd);
    *s = 0.5 * (s0 + s1);
  }
  *t = clamp01((er + *s * de) / ee);
  *s = clamp01((*t * de - dr) / dd);
}

/* ---- cores of radius against each other ---- */

/* The touch of balls of these radii around x and y. */
static void add_balls(const double *x, double rx, const double *y, double ry, const double *fallback, double margin, uint64_t name,
                      convex_touches *out)
{
  double       n[3], q[3];
  v3_sub(n, x, y);
  const double distance = v3_norm(n);
  if (distance > 0.0) v3_scale(n, 1.0 / distance, n);
  else v3_copy(n, fallback);
  v3_copy(q, y);
  v3_axpy(q, ry, n);
  convex_touches_add(out, margin, q, n, distance - rx - ry, name);
}

/* Ends of what a shares with b along the side of both. */
static void add_ends(const convex_pose *a, const convex_pose *b, const double *fallback, bool is_swapped, double margin,
                     convex_touches *out)
{
  double e[3];
  v3_sub(e, b->to, b->from);
  const double ee = v3_dot(e, e);
  for (int end = 0; end < 2; ++end) {
    const double *x = end ? a->to : a->from;
    double        d[3], y[3];
    v3_sub(d, x, b->from);
    const double t = v3_dot(d, e) / ee;
    if (t < -FLUSH || t > 1.0 + FLUSH) continue;
    v3_copy(y, b->from);
    v3_axpy(y, t, e);
    if (is_swapped)
      add_balls(y, b->radius, x, a->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_END_B, 0, (unsigned)end), out);
    else add_balls(x, a->radius, y, b->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_END_A, (unsigned)end, 0), out);
  }
}

/* Ends that lie on ends are found from both sides: once is enough. */
static void drop_twins(convex_touches *out, int first, double tolerance)
{
  int n = first;
  for (int i = first; i < out->n; ++i) {
    bool is_new = true;
    for (int k = first; k < n && is_new; ++k) {
      double d[3];
      v3_sub(d, out->touch[i].x, out->touch[k].x);
      is_new = v3_norm(d) > tolerance;
    }
    if (is_new) out->touch[n++] = out->touch[i];
  }
  out->n = n;
}

/* Any direction across the axis of p. */
static void any_normal(const convex_pose *p, double *n)
{
  if (p->kind == CONVEX_SPHERE) v3_set(n, 0.0, 0.0, 1.0);
  else v3_copy(n, p->across);
}

void convex_barrel_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double d[3], e[3], m[3], x[3], y[3], s, t, fallback[3];
  const int first = out->n;
  any_normal(a->kind == CONVEX_SPHERE ? b : a, fallback);
  v3_sub(d, a->to, a->from);
  v3_sub(e, b->to, b->from);
  v3_cross(m, a->axis, b->axis);
  if (a->kind != CONVEX_SPHERE && b->kind != CONVEX_SPHERE && v3_norm(m) < SIDE_BY_SIDE) {
    add_ends(a, b, fallback, false, margin, out);
    add_ends(b, a, fallback, true, margin, out);
    drop_twins(out, first, 1e-5 * fmin(a->solid->bound, b->solid->bound));
    if (out->n > first && v3_norm(m) < 1e-7) return; /* the middle adds nothing */
  }
  convex_segments_closest(a->from, d, b->from, e, &s, &t);
  v3_copy(x, a->from);
  v3_axpy(x, s, d);
  v3_copy(y, b->from);
  v3_axpy(y, t, e);
  add_balls(x, a->radius, y, b->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0), out);
  drop_twins(out, first, 1e-5 * fmin(a->solid->bound, b->solid->bound));
}

/* ---- against flat sides and cylinders ---- */

/* A ball of the radius of `round` at x, against p. */
static void add_ball(const convex_pose *p, const double *x, double radius, double margin, uint64_t name, convex_touches *out)
{
  double       n[3], q[3];
  const double distance = convex_point_distance(p, x, n, q);
  convex_touches_add(out, margin, q, n, distance - radius, name);
}

/* Where the side of a capsule meets edges: between the ends of both, along a normal that lies between those of the faces. */
static void add_edges(const convex_pose *round, const convex_pose *p, double margin, convex_touches *out)
{
  const convex_polyhedron *h = p->solid->polyhedron;
  double                   d[3];
  v3_sub(d, round->to, round->from);
  for (int i = 0; i < h->n_edges; ++i) {
    const int32_t *edge = h->edge + 4 * i;
    const double  *y = p->x + 3 * edge[0], *f = p->face_normal + 3 * edge[2], *g = p->face_normal + 3 * edge[3];
    double         e[3], n[3], q[3], s, t, fe[3], ge[3];
    v3_sub(e, p->x + 3 * edge[1], y);
    convex_segments_closest(round->from, d, y, e, &s, &t);
    if (!(s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0)) continue;
    for (int k = 0; k < 3; ++k) q[k] = y[k] + t * e[k], n[k] = round->from[k] + s * d[k] - q[k];
    double distance = v3_norm(n);
    if (distance > round->radius + margin || !(distance > 0.0)) continue;
    v3_cross(fe, e, f); /* e is f x g: normals between f and g have these signs */
    v3_cross(ge, e, g);
    double sign = v3_dot(n, f) + v3_dot(n, g) > 0.0 ? 1.0 : -1.0;
    const double hair = 1e-9 * v3_norm(e) * distance; /* across a face its rims are met along its own normal */
    if (sign * v3_dot(n, fe) < -hair || sign * v3_dot(n, ge) > hair || (sign < 0.0 && distance > round->radius)) continue;
    v3_scale(n, sign / distance, n);
    convex_touches_add(out, margin, q, n, sign * distance - round->radius,
                       convex_feature_name(CONVEX_TOUCH_CROSSING, 0, (unsigned)i));
  }
}

/* What of the side of a capsule comes closer than all that: to a corner, or a rim. */
static void add_closest(const convex_pose *round, const convex_pose *p, double margin, convex_touches *out)
{
  const double stay[3] = {0.0, 0.0, 0.0};
  double       x[3], q[3], n[3], least = INFINITY;
  for (int i = 0; i < out->n; ++i) least = fmin(least, out->touch[i].gap);
  const double distance = convex_distance(round, p, stay, x, q, n), gap = distance - round->radius;
  if (distance > 0.0 && gap < least - 1e-9 * round->radius)
    convex_touches_add(out, margin, q, n, gap, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

static void turn_about(convex_touches *out)
{
  for (int i = 0; i < out->n; ++i) v3_scale(out->touch[i].normal, -1.0, out->touch[i].normal);
}

void convex_round_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  const bool is_a = a->kind == CONVEX_SPHERE || a->kind == CONVEX_CAPSULE,
             is_b = b->kind == CONVEX_SPHERE || b->kind == CONVEX_CAPSULE;
  if (is_a && is_b) {
    convex_barrel_touches(a, b, margin, out);
    return;
  }
  const convex_pose *round = is_a ? a : b, *other = is_a ? b : a;
  add_ball(other, round->from, round->radius, margin, convex_feature_name(CONVEX_TOUCH_END_A, 0, 0), out);
  if (round->kind == CONVEX_CAPSULE) {
    add_ball(other, round->to, round->radius, margin, convex_feature_name(CONVEX_TOUCH_END_A, 1, 0), out);
    if (other->kind == CONVEX_POLYHEDRON) add_edges(round, other, margin, out);
    add_closest(round, other, margin, out);
    drop_twins(out, 0, 1e-5 * fmin(round->solid->bound, other->solid->bound));
  }
  if (!is_a) turn_about(out);
}
