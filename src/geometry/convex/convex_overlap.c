/* Implementation: closed forms and separating axes for each pair of cores, minus the radii around the cores. */
#include "geometry/convex/convex_overlap.h"
#include "geometry/convex/convex_distance.h"
#include "geometry/convex/convex_pair.h"

static double wall_depth(const convex_pose *wall, const convex_pose *other, double sign, double normal[3])
{
  double down[3], x[3];
  if (other->kind == CONVEX_HALF_SPACE) return 0.0;
  v3_scale(down, -1.0, wall->normal);
  v3_scale(normal, sign, wall->normal);
  (void)convex_support(other, down, x);
  return wall->offset - v3_dot(wall->normal, x) + convex_rounding(other);
}

/* The largest separation of the cores so far, and its axis. */
typedef struct {
  const convex_pose *a, *b;
  double             separation, normal[3];
} axis_search;

static void try_axis(axis_search *s, const double m[3])
{
  const double l = v3_norm(m);
  double       n[3];
  if (!(l > 1e-12)) return;
  for (int sign = -1; sign <= 1; sign += 2) {
    v3_scale(n, sign / l, m);
    const double separation = convex_separation(s->a, s->b, n);
    if (separation > s->separation) s->separation = separation, v3_copy(s->normal, n);
  }
}

static void try_perpendicular(axis_search *s, const double u[3], const double v[3])
{
  double m[3], p[3], q[3];
  v3_scale(p, 1.0 / fmax(v3_norm(u), 1e-300), u);
  v3_scale(q, 1.0 / fmax(v3_norm(v), 1e-300), v);
  v3_cross(m, p, q);
  if (v3_norm(m) > 1e-6) try_axis(s, m);
}

/* From x to the axis of p. */
static void try_radial(axis_search *s, const convex_pose *p, const double x[3])
{
  double d[3];
  v3_sub(d, x, p->from);
  v3_axpy(d, -v3_dot(d, p->axis), p->axis);
  try_axis(s, v3_norm(d) > 1e-9 * p->radius ? d : p->across);
}

/* Axes of a segment (the core of a capsule) that overlaps a polyhedron, a cylinder or another segment. */
static void try_segment(axis_search *s, const convex_pose *segment, const convex_pose *other)
{
  double d[3];
  v3_sub(d, segment->to, segment->from);
  if (other->kind == CONVEX_POLYHEDRON) {
    const convex_polyhedron *h = other->solid->polyhedron;
    for (int f = 0; f < h->n_faces; ++f) try_axis(s, other->face_normal + 3 * f);
    for (int e = 0; e < h->n_edges; ++e) {
      double along[3];
      v3_sub(along, other->x + 3 * h->edge[4 * e + 1], other->x + 3 * h->edge[4 * e]);
      try_perpendicular(s, d, along);
    }
    return;
  }
  try_perpendicular(s, d, other->axis);
  if (other->kind != CONVEX_CYLINDER) return;
  try_axis(s, other->axis);
  try_radial(s, other, segment->from);
  try_radial(s, other, segment->to);
  for (int k = 1; k < 16; ++k) { /* tilted axes between the axis and the radial direction */
    double m[3], out[3];
    v3_sub(out, segment->center, other->center);
    v3_axpy(out, -v3_dot(out, other->axis), other->axis);
    v3_scale(out, 1.0 / fmax(v3_norm(out), 1e-300), out);
    v3_scale(m, cos(M_PI * k / 16), other->axis);
    v3_axpy(m, sin(M_PI * k / 16), out);
    try_axis(s, m);
  }
}

/* ---- several starts, for pairs with a cylinder ---- */

enum { STARTS = 8, SPHERE = 128 };

typedef struct {
  int    n;
  double separation[STARTS + 1], normal[STARTS + 1][3]; /* in descending order */
} start_list;

static void add_start(start_list *l, double separation, const double n[3])
{
  int at = l->n < STARTS ? l->n++ : STARTS;
  for (; at > 0 && separation > l->separation[at - 1]; --at) {
    l->separation[at] = l->separation[at - 1];
    v3_copy(l->normal[at], l->normal[at - 1]);
  }
  l->separation[at] = separation;
  v3_copy(l->normal[at], n);
}

/* Local search from s->normal: a pattern of eight directions around it, with halved steps. */
static void improve_axis(axis_search *s)
{
  for (double h = 0.2; h > 1e-8;) {
    double       e[3]   = {0.0, 0.0, 0.0}, u[3], v[3];
    const double before = s->separation, center[3] = {s->normal[0], s->normal[1], s->normal[2]};
    int          least = 0;
    for (int k = 1; k < 3; ++k)
      if (fabs(center[k]) < fabs(center[least])) least = k;
    e[least] = 1.0;
    v3_cross(u, center, e);
    v3_scale(u, 1.0 / v3_norm(u), u);
    v3_cross(v, center, u);
    for (int k = 0; k < 8; ++k) {
      double m[3];
      v3_copy(m, center);
      v3_axpy(m, h * cos(0.25 * M_PI * k), u);
      v3_axpy(m, h * sin(0.25 * M_PI * k), v);
      try_axis(s, m);
    }
    if (!(s->separation > before)) h *= 0.5;
  }
}

/* Improve the best of SPHERE uniform directions, and the axis in s. */
static void search_directions(axis_search *s)
{
  start_list starts = {0};
  for (int k = 0; k < SPHERE; ++k) { /* spiral of Fibonacci */
    const double z = 1.0 - (2.0 * k + 1.0) / SPHERE, r = sqrt(1.0 - z * z), angle = M_PI * (3.0 - sqrt(5.0)) * k;
    const double n[3] = {r * cos(angle), r * sin(angle), z};
    add_start(&starts, convex_separation(s->a, s->b, n), n);
  }
  axis_search best = *s;
  if (isfinite(best.separation)) improve_axis(&best);
  for (int k = 0; k < starts.n; ++k) {
    axis_search one = {.a = s->a, .b = s->b, .separation = starts.separation[k]};
    v3_copy(one.normal, starts.normal[k]);
    improve_axis(&one);
    if (one.separation > best.separation) best = one;
  }
  *s = best;
}

static bool is_solid_core(const convex_pose *p) { return p->kind == CONVEX_POLYHEDRON || p->kind == CONVEX_CYLINDER; }

/* Overlap depth of two cores that are not disjoint. */
static double core_depth(const convex_pose *a, const convex_pose *b, double normal[3])
{
  double q[3];
  if (a->kind == CONVEX_POLYHEDRON && b->kind == CONVEX_POLYHEDRON) return -convex_axis_polyhedra(a, b, INFINITY, normal);
  if (is_solid_core(a) && is_solid_core(b)) {
    axis_search s = {.a = a, .b = b};
    s.separation  = convex_axis_cylinder(a, b, INFINITY, s.normal);
    search_directions(&s);
    v3_copy(normal, s.normal);
    return -s.separation;
  }
  if (a->kind == CONVEX_SPHERE && is_solid_core(b)) return -convex_point_distance(b, a->center, normal, q);
  if (b->kind == CONVEX_SPHERE && is_solid_core(a)) {
    const double depth = -convex_point_distance(a, b->center, normal, q);
    v3_scale(normal, -1.0, normal);
    return depth;
  }
  axis_search s = {.a = a, .b = b, .separation = -INFINITY, .normal = {0.0, 0.0, 1.0}};
  if (a->kind == CONVEX_CAPSULE) try_segment(&s, a, b);
  if (b->kind == CONVEX_CAPSULE) try_segment(&s, b, a);
  if (a->kind == CONVEX_CYLINDER || b->kind == CONVEX_CYLINDER) search_directions(&s);
  v3_copy(normal, s.normal);
  return isfinite(s.separation) ? -s.separation : 0.0; /* two points, or a point on a segment */
}

double convex_overlap_depth(const convex_pose *a, const convex_pose *b, double normal[3])
{
  const double stay[3] = {0.0, 0.0, 0.0};
  double       p[3], q[3], d[3];
  if (a->kind == CONVEX_HALF_SPACE) return fmax(0.0, wall_depth(a, b, -1.0, normal));
  if (b->kind == CONVEX_HALF_SPACE) return fmax(0.0, wall_depth(b, a, 1.0, normal));
  const double rounding = convex_rounding(a) + convex_rounding(b);
  v3_sub(d, a->center, b->center);
  if (v3_norm(d) >= a->solid->bound + b->solid->bound) return 0.0;
  if (a->kind == CONVEX_POLYHEDRON && b->kind == CONVEX_POLYHEDRON) return fmax(0.0, -convex_axis_polyhedra(a, b, 0.0, normal));
  const double distance = convex_distance(a, b, stay, p, q, normal);
  if (distance > 0.0) return fmax(0.0, rounding - distance);
  return fmax(0.0, rounding + core_depth(a, b, normal));
}

void convex_overlap_point(const convex_pose *a, const convex_pose *b, double depth, const double normal[3], double x[3])
{
  convex_touches touches = {0};
  double         p[3], q[3], down[3], least = 0.0;
  int            n = 0;
  convex_pair_touches(a, b, 0.0, &touches);
  for (int k = 0; k < touches.n; ++k) least = fmin(least, touches.touch[k].gap);
  v3_set(x, 0.0, 0.0, 0.0);
  for (int k = 0; k < touches.n; ++k)
    if (touches.touch[k].gap <= least + 0.01 * depth) v3_add(x, x, touches.touch[k].x), ++n;
  if (n > 0) {
    v3_scale(x, 1.0 / n, x);
    return;
  }
  v3_scale(down, -1.0, normal);
  if (a->kind == CONVEX_HALF_SPACE) v3_copy(p, b->center);
  else (void)convex_support(a, down, p), v3_axpy(p, convex_rounding(a), down);
  if (b->kind == CONVEX_HALF_SPACE) v3_copy(q, p);
  else (void)convex_support(b, normal, q), v3_axpy(q, convex_rounding(b), normal);
  for (int k = 0; k < 3; ++k) x[k] = 0.5 * (p[k] + q[k]);
}
